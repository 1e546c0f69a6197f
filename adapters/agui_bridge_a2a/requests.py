"""What the agent is sent: the messages that are new to it, as parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agui_bridge.a2a.wire import Part, parts_of
from agui_bridge.adapters import Run
from agui_bridge.errors import UpstreamError
from agui_bridge.protocol.threads.records import Json
from agui_bridge_a2a.card import Interface
from agui_bridge_a2a.versions import written


def new_parts(run: Run) -> list[Part]:
    """The parts of the messages that this input added.

    Raises:
        UpstreamError: there is none.
    """
    parts = said_parts(run.raw_new_messages)
    if not parts and run.text:
        # Asked again without anything new: the last question counts.
        parts = [{"text": run.text}]
    if not parts:
        raise UpstreamError("There is no message to send to the A2A agent.")
    return parts


def said_parts(messages: Sequence[Mapping[str, Json]]) -> list[Part]:
    """The parts of what people said in messages."""
    said = [each for each in messages if each.get("role") == "user"]
    return [part for each in said for part in parts_of(each.get("content"))]


def message_params(
    parts: Sequence[Part], to: Interface, *, message_id: str, task: str, context: str
) -> dict[str, Json]:
    """The parameters that send a message.

    Args:
        parts: of the message.
        to: how the agent is reached.
        message_id: of the message.
        task: that it goes on with, "" for a new one.
        context: of the conversation there, "" for a new one.
    """
    named = {"taskId": task, "contextId": context}
    message: dict[str, Json] = {
        "messageId": message_id,
        "role": "ROLE_USER",
        "parts": [*parts],
        **{name: value for name, value in named.items() if value},
    }
    params: dict[str, Json] = {"message": written(message, to.version)}
    if not to.streaming:
        # The task's id is needed at once: a stop cancels it.
        now = {"returnImmediately": True} if to.version == "1.0" else {"blocking": False}
        params["configuration"] = now
    return params
