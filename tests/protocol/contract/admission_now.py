"""The admission table, rows 10 to 19: each with inputs that it decides, and neighbours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from agui_bridge.protocol.answers.decisions import (
    ANSWER,
    APPROVE,
    DECLINE,
    RESPOND,
    approval_schema,
    declinable,
)
from agui_bridge.protocol.contract.requests import (
    AskAgain,
    AutoResume,
    Hold,
    Join,
    Keep,
    Replay,
    Request,
    Resume,
    Start,
)
from agui_bridge.protocol.threads.approval_rule import ApprovalRule
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.record_parts import LeaseTerm, PauseHold, Watch
from agui_bridge.protocol.threads.records import Interrupt
from tests.protocol.contract.admission_before import Case, by, not_by
from tests.protocol.loaded_threads import (
    ANSWERED,
    CLAIMED,
    MESSAGE,
    NOW,
    ask,
    closed_as,
    idle,
    interrupted,
    no,
    resume,
    running,
    yes,
)

__all__ = ["NOW_ASKED"]

ONE, TWO = ask("a"), ask("b")
GONE = NOW - 1.0
LATE = ask("a", expires_at=GONE)
HELD = ask("a", ANSWERED, answer=yes("a"))
TAKEN = running(ask("a", CLAIMED, answer=yes("a")), ask("b", CLAIMED, answer=no("b")))
FINISHED = closed_as("finished", yes("a"), no("b"))
QUESTION = ask("q", tool=False, schema={"type": "string"})
DECLINABLE = replace(
    QUESTION, response_schema=declinable(QUESTION.response_schema), allowed=(ANSWER, DECLINE)
)
WITH_TEXT = replace(
    ONE,
    response_schema=approval_schema(None, editable=False, respond=True),
    allowed=(APPROVE, DECLINE, RESPOND),
)
UNDERSTOOD = AutoResume((yes("q", "text"),), follows_ask=True)


HAD = Request(brings=False)
NOTHING = Request(brings=False, ends_with_input=False)
ON_STATE = replace(NOTHING, acts_on_state=True)
PART = Request(brings_part=True)
LOOKED = replace(NOTHING, looks=True)
ELSEWHERE = replace(resume(yes("a")), elsewhere=True)
BOTH_ELSEWHERE = replace(resume(yes("a"), no("b")), elsewhere=True)
UNNAMED = Request(unnamed_answer=True)
"""An answer in the draft's form that does not say to what."""


def held(*asks: Interrupt, seconds: float = 10.0) -> Loaded:
    """A thread whose pause somebody holds."""
    found = interrupted(*asks)
    assert found.record is not None
    hold = PauseHold("holder.1", LeaseTerm(NOW + seconds, NOW))
    return replace(found, record=replace(found.record, hold=hold))


def left(pending: tuple[str, ...] = (), unheard: tuple[str, ...] = ()) -> Loaded:
    """A thread that does nothing, whose last run has left work."""
    found, watch = idle(), Watch("work", NOW, NOW + 60.0, ("ann",))
    assert found.record is not None
    record = replace(found.record, watch=watch, pending_calls=pending, unheard=unheard)
    return replace(found, record=record)


