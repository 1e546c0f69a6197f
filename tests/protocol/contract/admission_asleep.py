"""The admission table, rows 0a, 9a and 13 for a run that sleeps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from agui_bridge.protocol.contract.requests import (
    AskAgain,
    AutoResume,
    Recover,
    Replay,
    Request,
    Resume,
    Wake,
)
from agui_bridge.protocol.threads.record_parts import TIMER, WAKE_SCHEMA
from agui_bridge.protocol.threads.records import Interrupt
from tests.protocol.contract.admission_before import Case, by, not_by
from tests.protocol.loaded_threads import (
    CLAIMED,
    EXPIRED,
    MESSAGE,
    NOW,
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

__all__ = ["ASLEEP"]


def timer(left: float) -> Interrupt:
    """A timer whose time comes in so many seconds."""
    asked = ask("t", tool=False, schema=WAKE_SCHEMA, expires_at=NOW + left)
    return replace(asked, reason=TIMER)


DUE, LATER = interrupted(timer(0.0)), interrupted(timer(0.1))
TIME = Request(brings=False, ends_with_input=False, acts_on_state=True, wakes=True)
"""What the sweeper sends in nobody's name."""

WAKE = yes("t", {})
WOKEN = replace(ask("t", EXPIRED, batch="old", answer=no("t")), reason=TIMER)

ASLEEP: Final[Mapping[str, tuple[Case, ...]]] = {
    "0a": (
        by("time wakes a run at its very second", DUE, TIME, Resume),
        by("not before", LATER, TIME, Replay),
        by("not what goes on by now", running(replace(timer(0.0), status=CLAIMED)), TIME, Replay),
        by("nor what is over, even if its agent acts on state", idle(), TIME, Replay),
        by("nor what has asked people since", interrupted(ask("a")), TIME, Replay),
        by("an expired question is none to wake", interrupted(ask("a", expires_at=NOW)), TIME,
           Replay),
        not_by("a lost run is recovered first", running(left=0.0), TIME, Recover),
        not_by("a message is not time", LATER, MESSAGE, "INTERRUPT_PENDING"),
    ),
    "9a": (
        by("a message after the time has the run go on first", DUE, MESSAGE, Wake),
        by("so has an answer that came too late", DUE, resume(WAKE), Wake),
        by("and a cancel", DUE, resume(no("t")), Wake),
        not_by("before its time a wake is an answer", LATER, resume(WAKE), Resume),
        not_by("and so is a cancel", LATER, resume(no("t")), Resume),
        not_by("what is no wake is refused", LATER, resume(yes("t", {"wake": 1})),
               "INVALID_RESUME_PAYLOAD"),
        not_by("an ask that is no timer expires", interrupted(ask("a", expires_at=NOW)),
               resume(yes("a")), "INTERRUPT_EXPIRED"),
        not_by(
            "a cancel of a timer whose time came changes nothing",
            idle(WOKEN, old=receipt("finished", no("t"))),
            resume(no("t")),
            Replay,
        ),
        not_by(
            "a wake of one comes too late",
            idle(WOKEN, old=receipt("finished", no("t"))),
            resume(WAKE),
            "INTERRUPT_EXPIRED",
        ),
        not_by(
            "to wake one again that was woken is nothing new",
            closed_as("finished", WAKE),
            resume(yes("t", {})),
            Replay,
        ),
        not_by(
            "no message is read as a wake",
            LATER,
            replace(MESSAGE, auto_resume=AutoResume((WAKE,), follows_ask=True)),
            AskAgain,
        ),
    ),
}  # fmt: skip
