"""The admission table, rows 0 to 9: each with inputs that it decides, and neighbours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from agui_bridge.protocol.contract.requests import (
    AutoResume,
    Join,
    Recover,
    Replay,
    Request,
    Resume,
    Ruling,
    Start,
)
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.records import ReceiptOutcome
from tests.protocol.loaded_threads import (
    ANSWERED,
    CLAIMED,
    EXPIRED,
    MESSAGE,
    NOW,
    RESOLVED,
    ask,
    closed_as,
    idle,
    interrupted,
    no,
    receipt,
    resume,
    running,
    yes,
)

__all__ = ["BEFORE", "Case", "by", "not_by"]

ONE, TWO = ask("a"), ask("b")
GONE = NOW - 1.0
LATE = ask("a", expires_at=GONE)
HELD = ask("a", ANSWERED, answer=yes("a"))
TAKEN = running(ask("a", CLAIMED, answer=yes("a")), ask("b", CLAIMED, answer=no("b")))
FINISHED = closed_as("finished", yes("a"), no("b"))
QUESTION = ask("q", tool=False, schema={"type": "string"})
UNDERSTOOD = AutoResume((yes("q", "text"),), follows_ask=True)


INPUT: Final = "input:1"
AGAIN: Final = Request(has_new_message=True, receipt=INPUT)


def repeated(outcome: ReceiptOutcome, *, code: str | None = None) -> Loaded:
    """An idle thread that has had the input `AGAIN`."""
    return replace(idle(), receipts={INPUT: receipt(outcome, code=code)})


@dataclass(frozen=True)
class Case:
    """An input on a thread, and what is decided; `row` False: another row decides it."""

    outcome: str
    loaded: Loaded
    request: Request
    decision: type[Ruling] | str
    by_this_row: bool = True


def by(outcome: str, loaded: Loaded, request: Request, decision: type[Ruling] | str) -> Case:
    return Case(outcome, loaded, request, decision)


def not_by(outcome: str, loaded: Loaded, request: Request, decision: type[Ruling] | str) -> Case:
    return Case(outcome, loaded, request, decision, by_this_row=False)


BEFORE: Final[Mapping[str, tuple[Case, ...]]] = {
    "0": (
        by("a run whose lease is over is recovered", running(left=0.0), MESSAGE, Recover),
        by("whatever comes in", running(ONE, left=-5.0), resume(yes("x"), yes("x")), Recover),
        not_by("a lease that holds is respected", running(left=0.1), MESSAGE, "RUN_IN_PROGRESS"),
    ),
    "1": (
        by("the same answers join", TAKEN, resume(yes("a"), no("b")), Join),
        by("in any order", TAKEN, resume(no("b"), yes("a")), Join),
        by("a part of them joins", TAKEN, resume(no("b")), Join),
        by("with a message too", TAKEN, resume(yes("a"), has_new_message=True), Join),
        not_by("no answers join nothing", TAKEN, resume(), "RUN_IN_PROGRESS"),
        not_by("no answers join no fresh run", running(), resume(), "RUN_IN_PROGRESS"),
        not_by(
            "before the claim there is nothing to join", interrupted(ONE), resume(yes("a")), Resume
        ),
    ),
    "2": (
        by("another answer waits for the run", TAKEN, resume(no("a")), Join),
        by("also among the same ones", TAKEN, resume(yes("a"), yes("b")), Join),
        by(
            "another answer than a held one is refused",
            interrupted(HELD, TWO),
            resume(no("a"), answers_singly=True),
            "INTERRUPT_ALREADY_ANSWERED",
        ),
        by(
            "even when it completes the batch",
            interrupted(HELD, TWO),
            resume(no("a"), yes("b")),
            "INTERRUPT_ALREADY_ANSWERED",
        ),
        not_by(
            "the held answer again is none",
            interrupted(HELD, TWO),
            resume(yes("a"), yes("b")),
            Resume,
        ),
    ),
    "3": (
        by(
            "an ask named twice is refused",
            interrupted(ONE),
            resume(yes("a"), no("a")),
            "INTERRUPT_DUPLICATE",
        ),
        by(
            "even with one answer",
            interrupted(ONE),
            resume(yes("a"), yes("a")),
            "INTERRUPT_DUPLICATE",
        ),
        by("even after it was done", FINISHED, resume(yes("a"), yes("a")), "INTERRUPT_DUPLICATE"),
        not_by(
            "two asks named once are fine", interrupted(ONE, TWO), resume(yes("a"), no("b")), Resume
        ),
    ),
    "4": (
        by("what was done is told again", FINISHED, resume(yes("a"), no("b")), Replay),
        by("also in part, in any order", FINISHED, resume(no("b")), Replay),
        by("also after a stop", closed_as("stopped", yes("a")), resume(yes("a")), Replay),
        by(
            "a new message with it starts a run",
            FINISHED,
            resume(yes("a"), has_new_message=True),
            Start,
        ),
        by(
            "or is refused as any message is",
            interrupted(
                ask("a", RESOLVED, batch="old", answer=yes("a")),
                TWO,
                old=receipt("finished", yes("a")),
            ),
            resume(yes("a"), has_new_message=True),
            "INTERRUPT_PENDING",
        ),
        not_by(
            "another answer is not told as done",
            FINISHED,
            resume(no("a")),
            "INTERRUPT_ALREADY_ANSWERED",
        ),
        not_by("no answer at all is a message", FINISHED, resume(), Start),
    ),
    "5": (
        by(
            "a lost run stays lost",
            closed_as("lost", yes("a"), code="RUN_INDETERMINATE"),
            resume(yes("a")),
            "RUN_INDETERMINATE",
        ),
        by(
            "a failed one says how",
            closed_as("failed", yes("a"), code="UPSTREAM_ERROR"),
            resume(yes("a")),
            "UPSTREAM_ERROR",
        ),
        by(
            "at least that the agent did",
            closed_as("failed", yes("a")),
            resume(yes("a")),
            "AGENT_ERROR",
        ),
        by(
            "also with a code of another version",
            closed_as("failed", yes("a"), code="NEW"),
            resume(yes("a")),
            "AGENT_ERROR",
        ),
        not_by(
            "another answer comes too late",
            closed_as("lost", yes("a")),
            resume(no("a")),
            "INTERRUPT_ALREADY_ANSWERED",
        ),
    ),
    "6": (
        by(
            "what expired may be cancelled",
            closed_as("expired", yes("a"), yes("b")),
            resume(no("a"), no("b")),
            Replay,
        ),
        by(
            "a message that comes with such a cancel is taken",
            closed_as("expired", yes("a")),
            resume(no("a"), has_new_message=True),
            Start,
        ),
        not_by(
            "but not resolved",
            closed_as("expired", yes("a"), yes("b")),
            resume(no("a"), yes("b")),
            "INTERRUPT_EXPIRED",
        ),
        not_by(
            "what was stopped was not expired",
            closed_as("cancelled", yes("a")),
            resume(no("a")),
            "INTERRUPT_ALREADY_ANSWERED",
        ),
    ),
    "7": (
        by(
            "an answer after the batch's expiry is late",
            closed_as("expired", yes("a")),
            resume(yes("a")),
            "INTERRUPT_EXPIRED",
        ),
        by(
            "an answer after a stop is refused",
            closed_as("cancelled", yes("a")),
            resume(yes("a")),
            "INTERRUPT_ALREADY_ANSWERED",
        ),
        by(
            "another answer than the one given is refused",
            FINISHED,
            resume(no("a")),
            "INTERRUPT_ALREADY_ANSWERED",
        ),
        by(
            "expired and answered ones together count as answered",
            idle(
                ask("a", RESOLVED, batch="old", answer=yes("a")),
                ask("b", EXPIRED, batch="old"),
                old=receipt("finished", yes("a"), no("b")),
            ),
            resume(yes("a", {"approved": False}), yes("b")),
            "INTERRUPT_ALREADY_ANSWERED",
        ),
        by(
            "old asks beside open ones are refused",
            interrupted(
                TWO,
                ask("a", RESOLVED, batch="old", answer=yes("a")),
                old=receipt("finished", yes("a")),
            ),
            resume(yes("a"), yes("b")),
            "INTERRUPT_ALREADY_ANSWERED",
        ),
        not_by("an open ask is not closed", interrupted(ONE), resume(yes("a")), Resume),
    ),
    "8": (
        by(
            "an ask that was never raised is refused",
            interrupted(ONE),
            resume(yes("x")),
            "INTERRUPT_NOT_FOUND",
        ),
        by(
            "also on a thread that does not exist",
            Loaded(None, NOW),
            resume(no("x")),
            "INTERRUPT_NOT_FOUND",
        ),
        by("also while it runs", TAKEN, resume(yes("x")), "INTERRUPT_NOT_FOUND"),
        by(
            "also beside one that is open",
            interrupted(ONE),
            resume(yes("a"), yes("x")),
            "INTERRUPT_NOT_FOUND",
        ),
        not_by(
            "unless unknown ones are skipped",
            interrupted(ONE),
            resume(yes("a"), yes("x"), skip_unknown=True),
            Resume,
        ),
        not_by(
            "and nothing but a message is left then",
            interrupted(ONE),
            resume(yes("x"), skip_unknown=True),
            "INTERRUPT_PENDING",
        ),
    ),
    "8a": (
        by("an input that was carried out is shown again", repeated("finished"), AGAIN, Replay),
        by("with its end, where that was a stop", repeated("stopped"), AGAIN, Replay),
        by(
            "one that failed is refused",
            repeated("failed", code="UPSTREAM_ERROR"),
            AGAIN,
            "UPSTREAM_ERROR",
        ),
        by(
            "with an error's own code, where none is known",
            repeated("failed"),
            AGAIN,
            "AGENT_ERROR",
        ),
        by("one that was lost is unknown", repeated("lost"), AGAIN, "RUN_INDETERMINATE"),
        by(
            "while it is carried out it is waited for",
            replace(running(), receipts={INPUT: receipt("claimed")}),
            AGAIN,
            Join,
        ),
        by(
            "whichever run is on now",
            replace(running(), receipts={INPUT: receipt("finished")}),
            AGAIN,
            Join,
        ),
        by(
            "also where a question is open by now",
            replace(interrupted(ask("a")), receipts={INPUT: receipt("finished")}),
            AGAIN,
            Replay,
        ),
        not_by("one that reached nobody begins anew", repeated("undelivered"), AGAIN, Start),
        not_by("another input of the thread", repeated("finished"), MESSAGE, Start),
        not_by(
            "what carries a pause on that nobody has to answer is the input that paused",
            replace(interrupted(HELD), receipts={INPUT: receipt("finished")}),
            AGAIN,
            Resume,
        ),
        not_by(
            "answers are known by what they answer",
            replace(interrupted(ONE), receipts={INPUT: receipt("finished")}),
            replace(resume(yes("a")), receipt=INPUT),
            Resume,
        ),
    ),
    "9": (
        by("one run at a time", running(), MESSAGE, "RUN_IN_PROGRESS"),
        by("also while answers are carried out", TAKEN, MESSAGE, "RUN_IN_PROGRESS"),
        by("a run that is being stopped is waited for", running(stop=NOW + 3), MESSAGE, Join),
        by("but not for ever", running(stop=NOW), MESSAGE, "RUN_IN_PROGRESS"),
        not_by("an idle thread takes a message", idle(), MESSAGE, Start),
    ),
}
"""Rows 0 to 9: what runs, what was answered before, what never was asked."""
