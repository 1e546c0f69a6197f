"""What counts of the messages that a client sends.

A client's list is its view of the thread, not the thread: it may be stale, optimistic or
forged (contract.md, "Messages and state"). A **turn message** is a user's or an assistant's; it is
**known** while it stands in the thread, archived or not, and was **had** if it does, or was taken
back.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field
from typing import Any, Literal

from agui_bridge.frozen import dataclass
from agui_bridge.protocol.threads.content_parts import actor_of, own_of, with_own_member
from agui_bridge.protocol.threads.messages.archived import (
    PastMessages,
    StoredMessage,
    StoredMessages,
    archived_for,
    calls_of,
    find_retold,
)

# --- whether a client's list goes back in the conversation, or is only behind it ---
#
# A list that ends early is an edit, a request for another answer, or a page that has not heard of
# the newest turns: the wire does not tell which. What is taken back leaves the model's context, and
# what was executed there would be executed again. So going back takes the **sign**: the id of the
# newest user's or assistant's message that the page had before it went back. If it names the
# thread's newest one, the page knew all that it takes back. If it names another, the page is
# behind, and its list goes back nowhere. Without the sign a list takes back nothing but its own
# page's talk.
#
# Source: docs/contract.md, "Going back"; docs/contract-reasons.md has the counterexamples.

GoingBackPolicy = Literal["text", "signed", "ungated", "always"]
"""What a list without the sign takes back: text alone, nothing, besides calls that nobody was asked
about where it only wants another answer, or all."""

KeptReason = Literal[
    "archived", "behind", "calls", "others", "superseded", "unfinished", "unsigned"
]
"""Why a list that ends early took nothing back."""


def is_turn(message: Mapping[str, Any]) -> bool:
    """Whether it is a user's or an assistant's message."""
    return message["role"] in ("user", "assistant")


@dataclass(frozen=True, slots=True)
class GoingBack:
    """By what it is decided whether a list goes back.

    Attributes:
        allowed: whether lists go back at all: on idle threads, with no answers in the input.
        policy: for lists without the sign.
        sign: id of the newest turn message that the page had; None where it gives none.
        actor: who sends the list.
        begun_by: whose messages those are that name nobody; None where nobody knows.
        read_only: whether calls of a tool only look, by its name.
        asked: whether anybody was asked about a call, by its id; heeded under `ungated` alone.
    """

    allowed: bool = True
    policy: GoingBackPolicy = "text"
    sign: str | None = None
    actor: str = "anonymous"
    begun_by: str | None = None
    read_only: Collection[str] = field(default_factory=frozenset)
    asked: Callable[[str], bool] = lambda call: True

    def fault(
        self,
        turns: Sequence[StoredMessage],
        kept: int,
        gone: Sequence[StoredMessage],
        *,
        brings_new: bool,
        holds_superseded: bool,
    ) -> KeptReason | None:
        """Why a list goes back nowhere; None where it goes back.

        Args:
            turns: the thread's turn messages, in order.
            kept: how many of them the list begins with.
            gone: what would leave the context, in order.
            brings_new: whether the list has a new user message, not only a known one at its end.
            holds_superseded: whether it holds a message that was taken back before.
        """
        if self.sign is not None:
            return None if self.sign == turns[-1].id else "behind"
        if self.policy == "always":
            return None
        if self.policy == "signed" or kept == 0:
            return "unsigned"
        if holds_superseded:
            return "superseded"
        if brings_new and turns[kept].message["role"] != "user":
            return "unfinished"
        if any(self._is_of_another(message) for message in gone):
            return "others"
        wants_answer = not brings_new and not any(m.message["role"] == "user" for m in gone)
        free = self.policy == "ungated" and wants_answer
        for message in gone:
            for call in calls_of([message.message]):
                if not self._may_go(message, call, free=free):
                    return "calls"
        return None

    def _is_of_another(self, message: StoredMessage) -> bool:
        if message.message["role"] != "user":
            return False
        actor = actor_of(message.message) or self.begun_by
        return actor is not None and actor != self.actor

    def _may_go(self, message: StoredMessage, call: Mapping[str, Any], *, free: bool) -> bool:
        if call["function"]["name"] in self.read_only:
            return True
        looks = own_of(message.message).get("readOnly", ())
        return call["id"] in looks or (free and not self.asked(call["id"]))


Message = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ClientMessages:
    """What a client's list adds to the stored messages, and what it takes back."""

    added: tuple[Message, ...] = ()
    """User messages that were never had, and results of pending frontend calls, in its order."""
    late: tuple[Message, ...] = ()
    """Results of frontend calls that were told as not given meanwhile."""
    again: str | None = None
    """Id of the known user message that the list ends with, where it is to be answered again."""
    superseded: tuple[str, ...] = ()
    """Ids of stored messages that stand after the point to which the client went back."""
    reached: frozenset[str] = frozenset()
    """Ids of the stored messages before the last added one in the client's own list.

    What the author of that message can have seen: only an ask among these can have been
    answered by it. With nothing added, all the stored messages that the client has.
    """
    ends_with_input: bool = False
    """Whether the list ends with a user message or a tool's result."""
    kept: KeptReason | None = None
    """Why nothing was taken back, where the list ends before the thread does."""

    @property
    def brings(self) -> bool:
        """Whether there is something to answer."""
        return bool(self.added) or self.again is not None


