"""What a person did in a page, which the page tells as a tool call and its result.

AG-UI's A2UI middleware writes a click in a surface into the client's list as an assistant's call
of `log_a2ui_event` and its result. Neither is an assistant's word: the agent hears of it as a
message of the person, once for each call. Source: docs/contract.md, I3 and I4.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from agui_bridge.protocol.own_metadata import with_own_member
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.messages.repeats import calls_of
from agui_bridge.protocol.threads.messages.stored import StoredMessages

__all__ = ["with_actions"]

Message = dict[str, Any]


def with_actions(
    sent: tuple[Message, ...], names: Collection[str], loaded: Loaded
) -> tuple[Message, ...]:
    """A client's list with a user message in place of each action's result.

    Args:
        sent: the list.
        names: of the tools as whose calls actions are told.
        loaded: the thread: a call that it has is no action.
    """
    if not names:
        return sent
    actions = {
        call["id"]: call["function"]
        for call in calls_of(message for message in sent if message.get("role") == "assistant")
        if call["function"]["name"] in names
    }
    if not actions:
        return sent
    carriers = StoredMessages.of(loaded.messages).carriers
    return tuple(
        _as_message(message, actions[call])
        if (call := message.get("toolCallId")) in actions and call not in carriers
        else message
        for message in sent
    )


def _as_message(result: Mapping[str, Any], function: Mapping[str, Any]) -> Message:
    call, name, arguments = result["toolCallId"], function["name"], function["arguments"]
    message = {
        "id": f"action:{call}",
        "role": "user",
        "content": _text(result.get("content")) or f"{name} {arguments}",
    }
    action = {"name": name, "toolCallId": call, "arguments": _value(arguments)}
    return with_own_member(message, "action", action)


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    parts: Sequence[Any] = content if isinstance(content, list) else ()
    return "".join(part["text"] for part in parts if part.get("type") == "text")


def _value(arguments: str) -> Any:
    """What the arguments say; their text where that is no JSON."""
    try:
        return json.loads(arguments)
    except ValueError:
        return arguments
