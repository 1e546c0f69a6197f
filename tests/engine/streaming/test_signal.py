"""Flags that can be waited for."""

import asyncio

from agui_bridge.adapters import StopSignal
from agui_bridge.engine.streaming.clock import SystemClock
from agui_bridge.engine.streaming.pipe import Signal
from tests.support.agents import eventually, settle
from tests.support.clock import FakeClock


async def test_all_who_wait_go_on_once_it_is_set() -> None:
    signal, clock = Signal(), FakeClock()
    waiting = [asyncio.create_task(signal.wait()) for _ in range(2)]
    limited = asyncio.create_task(signal.wait_until(clock, 5))
    await settle()
    assert not any(task.done() for task in (*waiting, limited))
    signal.set()
    await asyncio.gather(*waiting)
    assert await limited is True
    assert clock.sleepers == 0


async def test_who_comes_when_it_is_set_does_not_wait() -> None:
    signal = Signal()
    signal.set()
    await asyncio.wait_for(signal.wait(), 1)
    assert await signal.wait_until(FakeClock(), 5) is True


async def test_it_is_waited_for_no_longer_than_the_clock_says() -> None:
    signal, clock = Signal(), FakeClock()
    limited = asyncio.create_task(signal.wait_until(clock, 5))
    await settle()
    clock.advance(4.9)
    await settle()
    assert not limited.done()
    clock.advance(0.1)
    assert await limited is False
    assert await signal.wait_until(clock, 0) is False


async def test_it_can_be_taken_back_and_waited_for_again() -> None:
    signal = Signal()
    signal.set()
    signal.clear()
    assert not signal.is_set()
    assert await signal.wait_until(SystemClock(), 0.001) is False


async def test_who_stops_waiting_leaves_nothing_behind() -> None:
    signal, clock = Signal(), FakeClock()
    waiting = [asyncio.create_task(signal.wait()), asyncio.create_task(signal.wait_until(clock, 5))]
    await settle()
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    assert clock.sleepers == 0
    signal.set()
    assert signal.is_set()


async def test_a_child_signal_is_set_with_its_parent_and_never_the_other_way() -> None:
    parent = StopSignal()
    child = parent.child()
    child.request()
    assert (child.requested, parent.requested) == (True, False)

    parent.request()
    parent.request(force=True)
    assert child.force
    late = parent.child()
    assert late.requested and late.force
    await eventually(lambda: child.requested)
    await late