NOW_ASKED: Final[Mapping[str, tuple[Case, ...]]] = {
    "9c": (
        by("the last answer waits for the holder", held(ONE), ELSEWHERE, Hold),
        by("and again where it is there", held(HELD), ELSEWHERE, Hold),
        by("so do all of several", held(ONE, TWO), BOTH_ELSEWHERE, Hold),
        by("what brings no answer waits as well", held(HELD), replace(HAD, elsewhere=True), Join),
        by("and a message", held(HELD), replace(MESSAGE, elsewhere=True), Join),
        by(
            "a wrong answer is refused as ever",
            held(ONE),
            replace(resume(yes("a", 7)), elsewhere=True),
            "INVALID_RESUME_PAYLOAD",
        ),
        by(
            "so is one that leaves another question out",
            held(ONE, TWO),
            ELSEWHERE,
            "INTERRUPT_NOT_COVERED",
        ),
        by(
            "a message answers nothing",
            held(ONE),
            replace(MESSAGE, elsewhere=True),
            "INTERRUPT_PENDING",
        ),
        not_by("the holder goes on itself", held(ONE), resume(yes("a")), Resume),
        not_by(
            "so does everybody once the hold is over", held(ONE, seconds=0.0), ELSEWHERE, Resume
        ),
        not_by("and where nobody holds anything", interrupted(ONE), ELSEWHERE, Resume),
        not_by(
            "another answer than the one that waits",
            held(HELD),
            replace(resume(no("a")), elsewhere=True),
            "INTERRUPT_ALREADY_ANSWERED",
        ),
        not_by(
            "what nobody sends goes on with what waits",
            held(HELD),
            replace(NOTHING, wakes=True, elsewhere=True),
            Resume,
        ),
        not_by(
            "and with nothing else", held(ONE), replace(NOTHING, wakes=True, elsewhere=True), Replay
        ),
    ),
    "9b": (
        by(
            "an answer to nothing named is not taken for one to what is open",
            interrupted(ONE),
            UNNAMED,
            "INTERRUPT_NOT_COVERED",
        ),
        by("nor does it begin anything anew", interrupted(LATE), UNNAMED, "INTERRUPT_EXPIRED"),
        by("nor where nothing was asked", idle(), UNNAMED, "INTERRUPT_NOT_FOUND"),
        by(
            "what has expired is not among what it leaves out",
            interrupted(LATE, TWO),
            UNNAMED,
            "INTERRUPT_NOT_COVERED",
        ),
        not_by("a message that answers nothing", interrupted(ONE), MESSAGE, "INTERRUPT_PENDING"),
    ),
    "10": (
        by("a message after every ask expired starts anew", interrupted(LATE), MESSAGE, Start),
        by("what brings nothing starts nothing", interrupted(LATE), NOTHING, Replay),
        by("unless the agent acts on the state", interrupted(LATE), ON_STATE, Start),
        by(
            "and the list does not end with what the thread has had",
            interrupted(LATE),
            replace(ON_STATE, ends_with_input=True),
            Replay,
        ),
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
            "nor for what lets a tool run, though no call is pinned",
            interrupted(replace(QUESTION, permits=True)),
            replace(MESSAGE, auto_resume=UNDERSTOOD),
            AskAgain,
        ),
        not_by(
            "nor for what is called a tool call",
            interrupted(replace(QUESTION, reason="tool_call")),
            replace(MESSAGE, auto_resume=UNDERSTOOD),
            AskAgain,
        ),
        not_by(
            "nor for one about a call that has a rule",
            interrupted(replace(QUESTION, about="c", rule=ApprovalRule("all"))),
            replace(MESSAGE, auto_resume=UNDERSTOOD),
            AskAgain,
        ),
        by(
            "but for one about a call that has none",
            interrupted(replace(QUESTION, about="c")),
            replace(MESSAGE, auto_resume=UNDERSTOOD),
            Resume,
        ),
        by(
            "one that may be declined is answered so, too",
            interrupted(DECLINABLE),
            replace(MESSAGE, auto_resume=UNDERSTOOD),
            Resume,
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
        by(
            "a text in place of the tool's result is refused where none is offered",
            interrupted(ONE),
            resume(yes("a", {"approved": False, "respond": "by hand"})),
            "INVALID_RESUME_PAYLOAD",
        ),
        by(
            "and so it is beside an approval",
            interrupted(WITH_TEXT),
            resume(yes("a", {"approved": True, "respond": "by hand"})),
            "INVALID_RESUME_PAYLOAD",
        ),
        not_by(
            "it is an answer where it is offered",
            interrupted(WITH_TEXT),
            resume(yes("a", {"approved": False, "respond": "by hand"})),
            Resume,
        ),
        by(
            "a decline is no answer to a question that offers none",
            interrupted(QUESTION),
            resume(yes("q", {"declined": True})),
            "INVALID_RESUME_PAYLOAD",
        ),
        not_by(
            "a decline is an answer to one that offers it",
            interrupted(DECLINABLE),
            resume(yes("q", {"declined": True})),
            Resume,
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
        not_by("what brings nothing starts nothing", idle(), NOTHING, Replay),
    ),
    "18b": (
        by("some of the results that are awaited are kept", idle(), PART, Keep),
        not_by("all of them start a run", idle(), MESSAGE, Start),
        not_by("a run goes first", running(), PART, "RUN_IN_PROGRESS"),
    ),
    "18c": (
        by("what a look has found is asked on a thread that does nothing", left(), LOOKED, Start),
        by("nothing is asked where nothing is left", idle(), LOOKED, Replay),
        by("nor while the application's results are awaited", left(("c",)), LOOKED, Replay),
        by("nor before a message that nobody has heard", left(unheard=("m",)), LOOKED, Replay),
        not_by("a run goes first", running(), LOOKED, "RUN_IN_PROGRESS"),
        not_by("an open question goes first", interrupted(ONE), LOOKED, "INTERRUPT_PENDING"),
        not_by("all expired, and nothing new", interrupted(LATE), LOOKED, Replay),
        not_by("a message is none", left(), MESSAGE, Start),
    ),
    "19a": (
        by("a list that ends with what was answered is shown the thread", idle(), HAD, Replay),
        by("also of an agent that acts on state", idle(), replace(HAD, acts_on_state=True), Replay),
        by("and of one that does not exist", Loaded(None, NOW), HAD, Replay),
        not_by("a message starts a run", idle(), MESSAGE, Start),
        not_by("all expired, and nothing new", interrupted(LATE), HAD, Replay),
    ),
    "19b": (
        by("without a list the thread is shown", idle(), NOTHING, Replay),
        by("an agent that acts on state runs", idle(), ON_STATE, Start),
        by("an agent may speak first", Loaded(None, NOW), NOTHING, Start),
        not_by(
            "though not where a question is open", interrupted(ONE), ON_STATE, "INTERRUPT_PENDING"
        ),
        not_by("it runs after every ask has expired", interrupted(LATE), ON_STATE, Start),
    ),
}
"""Rows 10 to 19: what a thread asks now, and what one that asks nothing does."""
