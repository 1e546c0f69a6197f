"""Runs that sleep while processes die: one of those that live wakes each, once, at its time."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.processes.conftest import races
from tests.support.target import Target
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.soak, pytest.mark.timeout(600)]

FAR = 86400.0


def sleepers(targets: Callable[..., Target], number: int) -> list[Target]:
    """Processes of which the first one wakes nobody."""
    module = "tests.processes.sleeping_target"
    first = targets(module=module, options=("--sweep", "0"))
    return [first, *(targets(module=module) for _ in range(number - 1))]


@races(few=12, many=300)
def test_runs_whose_process_was_killed_are_woken_once_by_those_that_live(
    targets: Callable[..., Target], rounds: int
) -> None:
    # Those that wake whom they find are there before the first of them is to be woken, and after.
    first, *others = sleepers(targets, 3)
    names = [f"n{number}" for number in range(rounds)]
    with ThreadPoolExecutor(8) as pool:
        told = list(pool.map(lambda name: first.send(name, f"3 {name}").outcome, names))
    assert set(told) == {"interrupt"}

    first.kill()

    idle = [lambda name=name: others[0].thread(name)["status"] == "idle" for name in names]
    for is_idle in idle:
        wait_until(is_idle, 120.0)
    assert sorted(done["name"] for done in first.effects) == sorted(names)
    assert {done["woken"] for done in first.effects} == {"time"}
    for name in names[:3]:
        (timer,) = others[1].audit(name)
        assert [(entry["status"], entry["actor"]) for entry in timer["history"][:2]] == [
            ("open", "agent"),
            ("claimed", "bridge"),
        ]
        assert timer["status"] == "expired"


def test_what_sleeps_for_long_is_woken_early_or_stopped_by_another_process(
    targets: Callable[..., Target],
) -> None:
    first, other = sleepers(targets, 2)
    timers = [first.send(name, f"{FAR} {name}").events[-1] for name in ("a", "b")]
    ids: list[Any] = [event["outcome"]["interrupts"][0]["id"] for event in timers]
    first.kill()

    refused = other.send("a", "are you there?")
    assert refused.code == "INTERRUPT_PENDING"
    wake = [{"interruptId": ids[0], "status": "resolved", "payload": {}}]
    assert [other.send("a", resume=wake).outcome for _ in range(2)] == ["success", "success"]
    stopped = other.client.post("/agents/target/threads/b/stop").json()
    assert stopped["status"] == "success"
    assert [(done["name"], done["woken"]) for done in first.effects] == [("a", "early")]
