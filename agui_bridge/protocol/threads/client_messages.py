"""What counts of the messages that a client sends.

A client's list is its view of the thread, not the thread: it may be stale, optimistic or
forged (contract.md, "Messages and state").
"""

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from agui_bridge.frozen import dataclass
from agui_bridge.protocol.threads.messages.stored import StoredMessage, StoredMessages

__all__ = [
    "ClientMessages",
    "merge_client_messages",
    "merge_for_client_history",
]

Message = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ClientMessages:
    """What a client's list adds to the stored messages, and what it takes back."""

    added: tuple[Message, ...] = ()
    """User messages of unseen ids, and results of pending frontend calls, in its order."""
    superseded: tuple[str, ...] = ()
    """Ids of stored messages that stand after the point to which the client went back."""
    reached: frozenset[str] = frozenset()
    """Ids of the stored messages before the last added one in the client's own list.

    What the author of that message can have seen: only an ask among these can have been
    answered by it. With nothing added, all the stored messages that the client has.
    """


def merge_client_messages(
    stored: Sequence[StoredMessage],
    incoming: Sequence[Message],
    *,
    pending_calls: Collection[str] = (),
    allow_rewind: bool = True,
) -> ClientMessages:
    """Decide what counts of a client's list where the server keeps the history.

    The client has gone back (edit, regenerate) when its known ids, in its order, are the
    beginning of the stored ones and what follows has a user or assistant message in it.
    Stored messages of other roles are passed over where the client lacks them: not every
    client keeps them. A result stays with its call, whether the client has it or not.

    A client that keeps no ids (Agent Framework's `AGUIChatClient`) gives its messages new ones in
    each request. A user message that says what a stored one says that the list lacks, and stands
    at its place among what is known, is that one: it is not added again.

    Args:
        stored: The messages in context, sorted by position.
        incoming: The client's list; the first of several with one id counts.
        pending_calls: Frontend tool calls that wait for the client's tool message.
        allow_rewind: Whether the client may go back.
    """
    listed, stored = _without_repeats(incoming), StoredMessages.of(stored)
    known = stored.by_id
    superseded = _superseded(stored, [m["id"] for m in listed if m["id"] in known])
    if not allow_rewind or not superseded:
        superseded = ()
    waiting = set(pending_calls)
    if waiting:
        gone = set(superseded)
        kept = [message.message for message in stored if message.id not in gone]
        waiting &= {call["id"] for call in _calls(kept)}
    added: list[Message] = []
    reached: set[str] = set()
    passed: set[str] = set()
    retold = _retold(stored, listed)
    for message in listed:
        sent_as: str = message["id"]
        message_id = retold.get(sent_as, sent_as)
        if message_id in known:
            passed.add(message_id)
            continue
        if message.get("role") == "tool" and message.get("toolCallId") in waiting:
            waiting.discard(message["toolCallId"])
        elif message.get("role") != "user":
            continue
        added.append(message)
        reached = set(passed)
    return ClientMessages(tuple(added), superseded, frozenset(reached if added else passed))


def _without_repeats(messages: Sequence[Message]) -> list[Message]:
    first: dict[str, Message] = {}
    for message in messages:
        first.setdefault(message["id"], message)
    return list(first.values())


def _retold(stored: StoredMessages, listed: Sequence[Message]) -> dict[str, str]:
    """Return, by their new ids, the stored ids of user messages that were sent before."""
    # One message alone has nothing behind it.
    if len(listed) < 2:
        return {}
    ids = {message["id"] for message in listed}
    lacking = [m for m in stored if m.message["role"] == "user" and m.id not in ids]
    if not lacking:
        return {}
    lacked = [message.position for message in lacking]
    found: dict[str, str] = {}
    before = 0
    for message, after in zip(listed, _next_places(listed, stored), strict=True):
        if message["id"] in stored.by_id or message.get("role") != "user":
            before = max(before, _place(message, stored))
            continue
        for candidate in lacking[bisect_right(lacked, before) : bisect_left(lacked, after)]:
            if candidate.message["content"] == message["content"]:
                found[message["id"]] = candidate.id
                before = candidate.position
                break
    return found


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
    calls = [*(call["id"] for call in _calls([message])), message.get("toolCallId", "")]
    carriers = (stored.carriers[call] for call in calls if call in stored.carriers)
    return max((stored.by_id[carrier].position for carrier in carriers), default=0)


def _superseded(stored: Sequence[StoredMessage], listed: Sequence[str]) -> tuple[str, ...]:
    """Return what stands after the client's last known message, if it has gone back."""
    if not listed:
        return ()
    has = set(listed)
    turns = [m for m in stored if _is_turn(m.message)]
    ids = {m.id for m in turns}
    # A client that learns of a result late puts it behind its newest message: only turns count.
    reached = [message_id for message_id in listed if message_id in ids]
    if not reached or [m.id for m in turns[: len(reached)]] != reached:
        return ()
    last = turns[len(reached) - 1]
    kept_calls = {
        call["id"] for call in _calls([m.message for m in stored if m.position <= last.position])
    }
    after = [
        message
        for message in stored
        if message.position > last.position
        and message.id not in has
        and message.message.get("toolCallId") not in kept_calls
    ]
    return tuple(m.id for m in after) if any(_is_turn(m.message) for m in after) else ()


def _is_turn(message: Message) -> bool:
    return message["role"] in ("user", "assistant")


def _calls(messages: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    for message in messages:
        yield from message.get("toolCalls") or ()


def merge_for_client_history(
    stored: Sequence[StoredMessage],
    incoming: Sequence[Message],
    *,
    pending_calls: Collection[str] = (),
) -> list[Message]:
    """Make the context where the client keeps the history.

    Its list is the context, but the tool calls and results that the store knows are the
    store's: arguments can't be altered, results neither forged, left out nor repeated.

    Args:
        stored: The messages that the store has, sorted by position.
        incoming: The client's list; the first of several with one id counts.
        pending_calls: Known frontend calls, whose result may come from the client.

    Returns:
        New messages where something differs, the client's own dicts elsewhere.
    """
    messages = [message.message for message in stored]
    calls = {call["id"]: call for call in _calls(messages)}
    results = {m["toolCallId"]: m for m in messages if m["role"] == "tool"}
    context: list[Message] = []
    answered: set[str] = set()
    for message in _without_repeats(incoming):
        call_id = message.get("toolCallId") if message.get("role") == "tool" else None
        if call_id is not None:
            # Stored results follow their call, below; a second result is none.
            if call_id in results or call_id in answered:
                continue
            if call_id in calls and call_id not in pending_calls:
                continue
            answered.add(call_id)
        theirs = message.get("toolCalls") or ()
        ours = [calls.get(call["id"], call) for call in theirs]
        context.append(message if ours == list(theirs) else {**message, "toolCalls": ours})
        for call in ours:
            if call["id"] in results and call["id"] not in answered:
                answered.add(call["id"])
                context.append(results[call["id"]])
    return context
