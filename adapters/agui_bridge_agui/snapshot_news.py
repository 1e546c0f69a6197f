"""What the upstream's snapshots tell besides what was told.

The bridge's conversation is its own: a snapshot of the upstream's does not replace it. But some
frameworks tell a message in a snapshot only; those become events.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from ag_ui.core import (
    BaseEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    ToolCallResultEvent,
)

from agui_bridge.protocol.lifecycle.made_events import whole_call
from agui_bridge.protocol.threads.records import Json
from agui_bridge.protocol.verifier.shapes import model_of
from agui_bridge_agui.told import Told

__all__ = ["news_of"]


def news_of(
    messages: Sequence[Mapping[str, Json]],
    told: Told,
    awaited: Collection[str] = (),
    brought: Collection[str] = (),
) -> Iterator[BaseEvent]:
    """The events of the messages that a snapshot has behind all that were known before.

    Args:
        messages: of the snapshot.
        told: what is known; what is new is taken in.
        awaited: calls whose results count wherever they stand.
        brought: ids of the messages that came with this run: what is new may stand before them.
    """
    late = [message for message in messages if message.get("toolCallId") in awaited]
    for message in late:
        yield from _noted(_events(message, told), told)
    known = [n for n, message in enumerate(messages) if message.get("id") in told.messages]
    before = [n for n in known if messages[n]["id"] not in brought]
    if not known:
        # It has ids of its own for everything: nothing tells which messages are new.
        return
    for message in messages[(before or known)[-1] :]:
        yield from _noted(_events(message, told), told)


def _noted(events: Iterator[BaseEvent], told: Told) -> Iterator[BaseEvent]:
    for event in events:
        told.note(event)
        yield event


def _events(message: Mapping[str, Json], told: Told) -> Iterator[BaseEvent]:
    named = message.get("id")
    if not isinstance(named, str):
        return
    if message.get("role") == "tool":
        yield from _result(message, named, told)
    elif message.get("role") == "assistant":
        # Asked now: from its first event on it is known.
        new = named not in told.messages
        if new:
            yield from _text(message.get("content"), named, told)
        for call in message.get("toolCalls") or ():
            yield from _call(call, named, told, in_new_message=new)
        if new:
            yield from _sealed(message, "message")


def _result(message: Mapping[str, Json], named: str, told: Told) -> Iterator[BaseEvent]:
    call, content = message.get("toolCallId"), message.get("content")
    if call in told.calls and call not in told.answered and isinstance(content, str):
        yield ToolCallResultEvent(message_id=named, tool_call_id=call, content=content, role="tool")


def _text(content: Json, named: str, told: Told) -> Iterator[BaseEvent]:
    if isinstance(content, str) and content and not told.said(content):
        yield TextMessageStartEvent(message_id=named, role="assistant")
        yield TextMessageContentEvent(message_id=named, delta=content)
        yield TextMessageEndEvent(message_id=named)


def _sealed(thing: Mapping[str, Json], subtype: str) -> Iterator[BaseEvent]:
    """What a message or call carries besides for the model, which nobody here reads."""
    if thing.get("encryptedValue"):
        told = {k: thing[k] for k in ("encryptedValue", "encryptedValueType") if k in thing}
        event = {"type": "REASONING_ENCRYPTED_VALUE", "subtype": subtype, "entityId": thing["id"]}
        yield model_of({**event, **told})


def _call(
    call: Mapping[str, Json], message: str, told: Told, *, in_new_message: bool
) -> Iterator[BaseEvent]:
    named, function = call.get("id"), call.get("function") or {}
    name, arguments = function.get("name"), function.get("arguments") or "{}"
    if not isinstance(named, str) or not name:
        return
    if named not in told.calls:
        yield from whole_call(named, name, arguments, parent=message)
        yield from _sealed(call, "tool-call")
    elif in_new_message:
        told.tell_again(named, name, arguments)
