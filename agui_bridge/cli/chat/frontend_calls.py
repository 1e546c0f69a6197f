"""Calls of a page's own tools, which no terminal can carry out: a person does, or skips them."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any, Final

from agui_bridge.cli.chat.lines import drop_typed_ahead
from agui_bridge.cli.chat.screen import Screen
from agui_bridge.cli.chat.typed import Withdrawn, read_all, refuse, typed
from agui_bridge.client import RunEnd

__all__ = ["calls_to_carry_out", "results_by_hand"]

SKIPPED: Final = "Not carried out: the user has no page that can do this."


def calls_to_carry_out(
    messages: Sequence[Mapping[str, Any]], end: RunEnd | None
) -> list[Mapping[str, Any]]:
    """The calls that the agent waits for, `{id, type, function}`.

    Args:
        messages: the conversation.
        end: how its last run ended. After an error or a stop, nothing says whose a call is that
            has no result: the agent's own may have run.
    """
    if end is None or end.outcome != "success":
        return []
    called: list[Mapping[str, Any]] = []
    told: set[str] = set()
    for message in reversed(messages):
        if message["role"] == "tool":
            told.add(message["toolCallId"])
        elif message["role"] == "assistant" and message.get("toolCalls"):
            called[:0] = message["toolCalls"]
        else:
            # Whoever speaks behind a call does not wait for it.
            break
    waiting = [call for call in called if call["id"] not in told]
    if end.pending_tool_call_ids is None:
        return waiting
    return [call for call in waiting if call["id"] in end.pending_tool_call_ids]


def results_by_hand(screen: Screen, calls: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Ask for each call's result; gives the tool messages that go on with the run.

    Raises:
        EOFError: see `typed`.
    """
    return [_message(call, _result(screen, call)) for call in calls]


def _result(screen: Screen, call: Mapping[str, Any]) -> str:
    name = call["function"]["name"]
    screen.note(f"{name} is a tool of a page, and here is none.", "yellow")
    unread = screen.whole_call(name, call["function"]["arguments"])
    drop_typed_ahead()
    while True:
        try:
            read_all(screen, unread)
            said = typed(screen, "[r]esult by hand, [s]kip > ").lower()
        except Withdrawn:
            return SKIPPED
        if said in ("s", "skip"):
            return SKIPPED
        if said in ("r", "result") and (result := _by_hand(screen)):
            return result
        if said and said not in ("r", "result"):
            refuse(screen.note, "Nothing was sent. Type r or s.")


def _by_hand(screen: Screen) -> str:
    try:
        return typed(screen, "what the tool would return (Enter: back) > ")
    except Withdrawn:
        return ""


def _message(call: Mapping[str, Any], content: str) -> dict[str, Any]:
    return {"id": str(uuid.uuid4()), "role": "tool", "toolCallId": call["id"], "content": content}