_FREELY = GoingBack()
_NO_PAST = PastMessages()

_ENDS = ("user", "assistant", "tool")
"""Roles of messages that a list can end with; instructions and the like stand anywhere."""


def merge_client_messages(
    stored: Sequence[StoredMessage],
    incoming: Sequence[Message],
    *,
    pending_calls: Collection[str] = (),
    back: GoingBack = _FREELY,
    past: PastMessages = _NO_PAST,
    not_given: str | None = None,
    begins: bool = False,
) -> ClientMessages:
    """Decide what counts of a client's list where the server keeps the history.

    A list goes back if its known turn messages are the first of the thread's, it lacks later ones,
    brings a user message (a new one, or the known one that it ends with), and `back` finds no
    fault. Stored messages of other roles, and archived ones before the last that it has, are passed
    over where the client lacks them: not every client keeps them. A result stays with its call,
    whether the client has it or not.

    Args:
        stored: The messages that stand in the thread, sorted by position.
        incoming: The client's list; the first of several with one id counts.
        pending_calls: Frontend tool calls that wait for the client's tool message.
        back: By what it is decided whether the list goes back.
        past: What left the context, as far as the list names it or says it again.
        not_given: What stands as the result of a call whose own result may still come.
        begins: Whether the thread begins with this list: what an application has the agent say
            first (`initialMessages`) is kept, as its words alone.
    """
    listed, stored, had = _without_repeats(incoming), StoredMessages.of(stored), past.ids
    known = stored.by_id
    retold = find_retold(stored, past, listed)
    ids: list[str] = [retold.get(message["id"]) or message["id"] for message in listed]
    new = {
        message["id"]
        for message, id in zip(listed, ids, strict=True)
        if message.get("role") == "user" and id not in known and id not in had
    }
    # A client that learns of a result late puts it behind its newest message.
    last = _last(listed, ("user", "assistant"))
    again = ids[last] if last is not None and listed[last]["role"] == "user" else None
    stands = known.get(again) if again is not None else None
    if (
        stands is None
        # What was done in a page is done once.
        or "action" in own_of(stands.message)
        or any(m.get("toolCallId") in pending_calls for m in listed)
    ):
        again = None
    end = _last(listed, _ENDS)
    turns = _turns(stored, set(ids))
    superseded, kept = _go_back(stored, turns, listed, ids, back, again=again, new=new, past=past)
    waiting, late = _awaited(stored, pending_calls, superseded, not_given)
    added: list[Message] = []
    told_late: list[Message] = []
    reached: set[str] = set()
    passed: set[str] = set()
    for message, id in zip(listed, ids, strict=True):
        if id in known:
            passed.add(id)
            continue
        call = message.get("toolCallId") if message.get("role") == "tool" else None
        if call in late:
            late.discard(call)
            told_late.append(message)
        elif call in waiting:
            waiting.discard(call)
            added.append(message)
            reached = set(passed)
        elif message["id"] in new:
            added.append(message)
            reached = set(passed)
        elif begins and _is_said(message):
            added.append(with_own_member(message, "initial", True))
    if added or not (superseded or (turns and turns[-1].id == again)):
        again = None
    return ClientMessages(
        tuple(added),
        tuple(told_late),
        again,
        superseded,
        frozenset(reached if added else passed),
        end is not None and listed[end]["role"] != "assistant",
        kept,
    )


def _is_said(message: Message) -> bool:
    """Whether it is words of the assistant's, and no call."""
    calls = message.get("toolCalls")
    return message.get("role") == "assistant" and bool(message.get("content")) and not calls


def _without_repeats(messages: Sequence[Message]) -> list[Message]:
    first: dict[str, Message] = {}
    for message in messages:
        first.setdefault(message["id"], message)
    return list(first.values())


