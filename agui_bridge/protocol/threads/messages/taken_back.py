"""Calls that were executed and left the context: the model is told of them once.

Whoever goes back over a payment wants another conversation, not another payment. The note stands
with the message that took the calls back, and goes wherever that message goes.
Source: docs/contract.md, G15.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from agui_bridge.protocol.own_metadata import own_of
from agui_bridge.protocol.threads.messages.repeats import calls_of
from agui_bridge.protocol.threads.messages.stored import StoredMessage

__all__ = ["for_agent", "last_text", "taken_back_calls"]

_LONGEST: Final = 500
"""Characters of a call's arguments, or of its result, that are told at most."""


def taken_back_calls(
    stored: Sequence[StoredMessage], gone: Collection[str], read_only: Collection[str]
) -> list[dict[str, str]]:
    """The calls with a result among messages that leave the context, as the note keeps them.

    Args:
        stored: the messages in context.
        gone: ids of those that leave it.
        read_only: names of the tools whose calls changed nothing.
    """
    leaving = [message.message for message in stored if message.id in gone]
    results = {m["toolCallId"]: m["content"] for m in leaving if m["role"] == "tool"}
    calls = [
        {
            "name": call["function"]["name"],
            "arguments": call["function"]["arguments"][:_LONGEST],
            "result": _text(results[call["id"]])[:_LONGEST],
        }
        for call in calls_of(leaving)
        if call["id"] in results and call["function"]["name"] not in read_only
    ]
    # What was taken back before stays told.
    earlier = [call for message in leaving for call in own_of(message).get("takenBack", ())]
    return [*earlier, *calls]


def for_agent(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """A message as the agent gets it: with the note, where it has one."""
    calls = own_of(message).get("takenBack") if message.get("role") == "user" else None
    if not calls:
        return message
    note = _note(calls)
    content = message.get("content")
    if isinstance(content, list):
        return {**message, "content": [*content, {"type": "text", "text": note}]}
    return {**message, "content": f"{content or ''}{note}"}


def last_text(messages: Sequence[Mapping[str, Any]]) -> str:
    """The text of the last user message, "" where there is none; without the note."""
    for message in reversed(messages):
        if message.get("role") == "user":
            text = _text(message.get("content"))
            calls = own_of(message).get("takenBack")
            return text.removesuffix(_note(calls)) if calls else text
    return ""


def _note(calls: Sequence[Mapping[str, str]]) -> str:
    lines = [f"- {call['name']}({call['arguments']}): {call['result']}" for call in calls]
    return "\n".join(
        (
            "\n\n[The conversation was changed from here on. These calls had been made before, and "
            "what they did stays done:",
            *lines,
            "]",
        )
    )


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "".join(str(part.get("text", "")) for part in parts if part.get("type") == "text")
