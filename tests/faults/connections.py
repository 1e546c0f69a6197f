"""The way to the store is cut, slow or gone, and acknowledgements are lost (not on SQLite)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Literal

from tests.faults.scenario import LEASE, Case, Scenario
from tests.support.target import Answered

__all__ = ["CONNECTIONS"]

BRIEF: Final[dict[str, Any]] = {"options": {"store-retry": 1.0}, "lease": LEASE + 1}
"""A write is given up long before the lease is over."""
IN_TOOL: Final[dict[str, Any]] = {"options": {"tool-seconds": 2.0}, "lease": 5.0}
"""Renewed once while the tool runs."""


def _losing(fault: Literal["lose request", "lose reply"]) -> Callable[[Case], Answered]:
    def play(case: Case) -> Answered:
        told = case.approve_and_reach()
        case.proxy.marker, case.proxy.fault = case.thread.encode(), fault
        case.go()
        answered = told.result()
        assert case.proxy.lost == 1
        return answered

    return play


def _losing_and_gone(case: Case) -> Answered:
    """All replies are lost, and no new connection is taken, until the client has its answer."""
    told = case.approve_and_reach()
    proxy = case.proxy
    proxy.marker, proxy.times, proxy.fault = case.thread.encode(), 1000, "lose reply"
    proxy.down = True
    case.go()
    answered = told.result()
    assert proxy.lost >= 1
    proxy.fault, proxy.down = None, False
    return answered


def _gone(case: Case) -> Answered:
    told = case.approve_and_reach()
    case.in_proxy(case.proxy.take_down)
    case.go()
    answered = told.result()
    case.proxy.down = False
    return answered


def _gone_for_a_moment(case: Case) -> Answered:
    told = case.approve_and_reach()
    case.in_proxy(case.proxy.take_down)
    case.go()
    case.proxy.down = False
    return told.result()


def _cut_in_the_tool(case: Case) -> Answered:
    told = case.approve_at(case.faulty)
    case.wait_for_status("running")
    case.in_proxy(case.proxy.cut)
    return told.result()


def _stalled(case: Case) -> Answered:
    told = case.approve_and_reach()
    case.in_proxy(case.proxy.stall)
    case.go()
    answered = told.result()
    # Waits until the lease is over; only then comes what was on its way.
    case.healthy.send(case.thread, resume=[case.answer])
    case.in_proxy(case.proxy.go_on)
    return answered


def _slow(case: Case) -> Answered:
    case.proxy.delay = 0.1
    return case.approve_at(case.faulty).result()


def _scenario(name: str, play: Callable[[Case], Answered], at: str = "", **more: Any) -> Scenario:
    return Scenario(name, play, at, proxied=True, **more)


CLAIM, RESULT, END = "before the claim", "before the result is stored", "before the final commit"

CONNECTIONS: Final = [
    _scenario("connection cut, the claim does not arrive", _losing("lose request"), CLAIM),
    _scenario("connection cut, the claim's acknowledgement is lost", _losing("lose reply"), CLAIM),
    _scenario("connection cut in the tool", _cut_in_the_tool, **IN_TOOL),
    _scenario("connection cut, the result does not arrive", _losing("lose request"), RESULT),
    _scenario(
        "connection cut, the result's acknowledgement is lost", _losing("lose reply"), RESULT
    ),
    _scenario("connection cut, the end's acknowledgement is lost", _losing("lose reply"), END),
    _scenario("store gone for a moment at the claim", _gone_for_a_moment, CLAIM),
    _scenario("store gone at the claim", _gone, CLAIM, **BRIEF),
    _scenario("store gone, the claim's acknowledgement with it", _losing_and_gone, CLAIM, **BRIEF),
    _scenario("store gone before the result is stored", _gone, RESULT, **BRIEF),
    _scenario("store gone, the end's acknowledgement with it", _losing_and_gone, END, **BRIEF),
    _scenario(
        "store silent past the lease, from before the result is stored",
        _stalled,
        RESULT,
        lease=LEASE,
    ),
    _scenario("store slow: 0.2 s for each round trip", _slow),
]