def _last(listed: Sequence[Message], roles: Collection[str]) -> int | None:
    """Return the place of the last message of some roles."""
    places = range(len(listed) - 1, -1, -1)
    return next((place for place in places if listed[place].get("role") in roles), None)


def _awaited(
    stored: StoredMessages,
    pending: Collection[str],
    superseded: Collection[str],
    not_given: str | None,
) -> tuple[set[str], set[str]]:
    """Frontend calls that wait for a result, and those that were told as not given."""
    gone = set(superseded)
    late = {
        m.message["toolCallId"]
        for m in stored
        if m.message["role"] == "tool" and m.message["content"] == not_given and m.id not in gone
    }
    waiting = set(pending)
    if waiting:
        waiting &= {call["id"] for call in calls_of(m.message for m in stored if m.id not in gone)}
    return waiting, late


def _turns(stored: StoredMessages, listed: Collection[str]) -> list[StoredMessage]:
    """The turn messages that a list is compared with.

    Without those archived ones that it lacks in the middle: pages drop what was refused.
    """
    turns = [m for m in stored if is_turn(m.message)]
    ends = next((n for n in range(len(turns), 0, -1) if turns[n - 1].id in listed), 0)
    before = (m for m in turns[:ends] if m.id in listed or archived_for(m.message) is None)
    return [*before, *turns[ends:]]


def _go_back(
    stored: StoredMessages,
    turns: Sequence[StoredMessage],
    listed: Sequence[Message],
    ids: Sequence[str],
    back: GoingBack,
    *,
    again: str | None,
    new: Collection[str],
    past: PastMessages,
) -> tuple[tuple[str, ...], KeptReason | None]:
    """Return what a list takes back, or why it takes nothing back though it ends early."""
    if not back.allowed or not (new or again):
        return (), None
    of_thread = {m.id for m in turns}
    # Of another role is what a client learns of late, and puts behind its newest message.
    reached = [id for id in ids if id in of_thread]
    kept = len(reached)
    if kept >= len(turns) or [m.id for m in turns[:kept]] != reached:
        return (), None
    if kept == 0 and not past.archived.isdisjoint(ids):
        return (), "archived"
    if kept == 0 and back.sign is None:
        # Nothing but new messages: of a client that keeps no list.
        return (), None
    gone = _after(stored, turns[kept - 1] if kept else None, set(ids))
    fault = back.fault(
        turns,
        kept,
        gone,
        brings_new=bool(new),
        holds_superseded=not past.taken_back.isdisjoint(ids),
    )
    return (tuple(m.id for m in gone), None) if fault is None else ((), fault)


def _after(
    stored: StoredMessages, last: StoredMessage | None, listed: Collection[str]
) -> list[StoredMessage]:
    """Return what stands after a message, without what the client has and results of what stays."""
    until = last.position if last is not None else -1
    kept_calls = {call["id"] for call in calls_of(m.message for m in stored if m.position <= until)}
    return [
        message
        for message in stored
        if message.position > until
        and message.id not in listed
        and message.message.get("toolCallId") not in kept_calls
    ]


def merge_for_client_history(
    stored: Sequence[StoredMessage],
    incoming: Sequence[Message],
    *,
    pending_calls: Collection[str] = (),
    left_out: Collection[str] = (),
) -> list[Message]:
    """Make the context where the client keeps the history.

    Its list is the context, but the tool calls and results that the store knows are the
    store's: arguments can't be altered, results neither forged, left out nor repeated. What is
    archived is not in it, under whichever id it comes.

    Args:
        stored: The messages that the store has, sorted by position.
        incoming: The client's list; the first of several with one id counts.
        pending_calls: Known frontend calls, whose result may come from the client.
        left_out: Ids of the stored messages that the agent is not sent.

    Returns:
        New messages where something differs, the client's own dicts elsewhere.
    """
    messages = [message.message for message in stored]
    calls = {call["id"]: call for call in calls_of(messages)}
    results = {m["toolCallId"]: m for m in messages if m["role"] == "tool"}
    context: list[Message] = []
    listed = _without_repeats(incoming)
    retold = find_retold(StoredMessages.of(stored), _NO_PAST, listed) if left_out else {}
    gone = [m.message for m in stored if m.id in left_out]
    # Neither do their calls' results follow, whoever has them.
    answered = {call["id"] for call in calls_of(gone)}
    for message in listed:
        if message["id"] in left_out or retold.get(message["id"]) in left_out:
            continue
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
