"""The replica that carries an approval out is killed, or stands still past its lease."""

from __future__ import annotations

from typing import Final

from tests.faults.scenario import Case, Scenario
from tests.support.fault_target import POINTS
from tests.support.target import Answered
from tests.support.waiting import wait_until

__all__ = ["FREEZES", "KILLS"]

EVERYWHERE: Final = (*POINTS, "in the tool", "after its effect")


def _killed(case: Case) -> Answered:
    told = case.faulty.send(case.thread, resume=[case.answer])
    case.faulty.wait_for_death()
    return told


def _frozen(case: Case) -> Answered:
    told = case.approve_at(case.faulty)
    case.faulty.wait_for_freeze()
    # It waits until the lease is over, unless nobody holds one.
    case.healthy.send(case.thread, resume=[case.answer])
    case.faulty.thaw()
    return told.result()


def _frozen_past_expiry(case: Case) -> Answered:
    told = case.approve_at(case.faulty)
    case.faulty.wait_for_freeze()
    wait_until(lambda: not case.healthy.thread(case.thread)["interrupts"])
    case.faulty.thaw()
    return told.result()


KILLS: Final = [Scenario(f"kill -9 {point}", _killed, point, "kill") for point in EVERYWHERE]
FREEZES: Final = [
    *(
        Scenario(f"SIGSTOP {point}, past the lease", _frozen, point, "freeze")
        for point in (
            "before the claim",
            "after the claim",
            "in the tool",
            "before the result is stored",
            "before the final commit",
        )
    ),
    Scenario(
        "SIGSTOP before the claim, until the ask has expired",
        _frozen_past_expiry,
        "before the claim",
        "freeze",
        expires_in=2.0,
    ),
]
