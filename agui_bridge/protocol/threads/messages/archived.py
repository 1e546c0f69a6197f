"""Messages that stand in the thread, and that no agent is sent any more.

A message leaves the context of its own, without having been taken back: because a model's endpoint
refuses it, or because the thread is at its size. It was **had** like any other. Its id is known,
people see it in its place, and who goes back may take it back. It is marked
`metadata.agui_bridge.archived: {"reason": …}`, with `"suspect": true` where the next run that ends
by itself, or is refused without it, has yet to say whether it was the reason.
Source: docs/contract.md, "Archived".
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final, NamedTuple

from agui_bridge.frozen import dataclass
from agui_bridge.protocol.threads.content_parts import own_of, with_own_member, without_own_member

# --- the messages of a thread as they are stored, and what follows from them ---

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


# --- user messages that a client sends again under new ids ---
#
# A client that keeps no ids (Agent Framework's `AGUIChatClient`) gives its messages new ones in
# each request. Source: docs/contract.md, "Messages and state".

Message = Mapping[str, Any]


def find_retold(
    stored: StoredMessages, past: PastMessages, listed: Sequence[Message]
) -> dict[str, str]:
    """Return, by their new ids, the ids of user messages that the thread has had.

    One in context is meant by a message that says the same at its place among what is known; one
    that was taken back by a message that says the same, wherever it stands. Either must be followed
    in the list by something that was had, and the list must lack its own id.

    Args:
        stored: the messages in context.
        past: those that were in context once.
        listed: the client's list, without repeats.
    """
    # One message alone has nothing behind it.
    if len(listed) < 2:
        return {}
    ids = {message["id"] for message in listed}
    lacking = [m for m in stored if m.message["role"] == "user" and m.id not in ids]
    gone = [message for message in past.said if message.id not in ids]
    if not lacking and not gone:
        return {}
    lacked = [message.position for message in lacking]
    found: dict[str, str] = {}
    had = past.ids
    before, last_had = 0, _last_had(stored, had, listed)
    for index, (message, after) in enumerate(
        zip(listed, _next_places(listed, stored), strict=True)
    ):
        if _was_had(message, stored, had) or message.get("role") != "user":
            before = max(before, _place(message, stored))
            continue
        if not after and index < last_had:
            # What follows it was taken back: it may stand anywhere behind what is known before it.
            after = stored[-1].position + 1 if stored else 0
        for candidate in lacking[bisect_right(lacked, before) : bisect_left(lacked, after)]:
            if candidate.message["content"] == message["content"]:
                found[message["id"]] = candidate.id
                before = candidate.position
                break
        else:
            if index < last_had:
                for candidate in gone:
                    if candidate.message["content"] == message["content"]:
                        found[message["id"]] = candidate.id
                        break
    return found


def calls_of(messages: Iterable[Message]) -> Iterator[dict[str, Any]]:
    """The tool calls of some messages."""
    for message in messages:
        yield from message.get("toolCalls") or ()


def _was_had(message: Message, stored: StoredMessages, past: Collection[str]) -> bool:
    return message["id"] in stored.by_id or message["id"] in past


def _last_had(stored: StoredMessages, past: Collection[str], listed: Sequence[Message]) -> int:
    """Return the place in the list of the last message that was had; -1 where none was."""
    for index in range(len(listed) - 1, -1, -1):
        if _was_had(listed[index], stored, past) or _place(listed[index], stored):
            return index
    return -1


def _next_places(listed: Sequence[Message], stored: StoredMessages) -> list[int]:
    """Return, for each message, where the next one stands that is known; 0 where none follows."""
    after: list[int] = []
    following = 0
    for message in reversed(listed):
        after.append(following)
        following = _place(message, stored) or following
    return after[::-1]


def _place(message: Message, stored: StoredMessages) -> int:
    """Return where a message stands, by its id or that of a call of it; 0 if nothing tells."""
    if (known := stored.by_id.get(message["id"])) is not None:
        return known.position
    calls = [*(call["id"] for call in calls_of([message])), message.get("toolCallId", "")]
    carriers = (stored.carriers[call] for call in calls if call in stored.carriers)
    return max((stored.by_id[carrier].position for carrier in carriers), default=0)


@dataclass(frozen=True, slots=True)
class PastMessages:
    """Messages that left the context.

    A thread may have had more than a process can hold: of what left the context only that is
    looked at which a list names, or says again.

    Attributes:
        named: ids of those that a list holds.
        said: user messages that say what a message of an unseen id says in the list.
        archived: ids of those among both that left for the thread's size; the others were taken
            back.
    """

    named: frozenset[str] = frozenset()
    said: tuple[StoredMessage, ...] = ()
    archived: frozenset[str] = frozenset()

    @property
    def ids(self) -> frozenset[str]:
        """Ids of all."""
        return self.named.union(message.id for message in self.said)

    @property
    def taken_back(self) -> frozenset[str]:
        """Ids of those that were taken back."""
        return self.ids - self.archived


def told_anew(
    stored: StoredMessages, named: Iterable[str], listed: Sequence[Mapping[str, Any]]
) -> list[Mapping[str, Any]]:
    """The user messages of a list that may say again, under a new id, what left the context.

    Each has an id that was never had, and something that was had follows it in the list.

    Args:
        stored: the messages in context.
        named: ids of those out of it that the list holds.
        listed: the client's list.
    """
    had = {*named}
    last = -1
    for index, message in enumerate(listed):
        calls = [*(call["id"] for call in message.get("toolCalls") or ())]
        if (
            message["id"] in stored.by_id
            or message["id"] in had
            or any(call in stored.carriers for call in (*calls, message.get("toolCallId")))
        ):
            last = index
    return [
        message
        for message in listed[: max(last, 0)]
        if message.get("role") == "user"
        and message["id"] not in stored.by_id
        and message["id"] not in had
    ]


def archived_for(message: Message) -> str | None:
    """Why a message is archived: `refused`, `size`, …; None where it is not."""
    mark = own_of(message).get("archived")
    return str(mark.get("reason", "")) if isinstance(mark, Mapping) else None


def is_suspect(message: Message) -> bool:
    """Whether it is archived until it is known whether it was the reason."""
    mark = own_of(message).get("archived")
    return isinstance(mark, Mapping) and mark.get("suspect") is True


def as_archived(message: Message, reason: str, *, suspect: bool = False) -> dict[str, Any]:
    """A message with the mark."""
    mark = {"reason": reason, "suspect": True} if suspect else {"reason": reason}
    return with_own_member(message, "archived", mark)


def marked_as(message: Message, before: Message) -> Message:
    """What stands in the place of a message, archived as that one is."""
    mark = own_of(before).get("archived")
    return message if mark is None else with_own_member(message, "archived", mark)


def unarchived(message: Message) -> dict[str, Any]:
    """A message without the mark."""
    return without_own_member(message, "archived")


def with_calls(
    messages: Sequence[Message], ids: Collection[str], held: Collection[str] = ()
) -> frozenset[str]:
    """The messages that may be archived together: each call with its results, none that waits.

    Args:
        messages: the thread's, in order.
        ids: of those that are to leave the context.
        held: ids of tool calls that somebody waits for: the application's result, a person's
            answer. Nothing of their messages leaves, and neither does a call without a result.
    """
    carriers = {call["id"]: m["id"] for m in messages for call in calls_of([m])}
    results: dict[str, set[str]] = {}
    answered: set[str] = set()
    for message in messages:
        call = message.get("toolCallId", "")
        if call in carriers:
            results.setdefault(carriers[call], set()).add(message["id"])
            answered.add(call)
    waits = {of for call, of in carriers.items() if call in held or call not in answered}
    leaving: set[str] = set()
    for message in messages:
        id, call = message["id"], message.get("toolCallId", "")
        own: str = carriers.get(call, str(id))
        if id in ids and own not in waits:
            leaving |= {own, id, *results.get(own, ())}
    return frozenset(leaving)


def left_out(messages: Iterable[Message], tried: str | None = None) -> frozenset[str]:
    """Ids of the messages of a thread that its agent is not sent.

    Args:
        messages: the thread's, in order.
        tried: id of the message that is brought again: that one is sent.
    """
    out: set[str] = set()
    calls: set[str] = set()
    for message in messages:
        # Most messages have no metadata: a thread may have thousands.
        marked = "metadata" in message and archived_for(message) is not None
        if (marked and message["id"] != tried) or message.get("toolCallId") in calls:
            out.add(message["id"])
            calls.update(call["id"] for call in calls_of([message]))
    return frozenset(out)


def in_context(messages: Iterable[Message], out: Collection[str]) -> list[Message]:
    """The messages that an agent is sent, of those that stand in a thread.

    Args:
        messages: in order.
        out: what `left_out` gave.
    """
    return [message for message in messages if message["id"] not in out]
