"""The messages of a history, of which a run changes a few."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Mapping
from operator import attrgetter
from typing import Any, Final, cast

from agui_bridge.protocol.threads.messages.archived import (
    KnownCalls,
    StoredMessage,
    StoredMessages,
    size_of,
)

# --- one message of a history while a run changes it: deltas are joined when it is looked at ---


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


def words_of(message: Mapping[str, Any]) -> list[Any]:
    """What a message says, as JSON: its content, and the names and arguments of its calls."""
    calls = [call["function"] for call in message.get("toolCalls") or ()]
    return [message.get("content") or "", [[call["name"], call["arguments"]] for call in calls]]


def some_of(source: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    """The members of these names, those that are there."""
    return {key: source[key] for key in keys if key in source}


def _with_arguments(call: dict[str, Any], parts: Mapping[str, list[str]]) -> dict[str, Any]:
    if call["id"] not in parts:
        return call
    function = call["function"]
    arguments = function["arguments"] + "".join(parts[call["id"]])
    return {**call, "function": {**function, "arguments": arguments}}


# --- entries ---

_position: Final = attrgetter("position")


class Entries:
    """The messages of a history by their ids, and in order.

    A thread may have thousands, of which a run changes a few: the others stay as they are stored.

    Attributes:
        last: position of the last message that is no tool's result.
    """

    __slots__ = ("_began_with", "_by_id", "_changing", "_order", "last")

    def __init__(self, messages: StoredMessages) -> None:
        """Begin with what is stored."""
        self._began_with = messages
        self._by_id: dict[str, StoredMessage | StreamedMessage] = {**messages.by_id}
        self._changing: dict[str, StreamedMessage] = {}
        self._order: list[StoredMessage | StreamedMessage] | None = list(messages)
        self.last: int = messages[-1].position if messages else 0

    @property
    def ids(self) -> Collection[str]:
        """Their ids, at any time."""
        return self._by_id.keys()

    def __contains__(self, message_id: str) -> bool:
        return message_id in self._by_id

    def look(self, message_id: str) -> StoredMessage | StreamedMessage:
        """One that is there, in order to look at it only."""
        return self._by_id[message_id]

    def get(self, message_id: str) -> StreamedMessage | None:
        """One in order to change it, if it is there."""
        found = self._changing.get(message_id)
        if found is None and (stored := self._by_id.get(message_id)) is not None:
            found = StreamedMessage(stored.position, stored.message, dirty=False)
            self._by_id[message_id] = self._changing[message_id] = found
            if self._order is not None:
                index = bisect_left(self._order, found.position, key=_position)
                while self._order[index] is not stored:
                    index += 1
                self._order[index] = found
        return found

    def take(self) -> list[StreamedMessage]:
        """Take all of them out, in order."""
        for entry in tuple(self.in_order()):
            self.get(entry.id)
        taken = self.changing()
        self._by_id, self._changing, self._order = {}, {}, []
        return taken

    def remove(self, ids: Iterable[str]) -> list[StoredMessage]:
        """Take some out, and return them as they are now, in order."""
        taken = [self._by_id.pop(id) for id in ids]
        for entry in taken:
            self._changing.pop(entry.id, None)
        self._order = None
        stored = [e if isinstance(e, StoredMessage) else e.stored() for e in taken]
        return sorted(stored, key=_position)

    def put(self, entry: StreamedMessage) -> None:
        """Add one, or put it in the place of the one with its id."""
        message_id = entry.id
        if message_id not in self._by_id and entry.position > self.last and self._order is not None:
            # Most are added at the end.
            self._order.append(entry)
        else:
            self._order = None
        self.last = max(self.last, entry.position)
        self._by_id[message_id] = self._changing[message_id] = entry

    def move(self, index: int, positions: Iterable[int]) -> None:
        """Give those from an index on other positions, larger than all before them."""
        moving = [entry.id for entry in self.in_order()[index:]]
        for entry, position in zip([self.get(id) for id in moving], positions, strict=False):
            assert entry is not None, "it was there"
            entry.position, entry.dirty = position, True
            self.last = max(self.last, position)

    def in_order(self) -> list[StoredMessage | StreamedMessage]:
        """All of them; the list is not to be changed."""
        if self._order is None:
            self._order = sorted(self._by_id.values(), key=_position)
        return self._order

    def changing(self) -> list[StreamedMessage]:
        """Those that were taken in order to change them, in order."""
        return sorted(self._changing.values(), key=_position)

    def stored(self, carriers: Mapping[str, str], calls: KnownCalls) -> StoredMessages | None:
        """All as they are stored; None while something has changed since it was taken.

        Args:
            carriers: of the messages as they are now.
            calls: the same.
        """
        changing = self._changing
        if any(entry.dirty for entry in changing.values()):
            return None
        changed = {id: entry.stored() for id, entry in changing.items()}
        in_order = [e if isinstance(e, StoredMessage) else changed[e.id] for e in self.in_order()]
        by_id = cast(dict[str, StoredMessage], {**self._by_id, **changed})
        size = self._began_with.size + size_of(changed.values())
        return StoredMessages.known(
            in_order, by_id=by_id, carriers=carriers, calls=calls, size=size
        )

    def messages(self) -> list[dict[str, Any]]:
        """All as they are now, in order."""
        for entry in self._changing.values():
            entry.settle()
        return [entry.message for entry in self.in_order()]
