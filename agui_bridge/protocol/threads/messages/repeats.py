"""User messages that a client sends again under new ids.

A client that keeps no ids (Agent Framework's `AGUIChatClient`) gives its messages new ones in each
request. Source: docs/contract.md, "Messages and state".
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from agui_bridge.protocol.threads.messages.past import PastMessages
from agui_bridge.protocol.threads.messages.stored import StoredMessages

__all__ = ["calls_of", "find_retold"]

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
