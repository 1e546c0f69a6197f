"""Every row of the admission table decides what it should, and only that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

import pytest

from agui_bridge.protocol import contract
from agui_bridge.protocol.admission import (
    AskAgain,
    AutoResume,
    Decision,
    Hold,
    Join,
    Recover,
    Reject,
    Replay,
    Request,
    Resume,
    Start,
)
from agui_bridge.protocol.contract import ROWS, admit
from agui_bridge.protocol.records import Loaded
from tests.protocol.threads import (
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


def deciding_row(loaded: Loaded, request: Request) -> str:
    """The number of the row that decides."""
    if request.skip_unknown:
        request = contract._without_unknown(loaded, request)
    return next(number for number, row in ROWS if row(loaded, request) is not None)


ONE, TWO = ask("a"), ask("b")
GONE = NOW - 1.0
LATE = ask("a", expires_at=GONE)
HELD = ask("a", ANSWERED, answer=yes("a"))
TAKEN = running(ask("a", CLAIMED, answer=yes("a")), ask("b", CLAIMED, answer=no("b")))
FINISHED = closed_as("finished", yes("a"), no("b"))
QUESTION = ask("q", tool=False, schema={"type": "string"})
UNDERSTOOD = AutoResume((yes("q", "text"),), follows_ask=True)


@dataclass(frozen=True)
class Case:
    """An input on a thread, and what is decided; `row` False: another row decides it."""

    outcome: str
    loaded: Loaded
    request: Request
    decision: type[Decision] | str
    by_this_row: bool = True


def by(outcome: str, loaded: Loaded, request: Request, decision: type[Decision] | str) -> Case:
    return Case(outcome, loaded, request, decision)


def not_by(outcome: str, loaded: Loaded, request: Request, decision: type[Decision] | str) -> Case:
    return Case(outcome, loaded, request, decision, by_this_row=False)


CASES: Final[Mapping[str, tuple[Case, ...]]] = {
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
    "9": (
        by("one run at a time", running(), MESSAGE, "RUN_IN_PROGRESS"),
        by("also while answers are carried out", TAKEN, MESSAGE, "RUN_IN_PROGRESS"),
        by("a run that is being stopped is waited for", running(stop=NOW + 3), MESSAGE, Join),
        by("but not for ever", running(stop=NOW), MESSAGE, "RUN_IN_PROGRESS"),
        not_by("an idle thread takes a message", idle(), MESSAGE, Start),
    ),
    "10": (
        by("a message after every ask expired starts anew", interrupted(LATE), MESSAGE, Start),
        by(
            "an ask expires at the very second",
            interrupted(ask("a", expires_at=NOW)),
            MESSAGE,
            Start,
        ),
        by(
            "held answers expire with their asks",
            interrupted(ask("a", ANSWERED, answer=yes("a"), expires_at=GONE)),
            MESSAGE,
            Start,
        ),
        not_by(
            "not a second before",
            interrupted(ask("a", expires_at=NOW + 1)),
            MESSAGE,
            "INTERRUPT_PENDING",
        ),
        not_by(
            "one open ask keeps the batch", interrupted(LATE, TWO), MESSAGE, "INTERRUPT_PENDING"
        ),
    ),
    "10b": (
        by(
            "held answers go on when the rest has expired",
            interrupted(HELD, ask("b", expires_at=GONE)),
            MESSAGE,
            Resume,
        ),
        not_by("not while one is open", interrupted(HELD, TWO), MESSAGE, "INTERRUPT_PENDING"),
        not_by("nor when all have expired", interrupted(ask("b", expires_at=GONE)), MESSAGE, Start),
    ),
    "11": (
        by(
            "a message that is understood is the answer",
            interrupted(QUESTION),
            replace(MESSAGE, auto_resume=UNDERSTOOD),
            Resume,
        ),
        not_by(
            "not for one typed before the ask",
            interrupted(QUESTION),
            replace(MESSAGE, auto_resume=replace(UNDERSTOOD, follows_ask=False)),
            AskAgain,
        ),
        not_by(
            "not for what the schema refuses",
            interrupted(QUESTION),
            replace(MESSAGE, auto_resume=AutoResume((yes("q", 5),), True)),
            AskAgain,
        ),
        not_by(
            "never for a tool approval",
            interrupted(ONE),
            replace(MESSAGE, auto_resume=AutoResume((yes("a"),), True)),
            AskAgain,
        ),
        not_by(
            "not for a part of the batch",
            interrupted(QUESTION, replace(QUESTION, id="r")),
            replace(MESSAGE, auto_resume=UNDERSTOOD),
            AskAgain,
        ),
        not_by(
            "not beside an expired ask",
            interrupted(QUESTION, replace(QUESTION, id="r", expires_at=GONE)),
            replace(MESSAGE, auto_resume=UNDERSTOOD),
            AskAgain,
        ),
    ),
    "12": (
        by(
            "what is not understood is asked again",
            interrupted(QUESTION),
            replace(MESSAGE, auto_resume=AutoResume()),
            AskAgain,
        ),
        not_by("only where auto-resume is on", interrupted(QUESTION), MESSAGE, "INTERRUPT_PENDING"),
        not_by(
            "and on a thread that asks", idle(), replace(MESSAGE, auto_resume=AutoResume()), Start
        ),
    ),
    "13": (
        by(
            "a message while asks are open is refused",
            interrupted(ONE),
            MESSAGE,
            "INTERRUPT_PENDING",
        ),
        by("an empty resume is none", interrupted(ONE), resume(), "INTERRUPT_PENDING"),
        not_by("a cancel is an answer", interrupted(ONE), resume(no("a")), Resume),
    ),
    "14": (
        by(
            "an expired ask can't be resolved",
            interrupted(LATE),
            resume(yes("a")),
            "INTERRUPT_EXPIRED",
        ),
        by(
            "also beside open ones",
            interrupted(LATE, TWO),
            resume(yes("a"), yes("b")),
            "INTERRUPT_EXPIRED",
        ),
        not_by("but it can be cancelled", interrupted(LATE), resume(no("a")), Resume),
    ),
    "15": (
        by(
            "what is not exactly an approval is none",
            interrupted(ONE),
            resume(yes("a", {"approved": "true"})),
            "INVALID_RESUME_PAYLOAD",
        ),
        by(
            "one bad payload refuses all",
            interrupted(ONE, TWO),
            resume(yes("a"), yes("b", None)),
            "INVALID_RESUME_PAYLOAD",
        ),
        by(
            "edits are refused where there are none",
            interrupted(ONE),
            resume(yes("a", {"approved": True, "editedArgs": {}})),
            "INVALID_RESUME_PAYLOAD",
        ),
        by(
            "one bad payload is not held either",
            interrupted(ONE, TWO),
            resume(yes("a", 1), answers_singly=True),
            "INVALID_RESUME_PAYLOAD",
        ),
        not_by(
            "a refusal is a valid payload",
            interrupted(ONE),
            resume(yes("a", {"approved": False})),
            Resume,
        ),
    ),
    "16": (
        by(
            "an ask left out is named",
            interrupted(ONE, TWO),
            resume(yes("a")),
            "INTERRUPT_NOT_COVERED",
        ),
        not_by(
            "an answered one need not be named", interrupted(HELD, TWO), resume(yes("b")), Resume
        ),
        not_by("nor one that has expired", interrupted(LATE, TWO), resume(yes("b")), Resume),
        not_by(
            "nor by a dialect that answers singly",
            interrupted(ONE, TWO),
            resume(yes("a"), answers_singly=True),
            Hold,
        ),
    ),
    "17": (
        by(
            "a single answer is held",
            interrupted(ONE, TWO),
            resume(yes("a"), answers_singly=True),
            Hold,
        ),
        by("so is a cancel", interrupted(ONE, TWO), resume(no("a"), answers_singly=True), Hold),
        by(
            "the held answer again changes nothing",
            interrupted(HELD, TWO),
            resume(yes("a"), answers_singly=True),
            Hold,
        ),
        not_by(
            "the last one resumes",
            interrupted(HELD, TWO),
            resume(yes("b"), answers_singly=True),
            Resume,
        ),
    ),
    "18": (
        by("a complete answer resumes", interrupted(ONE, TWO), resume(yes("a"), no("b")), Resume),
        by("in any order", interrupted(ONE, TWO), resume(no("b"), yes("a")), Resume),
        by("falsy payloads are payloads", interrupted(QUESTION), resume(yes("q", "")), Resume),
        not_by(
            "on an idle thread nothing is to resume",
            closed_as("finished", yes("a")),
            resume(yes("a")),
            Replay,
        ),
    ),
    "19": (
        by("an idle thread runs", idle(), MESSAGE, Start),
        by("so does one that does not exist", Loaded(None, NOW), MESSAGE, Start),
        by("an empty resume is as none", idle(), resume(), Start),
        not_by("an interrupted thread waits", interrupted(ONE), MESSAGE, "INTERRUPT_PENDING"),
    ),
}

FLAT: Final = [
    pytest.param(number, case, id=f"{number}: {case.outcome}")
    for number, cases in CASES.items()
    for case in cases
]


@pytest.mark.parametrize(("number", "case"), FLAT)
def test_row_decides(number: str, case: Case) -> None:
    decision = admit(case.loaded, case.request)

    assert (deciding_row(case.loaded, case.request) == number) is case.by_this_row
    if isinstance(case.decision, str):
        assert isinstance(decision, Reject), decision
        assert decision.code == case.decision
    else:
        assert isinstance(decision, case.decision), decision


def test_every_row_has_a_case_that_it_decides_and_a_neighbour_that_it_does_not() -> None:
    assert list(CASES) == [number for number, _ in ROWS]
    for number, cases in CASES.items():
        assert {case.by_this_row for case in cases} == {True, False}, number
