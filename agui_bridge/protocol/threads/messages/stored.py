"""The messages of a thread as they are stored, and what follows from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any, Final, NamedTuple

from agui_bridge.frozen import dataclass

__all__ = ["VALUE", "KnownCalls", "StoredMessage", "StoredMessages", "size_of"]

VALUE: Final = 64
"""Characters that take as long as a value in a value."""


class StoredMessage(NamedTuple):
    """A message as it is stored; a tuple, since a thread may have thousands.

    Attributes:
        id: the message's.
        position: sorts a thread's messages; with gaps, below 2**63.
        message: AG-UI's JSON of it.
    """

    id: str
    position: int
    message: dict[str, Any]


class StoredMessages(tuple[StoredMessage, ...]):
    """The messages in context, in order; without slots, so that it keeps what is asked for often.

    A long thread's are kept between its runs: what each run asks of them is found out once.
    """

    @classmethod
    def of(cls, messages: Iterable[StoredMessage]) -> StoredMessages:
        """These messages; the same ones, if they are such already."""
        return messages if isinstance(messages, cls) else cls(messages)

    @classmethod
    def known(
        cls,
        messages: Iterable[StoredMessage],
        *,
        by_id: Mapping[str, StoredMessage],
        carriers: Mapping[str, str],
        calls: KnownCalls,
        size: int,
    ) -> StoredMessages:
        """Messages of which all that is asked for is known already."""
        made = cls(messages)
        vars(made).update(by_id=by_id, carriers=carriers, calls=calls, size=size)
        return made

    @cached_property
    def by_id(self) -> Mapping[str, StoredMessage]:
        """They by their ids."""
        return {stored.id: stored for stored in self}

    @cached_property
    def carriers(self) -> Mapping[str, str]:
        """Ids of the messages that have the tool calls, by the ids of the calls."""
        return {
            call["id"]: stored.id
            for stored in self
            for call in stored.message.get("toolCalls") or ()
        }

    @cached_property
    def calls(self) -> KnownCalls:
        """Their tool calls."""
        return KnownCalls.of(stored.message for stored in self)

    @cached_property
    def size(self) -> int:
        """About how much they hold: their characters, and `VALUE` for each value in a value.

        After a run it may be too much: what the run has changed counts as it was, too.
        """
        return size_of(self)


def size_of(messages: Iterable[StoredMessage]) -> int:
    """See `StoredMessages.size`."""
    size, level = 0, [value for stored in messages for value in stored.message.values()]
    while level:
        below: list[Any] = []
        for value in level:
            if isinstance(value, str):
                size += len(value)
            elif isinstance(value, dict | list):
                size += VALUE * len(value)
                below.extend(value.values() if isinstance(value, dict) else value)
        level = below
    return size


@dataclass(frozen=True, slots=True)
class KnownCalls:
    """The tool calls of a conversation.

    Attributes:
        ids: of all, in the order of the messages.
        answered: ids of those that have a result.
    """

    ids: tuple[str, ...]
    answered: frozenset[str]

    @classmethod
    def of(cls, messages: Iterable[Mapping[str, Any]]) -> KnownCalls:
        """Those of these messages."""
        calls: list[str] = []
        answered: set[str] = set()
        for message in messages:
            if message["role"] == "tool":
                answered.add(message["toolCallId"])
            if made := message.get("toolCalls"):
                calls += [call["id"] for call in made]
        return cls(tuple(calls), frozenset(answered))
