"""The clock of one replica is off by an hour, or jumps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tests.faults.scenario import Case, Scenario
from tests.support.target import Answered

__all__ = ["CLOCKS"]

HOUR: Final = 3600.0
IN_TOOL: Final[dict[str, Any]] = {"options": {"tool-seconds": 4.0}, "lease": 5.0}
"""Renewed after a third of it: long before the tool has its effect, if the run is lost by then."""


def _off_by(seconds: float) -> Callable[[Case], Answered]:
    """It carries the approval out, and the same approval comes to the other one meanwhile."""

    def play(case: Case) -> Answered:
        case.set_clock(seconds)
        told = case.approve_at(case.faulty)
        case.wait_for_status("running")
        case.healthy.send(case.thread, resume=[case.answer])
        return told.result()

    return play


def _jump_in_the_tool(case: Case) -> Answered:
    told = case.approve_at(case.faulty)
    case.wait_for_status("running")
    case.set_clock(HOUR)
    return told.result()


def _jump_before_the_approval(case: Case) -> Answered:
    case.set_clock(HOUR)
    return case.approve_at(case.faulty).result()


CLOCKS: Final = [
    Scenario("clock an hour ahead", _off_by(HOUR), **IN_TOOL),
    Scenario("clock an hour behind", _off_by(-HOUR), **IN_TOOL),
    Scenario("clock jumps an hour ahead in the tool", _jump_in_the_tool, **IN_TOOL),
    Scenario(
        "clock jumps an hour ahead, the ask had ten minutes left",
        _jump_before_the_approval,
        expires_in=600.0,
    ),
]
