"""The vocabulary of admission: what comes in, and the rulings that come out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Final

from agui_bridge.frozen import dataclass
from agui_bridge.protocol.threads.records import Principal, RecordedAnswer, Vote

VIEW_REQUEST: Final = "__proxiedMCPRequest"
"""The forwarded prop with which a page asks something for a tool's view (MCP Apps)."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of `resume`: an interrupt's id and the answer to it.

    Attributes:
        interrupt_id: what is answered.
        answer: the answer.
        fault: why it may be another one than was given, so that it is refused; "" if it is not.
    """

    interrupt_id: str
    answer: RecordedAnswer
    fault: str = ""


@dataclass(frozen=True, slots=True)
class AutoResume:
    """What the extractor made of a new user message, before admission.

    Attributes:
        entries: answers to the whole batch, or empty when nothing was understood.
        follows_ask: whether the message stands, in the client's own list, after the message
            that raised the ask; one that was typed before it is no answer to it.
        misunderstood: for people: what was not understood.
    """

    entries: tuple[Entry, ...] = ()
    follows_ask: bool = False
    misunderstood: str = "The message was not understood as an answer."


@dataclass(frozen=True, slots=True)
class Request:
    """An input, reduced to what admission depends on.

    Attributes:
        entries: the resume; empty when absent.
        has_new_message: whether it brings a user message of an id that the store lacks.
        answers_singly: the dialect answers one interrupt at a time (draft, langgraph, chat).
        unnamed_answer: it has an answer that does not say to which interrupt.
        auto_resume: None when auto-resume is off for this request.
        skip_unknown: ignore entries for ids that the thread never raised instead of refusing.
        brings: whether it brings something to answer: a user message that was never had, the
            results of frontend calls, or the known user message that its list ends with, again.
        ends_with_input: whether its list ends with a user message or a tool's result, which might
            be sent again; never where it asks something for a tool's view.
        acts_on_state: whether its agent runs on an input that brings nothing.
        brings_part: it brings results of frontend calls, and others are still awaited.
        looks: whether nobody sends it: somebody has looked after work that a run has left.
        wakes: whether nobody sends it: the time of a run that sleeps may have come, or the last
            answer to a pause that was held.
        takes_up: whether nobody sends it: a run may be lost that another process can take up.
        elsewhere: whether another process holds the pause that the thread is in.
        receipt: key of its receipt; None where its list has nothing by which to know it again.
        principal: who sends it.
        via: through what, for the history; see `AuditEntry`.
    """

    entries: tuple[Entry, ...] = ()
    has_new_message: bool = False
    answers_singly: bool = False
    unnamed_answer: bool = False
    auto_resume: AutoResume | None = None
    skip_unknown: bool = False
    brings: bool = True
    ends_with_input: bool = True
    acts_on_state: bool = False
    brings_part: bool = False
    looks: bool = False
    wakes: bool = False
    takes_up: bool = False
    elsewhere: bool = False
    receipt: str | None = None
    principal: Principal = field(default_factory=Principal)
    via: str | None = None


@dataclass(frozen=True, slots=True)
class Start:
    """Claim the thread and run the adapter on the new messages.

    Attributes:
        closes_expired: the open batch has expired whole and is closed with the same commit.
    """

    closes_expired: bool = False


@dataclass(frozen=True, slots=True)
class Resume:
    """Claim the batch and hand all its answers to the adapter.

    Attributes:
        answers: by interrupt id, for every interrupt of the batch.
        expired: ids that nobody answered in time: their answer is Cancel(expired).
        votes: by interrupt id, the votes of those that the last one has settled.
    """

    answers: Mapping[str, RecordedAnswer]
    expired: frozenset[str] = frozenset()
    votes: Mapping[str, tuple[Vote, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Hold:
    """Commit these answers as `answered`, call no adapter, restate what is still open.

    Attributes:
        answers: by interrupt id.
        votes: by interrupt id, for questions that want several: what is not in `answers` too
            stays open until there are enough.
        joins: whether they are all that was missing: another process holds the pause, and goes on.
            Wait for it, then admit the same input again.
    """

    answers: Mapping[str, RecordedAnswer]
    votes: Mapping[str, tuple[Vote, ...]] = field(default_factory=dict)
    joins: bool = False


@dataclass(frozen=True, slots=True)
class Keep:
    """Store these results of frontend calls, call no adapter: others are still awaited."""


@dataclass(frozen=True, slots=True)
class Replay:
    """Tell the thread's present outcome again; execute nothing.

    Attributes:
        stopped: the run that carried these answers out was stopped: an idle thread's outcome
            is then cancelled, because a stopped run must never look like a success.
    """

    stopped: bool = False


@dataclass(frozen=True, slots=True)
class Join:
    """Wait until the thread changes, then admit the same input again.

    Attributes:
        until: store time at which waiting is over and the input is judged without it; None: as
            long as the run goes on.
    """

    until: float | None = None


@dataclass(frozen=True, slots=True)
class AskAgain:
    """Restate the same interrupts, saying what was not understood; no error."""

    misunderstood: str


@dataclass(frozen=True, slots=True)
class Recover:
    """The run's owner is gone: make the thread idle, then admit the same input again."""


@dataclass(frozen=True, slots=True)
class TakeUp:
    """The run's owner is gone, and it can go on: take it up, then admit the same input again."""


@dataclass(frozen=True, slots=True)
class Wake:
    """The time of a run that sleeps has come: have it go on, then admit the same input again."""


@dataclass(frozen=True, slots=True)
class Reject:
    """Refuse the input; the thread's present outcome is restated, then RUN_ERROR."""

    code: str
    message: str
    interrupt_ids: tuple[str, ...] = ()


Ruling = Start | Resume | Hold | Keep | Replay | Join | AskAgain | Recover | TakeUp | Wake | Reject
