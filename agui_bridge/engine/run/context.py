"""What of a thread's conversation a run's agent is sent, and what the run's end tells of that.

A model's endpoint that refuses a request does not say which message it means. The one that the
input brought is **suspect**: the next run is not sent it. If that ends by itself, the message was
the reason, and is archived; if it is refused as well, the reason was another one, and the message
comes back. Unless what that run brought may be refused for itself: a second picture, or what the
endpoint says is against its policy.

A guard of the agent says what it refuses: that is archived at once.

Source: docs/contract.md, "Archived" and "Refused messages".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Final, overload

from agui_bridge.engine.input.starting_conversation import StartingConversation
from agui_bridge.engine.input.submission import Submission, context_of
from agui_bridge.frozen import dataclass
from agui_bridge.protocol.contract.requests import Hold
from agui_bridge.protocol.contract.transitions import Change, hold
from agui_bridge.protocol.json_values import copied, same_json
from agui_bridge.protocol.threads.history import History
from agui_bridge.protocol.threads.messages.archived import (
    archived_for,
    as_archived,
    is_suspect,
    unarchived,
)
from agui_bridge.protocol.threads.messages.taken_back import for_agent
from agui_bridge.protocol.threads.records import Json, ThreadRecord
from agui_bridge.protocol.threads.run_ends import Ending, Failed, Finished, RefusedPart

# --- the conversation as an agent gets it ---

Message = Mapping[str, Json]


class AgentMessages(Sequence[Message]):
    """Messages, copied once somebody looks at them, with the note of what was taken back.

    Frameworks write into what they are given, and what is stored must stay as it is: the next run
    may begin with it. Many agents look at none.

    Args:
        messages: are copied; the list itself must stay as it is until then.
    """

    def __init__(self, messages: Sequence[Message]) -> None:
        self._messages = messages

    @cached_property
    def _copies(self) -> list[Message]:
        return [copied(for_agent(message)) for message in self._messages]

    @overload
    def __getitem__(self, at: int) -> Message: ...
    @overload
    def __getitem__(self, at: slice) -> list[Message]: ...
    def __getitem__(self, at: int | slice) -> Message | list[Message]:
        return self._copies[at]

    def __len__(self) -> int:
        return len(self._messages)


# --- who asked for a run: they may not be the ones who approve what it asks ---
#
# Source: docs/contract.md, "Who asked".


def askers_of(
    submission: Submission, incoming: StartingConversation, *, continues: bool
) -> tuple[str, ...]:
    """Who asked for a run: whoever began it, and everybody whose messages came to it since.

    Whoever only answers a question of it, or returns an application's results, has not asked.
    Whoever changes the shared state with an answer has: what is asked next is made of it.
    """
    actor, record = submission.principal.actor, incoming.loaded.record
    before = record.askers if continues and record is not None else ()
    if submission.looks and record is not None and record.watch is not None:
        return record.watch.askers
    if not continues:
        return (actor,)
    # A message that is the answer itself is a request for nothing else.
    speaks = incoming.has_new_message and (
        bool(submission.parsed.entries) or not incoming.loaded.asks
    )
    asks = speaks or _changes_state_with_answer(submission, record)
    return tuple(dict.fromkeys((*before, actor))) if asks or not before else before


def _changes_state_with_answer(submission: Submission, record: ThreadRecord | None) -> bool:
    parsed = submission.parsed
    if not (parsed.entries and parsed.has_state) or record is None:
        return False
    return not same_json(parsed.input.state, record.state)


# --- what a run is given ---

_REASON: Final = "refused"
_BY_GUARD: Final = ("message", "reply")


@dataclass(frozen=True, slots=True)
class Noted:
    """What a run's end has noted on messages.

    Attributes:
        any: whether there is something that clients have not been told.
        returning: ids of messages that come back into the context.
        said: what the client is told of it, beside why the run failed; "" for nothing.
    """

    any: bool = False
    returning: tuple[str, ...] = ()
    said: str = ""


@dataclass(frozen=True, slots=True)
class Context:
    """The context of one run.

    Attributes:
        left_out: ids of the messages of the thread that its agent is not sent.
        suspects: those of them that are suspect, in order.
        tried: id of the archived message that its input brings again, which is sent.
        brought: ids of the user messages that its input brings; empty where it answers a question.
        length: how many messages the run begins with.
    """

    left_out: frozenset[str]
    suspects: tuple[str, ...]
    tried: str | None
    brought: tuple[str, ...]
    length: int

    @classmethod
    def of(cls, incoming: StartingConversation, history: History, *, starts: bool) -> Context:
        """What a run begins with.

        Args:
            incoming: what its input brings.
            history: the conversation, with that.
            starts: whether the input begins a run, and does not answer the questions of one.
        """
        out = incoming.left_out(history, starts=starts)
        left = [m for m in history.messages if m["id"] in out] if out else []
        said = [m["id"] for m in incoming.client.added if m["role"] == "user"]
        if (again := incoming.client.again) is not None:
            said.append(again)
        return cls(
            out,
            tuple(m["id"] for m in left if is_suspect(m)),
            incoming.tried_again if starts else None,
            tuple(said) if starts else (),
            len(history.ids),
        )

    def settle(self, history: History, ending: Ending) -> Noted:
        """Note on messages what the run's end says of them.

        Args:
            history: the run's.
            ending: how it ends.
        """
        if isinstance(ending, Finished):
            for suspect in self.suspects:
                history.rewrite(suspect, lambda message: as_archived(message, _REASON))
            if self.tried is not None:
                history.rewrite(self.tried, unarchived)
            return Noted(any=bool(self.suspects or self.tried))
        if not isinstance(ending, Failed) or ending.refused is None:
            return Noted()
        if ending.refused in _BY_GUARD:
            return self._guarded(history, ending.refused)
        if not self.brought or len(history.ids) > self.length:
            # An answer, or it said something, or called a tool, and was refused later.
            return Noted()
        messages = {m["id"]: m for m in history.messages if m["id"] in self.brought}
        own = ending.refused == "content" or any(map(_has_media, messages.values()))
        if self.suspects and not own:
            for suspect in self.suspects:
                history.rewrite(suspect, unarchived)
            return Noted(any=True, returning=self.suspects, said=_OTHER_REASON)
        for message in self.brought:
            history.rewrite(message, _suspected)
        return Noted(any=True, said=_SUSPECT)

    def _guarded(self, history: History, refused: RefusedPart) -> Noted:
        """Archive what a guard of the agent refuses: it says itself what it is."""
        told = [m for m in history.messages[self.length :] if m["role"] == "assistant"]
        out = [m["id"] for m in told if not m.get("toolCalls")]
        # Else the model would be asked the same again with the next message, and be refused again.
        if refused == "message" or len(out) == len(told):
            out = [*self.brought, *out]
        for message in out:
            history.rewrite(message, lambda found: as_archived(found, _REASON))
        return Noted(any=bool(out))

    def keeps_memo(self, ending: Ending) -> bool:
        """Whether what the adapter noted is of the messages that the next run is sent."""
        if isinstance(ending, Failed) and ending.refused not in (None, *_BY_GUARD):
            return False
        return self.tried is None or isinstance(ending, Finished)


_SUSPECT = "The next message is sent without this one: change it, or try it again."
_OTHER_REASON = "It is not for the message that was left out: that is sent again."


def _suspected(message: Mapping[str, Any]) -> dict[str, Any]:
    """A message that was refused with its run; one that was archived for it stays so."""
    known = archived_for(message) is not None
    return dict(message) if known else as_archived(message, _REASON, suspect=True)


def _has_media(message: Mapping[str, Any]) -> bool:
    """Whether it has a part that is no text: a picture, a file."""
    content = message.get("content")
    return isinstance(content, list) and any(part.get("type") != "text" for part in content)


# --- what is kept of an input whose answers are not all yet ---
#
# Answers, votes, and what it says besides.
#
# Source: docs/contract.md, rows 17 and 17b.


def hold_answers(submission: Submission, incoming: StartingConversation, ruling: Hold) -> Change:
    """Keep what an input answers until the rest is here, and all that it brings besides."""
    parsed = submission.parsed
    return hold(
        incoming.loaded,
        ruling,
        submission.principal.actor,
        submission.via,
        # A message that is the answer itself says nothing besides it.
        messages=incoming.said() if parsed.entries else (),
        state=parsed.input.state if parsed.has_state else ...,
        context=context_of(parsed.input),
        askers=askers_of(submission, incoming, continues=True),
    )
