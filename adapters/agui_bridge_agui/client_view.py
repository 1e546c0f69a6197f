"""What the client was told: the conversation so far, and the messages and calls of this run."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from ag_ui.core import (
    BaseEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    ToolCallResultEvent,
)

from agui_bridge.protocol.json_values import same_json
from agui_bridge.protocol.lifecycle.event_rules import whole_call
from agui_bridge.protocol.threads.records import Json
from agui_bridge.protocol.verifier.shapes import model_of


class ClientView:
    """Messages and calls that the client knows: those of the conversation, and of this run.

    Args:
        messages: the conversation before the run.

    Attributes:
        messages: ids of messages.
        calls: name and arguments of every call, by id.
        answered: calls that have a result.
        subagents: run ids of the sub-agents of this run.
    """

    def __init__(self, messages: Sequence[Mapping[str, Json]]) -> None:
        self.messages: set[Json] = {message["id"] for message in messages}
        self.calls: dict[str, tuple[str, str]] = {}
        self.answered: set[str] = set()
        self.subagents: set[str] = set()
        self._own: list[str] = []
        self._ended: set[str] = set()
        self._again: dict[str, tuple[str, str]] = {}
        self._texts: dict[str, list[str]] = {}
        self._parents: dict[str, str] = {}
        for message in messages:
            for call in message.get("toolCalls") or ():
                shape = call["function"]
                self.calls[call["id"]] = (shape["name"], shape["arguments"])
            if message["role"] == "tool":
                self.answered.add(message["toolCallId"])

    @property
    def unanswered(self) -> list[str]:
        """Calls of this run that have no result."""
        return [call for call in self._own if call not in self.answered]

    def name_of(self, call: str) -> str:
        """The tool that a call calls."""
        return self.calls[call][0]

    def contradicts(self, call: str) -> bool:
        """Whether the call's id was used again, for another tool or with other arguments.

        What people are shown is the first of the two; the upstream would carry out the second.
        """
        if call not in self._again:
            return False
        (name, arguments), (other, others) = self.calls[call], self._again[call]
        return name != other or not same_json(_parsed(arguments), _parsed(others))

    def text_over(self, call: str) -> str:
        """The text of the message of this run that a call stands in, "" if there is none."""
        return "".join(self._texts.get(self._parents.get(call, ""), ()))

    def said(self, text: str) -> bool:
        """Whether a message of this run says exactly this."""
        return any("".join(parts) == text for parts in self._texts.values())

    def note(self, event: Any) -> None:
        """Take in an event object of `ag_ui` that the client is told."""
        # A model looks long for an attribute that it does not have.
        fields = event.__dict__
        for name in ("message_id", "parent_message_id"):
            if named := fields.get(name):
                self.messages.add(named)
        match fields["type"].value:
            case "TEXT_MESSAGE_CONTENT":
                self._texts.setdefault(event.message_id, []).append(event.delta)
            case "TOOL_CALL_START":
                self._parents[event.tool_call_id] = event.parent_message_id or ""
                self._begin(event.tool_call_id, event.tool_call_name)
            case "TOOL_CALL_ARGS":
                self._extend(event.tool_call_id, event.delta)
            case "TOOL_CALL_END":
                self._ended.add(event.tool_call_id)
            case "TOOL_CALL_RESULT":
                self.answered.add(event.tool_call_id)
            case "SUBAGENT_STARTED":
                self.subagents.add(event.subagent_run_id)

    def tell_again(self, call: str, name: str, arguments: str = "") -> None:
        """Take in that a call that is known is told once more."""
        self._again[call] = (name, arguments)

    def _begin(self, call: str, name: str) -> None:
        if call not in self.calls:
            self._own.append(call)
            self.calls[call] = (name, "")
        elif call not in self._own or call in self._ended or call in self.answered:
            self.tell_again(call, name)

    def _extend(self, call: str, delta: str) -> None:
        if call in self._again:
            name, arguments = self._again[call]
            self._again[call] = (name, arguments + delta)
        elif call in self._own:
            name, arguments = self.calls[call]
            self.calls[call] = (name, arguments + delta)


def _parsed(arguments: str) -> Json:
    try:
        found: Json = json.loads(arguments or "{}")
    except ValueError:
        return arguments
    return found


def news_of(
    messages: Sequence[Mapping[str, Json]],
    told: ClientView,
    brought: Collection[str] = (),
) -> Iterator[BaseEvent]:
    """The events of a snapshot's results, and of its messages behind all that were known before.

    The bridge's conversation is its own: a snapshot of the upstream's does not replace it. But
    some frameworks tell a message in a snapshot only; those become events.

    Args:
        messages: of the snapshot.
        told: what is known; what is new is taken in.
        brought: ids of the messages that came with this run: what is new may stand before them.
    """
    # A result stands behind its call, whatever was said since: it counts wherever it is.
    for message in messages:
        if message.get("role") == "tool":
            yield from _noted(_events(message, told), told)
    known = [n for n, message in enumerate(messages) if message.get("id") in told.messages]
    before = [n for n in known if messages[n]["id"] not in brought]
    if not known:
        # It has ids of its own for everything: nothing tells which messages are new.
        return
    for message in messages[(before or known)[-1] :]:
        yield from _noted(_events(message, told), told)


def _noted(events: Iterator[BaseEvent], told: ClientView) -> Iterator[BaseEvent]:
    for event in events:
        told.note(event)
        yield event


def _events(message: Mapping[str, Json], told: ClientView) -> Iterator[BaseEvent]:
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


def _result(message: Mapping[str, Json], named: str, told: ClientView) -> Iterator[BaseEvent]:
    call, content = message.get("toolCallId"), message.get("content")
    if call in told.calls and call not in told.answered and isinstance(content, str):
        yield ToolCallResultEvent(message_id=named, tool_call_id=call, content=content, role="tool")


def _text(content: Json, named: str, told: ClientView) -> Iterator[BaseEvent]:
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
    call: Mapping[str, Json], message: str, told: ClientView, *, in_new_message: bool
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
