"""A remembered decision and several processes: its last use is one's, and once revoked nobody's."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.processes.conftest import races
from tests.processes.remembering import make_remembering
from tests.support.target import Target, approve
from tests.support.waiting import PATIENCE

pytestmark = [pytest.mark.soak, pytest.mark.timeout(600)]

MODULE = "tests.processes.remembering"
AT_ONCE = 3
"""Runs that each process begins at the same moment."""


def remember(served: Target, name: str) -> None:
    """Approve a mail to somebody for good."""
    (interrupt,) = served.send(f"{name}-first", f"send {name}").interrupts
    answered = served.send(f"{name}-first", resume=[approve(interrupt, remember="scope")])
    assert answered.outcome == "success"


@races(few=4, many=100)
def test_the_only_use_is_made_once_by_one_of_two_processes(
    targets: Callable[..., Target], rounds: int
) -> None:
    both = targets(module=MODULE), targets(module=MODULE)

    with ThreadPoolExecutor(2 * AT_ONCE) as pool:
        for number in range(rounds):
            name = f"once-{number}"
            remember(both[number % 2], name)
            gate = threading.Barrier(2 * AT_ONCE)

            def begin(
                index: int, name: str = name, gate: threading.Barrier = gate
            ) -> tuple[str | None, str | None]:
                gate.wait(PATIENCE)
                run = both[index % 2].send(f"{name}-{index}", f"send {name}")
                return run.outcome, run.code

            told = list(pool.map(begin, range(2 * AT_ONCE)))
            asked = [("interrupt", None)] * (2 * AT_ONCE - 1)
            assert sorted(told) == [*asked, ("success", None)]

    executed = sorted(effect["to"] for effect in both[0].effects)
    assert executed == sorted(2 * [f"once-{number}-0@example.com" for number in range(rounds)])


@races(few=3, many=60)
async def test_once_revoking_has_returned_no_other_process_uses_it(
    targets: Callable[..., Target], rounds: int
) -> None:
    served = targets(module=MODULE)
    bridge = make_remembering(served.store, served.effects_file)
    used = {}
    try:
        for number in range(rounds):
            name = f"often-{number}"
            await asyncio.to_thread(remember, served, name)
            grant = (await bridge.grants())[0]
            one_ended, revoked = asyncio.Event(), asyncio.Event()
            runs = [run_on(served, f"{name}-{n}", one_ended, revoked) for n in range(AT_ONCE)]
            running = asyncio.gather(*runs)
            await asyncio.wait_for(one_ended.wait(), PATIENCE)
            assert await bridge.revoke_grant(grant.id)
            revoked.set()
            before, after = zip(*await running, strict=True)

            assert set(after) == {"interrupt"}
            (counted,) = [one for one in await bridge.grants() if one.id == grant.id]
            assert counted.uses == sum(before) >= 1
            used[f"{name}-0@example.com"] = counted.uses + 1
    finally:
        await bridge.aclose()
    executed = [effect["to"] for effect in served.effects]
    assert {to: executed.count(to) for to in executed} == used


async def run_on(
    served: Target, name: str, one_ended: asyncio.Event, revoked: asyncio.Event
) -> tuple[int, str | None]:
    """Begin one run after the other; how many were not asked before, and the one begun after."""
    unasked = 0
    for number in itertools.count():
        is_over = revoked.is_set()
        text = f"send {name.rpartition('-')[0]}"
        run = await asyncio.to_thread(served.send, f"{name}-{number}", text)
        assert run.code is None
        if is_over:
            return unasked, run.outcome
        unasked += run.outcome == "success"
        one_ended.set()
    raise AssertionError
