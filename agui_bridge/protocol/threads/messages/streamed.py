"""One message of a history while a run changes it: deltas are joined when it is looked at."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from agui_bridge.protocol.threads.messages.stored import StoredMessage

__all__ = [
    "StreamedMessage",
    "renamed",
    "some_of",
    "with_encrypted",
    "with_metadata",
]


class StreamedMessage:
    """A message of a history that may change: its position, and what is streamed into it now.

    Attributes:
        dirty: whether it has changed since it was taken.
        open: what is streamed into it now: "" for its text, else tool call ids.
        text: deltas of its text that are not joined yet.
        arguments: the same of its tool calls, by their ids.
    """

    __slots__ = ("arguments", "dirty", "message", "open", "position", "text")

    def __init__(
        self,
        position: int,
        message: dict[str, Any],
        *,
        dirty: bool = True,
        open: frozenset[str] = frozenset(),
    ) -> None:
        self.position: int = position
        self.message: dict[str, Any] = message
        self.dirty: bool = dirty
        self.open: frozenset[str] = open
        self.text: list[str] | None = None
        self.arguments: dict[str, list[str]] | None = None

    @property
    def id(self) -> str:
        """The message's."""
        own: str = self.message["id"]
        return own

    def settle(self) -> dict[str, Any]:
        """Join the deltas that have come since the last time; return the message."""
        if self.text:
            content = self.message.get("content")
            text = (content if isinstance(content, str) else "") + "".join(self.text)
            self.message = {**self.message, "content": text}
            self.text = None
        if self.arguments:
            calls = [_with_arguments(call, self.arguments) for call in self.message["toolCalls"]]
            self.message = {**self.message, "toolCalls": calls}
            self.arguments = None
        return self.message

    def stored(self) -> StoredMessage:
        """It as it is stored, as far as it has come."""
        return StoredMessage(self.id, self.position, self.settle())

    def change(self, **members: Any) -> None:
        """Set members of the message."""
        self.put({**self.settle(), **members})

    def put(self, message: dict[str, Any]) -> None:
        """Put another message in its place, which has the deltas so far."""
        self.message = message
        self.dirty = True

    def merge_metadata(self, metadata: Mapping[str, Any] | None) -> None:
        """Add to the message's metadata; None adds nothing."""
        if metadata is not None:
            self.change(metadata={**self.message.get("metadata", {}), **metadata})

    def change_call(self, call_id: str, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        """Put what `change` makes of one of its tool calls in that call's place."""
        calls = self.settle()["toolCalls"]
        self.change(toolCalls=[change(call) if call["id"] == call_id else call for call in calls])


def with_encrypted(thing: Mapping[str, Any], event: Mapping[str, Any]) -> dict[str, Any]:
    """A message or call with an event's encrypted value, and the name of its kind if it has one."""
    told = ("encryptedValue", "encryptedValueType")
    kept = {key: value for key, value in thing.items() if key not in told}
    return kept | {key: event[key] for key in told if key in event}


def with_metadata(call: dict[str, Any], event: Mapping[str, Any]) -> dict[str, Any]:
    """A tool call with an event's metadata added to its own, if it has any."""
    if "metadata" not in event:
        return call
    return {**call, "metadata": {**call.get("metadata", {}), **event["metadata"]}}


def renamed(call: dict[str, Any], name: str) -> dict[str, Any]:
    """A tool call of another function."""
    return {**call, "function": {**call["function"], "name": name}}


def some_of(source: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    """The members of these names, those that are there."""
    return {key: source[key] for key in keys if key in source}


def _with_arguments(call: dict[str, Any], parts: Mapping[str, list[str]]) -> dict[str, Any]:
    if call["id"] not in parts:
        return call
    function = call["function"]
    arguments = function["arguments"] + "".join(parts[call["id"]])
    return {**call, "function": {**function, "arguments": arguments}}
