"""Messages that stand in the thread, and that no agent is sent any more.

A message leaves the context of its own, without having been taken back: because a model's endpoint
refuses it, or because the thread is at its size. It was **had** like any other. Its id is known,
people see it in its place, and who goes back may take it back. It is marked
`metadata.agui_bridge.archived: {"reason": …}`, with `"suspect": true` where the next run that ends
by itself, or is refused without it, has yet to say whether it was the reason.
Source: docs/contract.md, "Archived".
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from agui_bridge.protocol.own_metadata import own_of, with_own_member, without_own_member
from agui_bridge.protocol.threads.messages.repeats import calls_of

__all__ = [
    "archived_for",
    "as_archived",
    "in_context",
    "is_suspect",
    "left_out",
    "marked_as",
    "unarchived",
    "with_calls",
]

Message = Mapping[str, Any]


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
