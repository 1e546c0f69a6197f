"""A stop counts at once in any process: no call begins once the request stands in the store."""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.processes.conftest import STORES
from tests.support.target import Answered, Target

pytestmark = [pytest.mark.soak, pytest.mark.timeout(240)]

FEW = 5
MANY = int(os.environ.get("STOPS", "25"))
AT_ONCE = 2
AFTER = 0.05
"""Seconds after the request was stored from which on a call counts as late.

A machine that has no turn for the process can hold up a call that has looked already: so these are
counted and told. What is asked is that no call begins whose look came after the request.
"""

PATIENCE = 10.0
"""Seconds within which a run has heard of a stop, whatever is cut and however busy the machine."""


@dataclass(frozen=True)
class Stopped:
    """One stop by another process than the one that runs the thread.

    Attributes:
        looked: seconds from the stored request to the look of each call; before it negative.
        begun: the same to the beginning of each.
        heard: seconds until the run knew.
        result: what the stop gave.
        told: the run's stream.
    """

    looked: list[float]
    begun: list[float]
    heard: float
    result: dict[str, Any]
    told: Answered


@pytest.mark.parametrize("cut", [False, True], ids=["notified", "notifications-cut"])
def test_no_call_begins_after_a_stop_that_another_process_took(
    cut: bool, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    told = _compare(_stops(tmp_path, "sqlite", FEW, cut=cut))
    record_property("told", f"stops by another process, SQLite{_how(cut)}: {told}")


@pytest.mark.soak
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("cut", [False, True], ids=["notified", "notifications-cut"])
@pytest.mark.parametrize("store", STORES)
def test_no_call_begins_after_many_stops_on_every_store(
    store: str, cut: bool, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    told = _compare(_stops(tmp_path, store, MANY, cut=cut))
    record_property("told", f"stops by another process, {store}{_how(cut)}: {told}")


def _how(cut: bool) -> str:
    return ", notifications cut" if cut else ""


def _stops(folder: Path, store: str, times: int, *, cut: bool) -> list[Stopped]:
    """Run threads in one process, and stop each by the other."""
    url = STORES[store](folder)
    options = ["--deaf"] if cut else []
    module = "tests.support.busy_target"
    with (
        Target(folder, store=url, module=module, options=options) as runner,
        Target(folder, store=url, module=module) as other,
        ThreadPoolExecutor(AT_ONCE) as pool,
    ):
        numbers = range(times)
        return list(pool.map(lambda number: _stop(runner, other, f"t{number}"), numbers))


def _stop(runner: Target, other: Target, thread: str) -> Stopped:
    streams: list[Answered] = []
    reader = threading.Thread(target=lambda: streams.append(runner.send(thread, "go")))
    reader.start()
    try:
        while len(_times(runner, thread, "call")) < 2:
            time.sleep(0.01)
        time.sleep(random.Random(thread).uniform(0, 0.1))
        result = other.client.post(f"/agents/target/threads/{thread}/stop").json()
    finally:
        reader.join(30)
    (stored,) = _times(other, thread, "stored")
    (heard,) = _times(other, thread, "heard")
    looked, begun = (
        [at - stored for at in _times(other, thread, what)] for what in ("look", "call")
    )
    return Stopped(looked, begun, heard - stored, result, streams[0])


def _times(target: Target, thread: str, what: str) -> list[float]:
    return [
        line["at"] for line in target.effects if (line["thread"], line["what"]) == (thread, what)
    ]


def _compare(stops: list[Stopped]) -> str:
    for stop in stops:
        # The look of each call comes first; the last one may have kept its call from beginning.
        assert len(stop.looked) - len(stop.begun) in (0, 1)
        assert all(at <= 0 for at in stop.looked[: len(stop.begun)]), (stop.looked, stop.begun)
        assert stop.result["status"] == "success"
        assert stop.told.outcome == "cancelled"
        # The process that took the stop knows how far the other one's run had come.
        assert stop.result["interruptedAtIteration"] in (len(stop.begun), len(stop.begun) + 1)
    heard = sorted(stop.heard for stop in stops)
    # At the next call; what does not act hears by the poll.
    assert heard[-1] < PATIENCE, heard
    late = sum(at > AFTER for stop in stops for at in stop.begun)
    after = sum(at > 0 for stop in stops for at in stop.begun) - late
    return (
        f"{len(stops)} stops, {late} calls begun more than {AFTER * 1000:.0f} ms after the request "
        f"was stored, {after} within; heard after {heard[len(heard) // 2] * 1000:.0f} ms (median), "
        f"{heard[-1] * 1000:.0f} ms at most"
    )
