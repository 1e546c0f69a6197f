"""The store's server is killed and started again (Redis), or ends all sessions (PostgreSQL)."""

from __future__ import annotations

from typing import Final

from tests.faults.scenario import Case, Scenario
from tests.support.target import Answered

__all__ = ["RESTARTS"]


def _at_the_point(case: Case) -> Answered:
    told = case.approve_and_reach()
    case.take_store_down()
    case.bring_store_up()
    case.go()
    return told.result()


def _down_for_a_moment(case: Case) -> Answered:
    told = case.approve_and_reach()
    case.take_store_down()
    case.go()
    if case.replicas.own is not None:
        case.wait_for_failure()
    case.bring_store_up()
    return told.result()


def _in_the_tool(case: Case) -> Answered:
    told = case.approve_at(case.faulty)
    case.wait_for_status("running")
    case.take_store_down()
    case.bring_store_up()
    return told.result()


RESTARTS: Final = [
    Scenario("store restarted before the claim", _at_the_point, "before the claim"),
    Scenario("store down for a moment at the claim", _down_for_a_moment, "before the claim"),
    Scenario("store restarted after the claim", _at_the_point, "after the claim"),
    Scenario("store restarted in the tool", _in_the_tool, options={"tool-seconds": 2.0}, lease=5.0),
    Scenario("store restarted before the end", _at_the_point, "before the final commit"),
]
"""Each takes the server from all others: they are played one by one."""
