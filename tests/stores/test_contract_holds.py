"""The store contract (stores/base.py), sentence by sentence: pauses that a process holds."""

from dataclasses import replace

import pytest

from agui_bridge.errors import Conflict, Fenced
from agui_bridge.protocol.contract.end_transitions import let_go
from agui_bridge.protocol.threads.record_parts import LeaseTerm, PauseHold
from agui_bridge.stores.base import ABSENT, Due, Expected, Renewed, Store
from tests.stores.samples import (
    KEY,
    LEASE,
    LEASE_SECONDS,
    OTHER,
    ask,
    idle,
    interrupted,
    put,
    running,
)
from tests.support.clock import FakeClock

HOLD = PauseHold("process.held", LeaseTerm(0.0))


async def held(store: Store) -> PauseHold:
    """A thread whose pause is held for LEASE_SECONDS; gives the hold as it is stored."""
    paused = interrupted(KEY, hold=HOLD)
    committed = await put(store, paused, ABSENT, interrupts=(ask("a"),))
    assert committed.record.hold is not None
    return committed.record.hold


async def test_a_hold_ends_by_the_clock_of_the_store(store: Store, clock: FakeClock) -> None:
    hold = await held(store)
    assert hold == PauseHold(HOLD.token, LeaseTerm(clock.time() + LEASE_SECONDS, clock.time()))
    assert (await store.load(KEY)).hold == hold
    clock.advance(LEASE_SECONDS - 1.0)
    assert await store.due() == []

    clock.advance(1.0)

    found = await store.load(KEY)
    assert (found.hold, found.hold_over) == (None, True)
    assert await store.due() == [Due(KEY, "lease")]


async def test_a_renewed_hold_ends_later_and_changes_no_version(
    store: Store, clock: FakeClock
) -> None:
    await held(store)
    before = (await store.load(KEY)).record
    assert before is not None
    clock.advance(20.0)

    renewed = await store.renew({HOLD.token: KEY}, 50.0)

    assert renewed == Renewed(frozenset({HOLD.token}), clock.time())
    term = LeaseTerm(clock.time() + 50.0, clock.time())
    assert (await store.load(KEY)).record == replace(before, hold=PauseHold(HOLD.token, term))
    # Whoever has looked before may answer all the same.
    answered = replace(ask("a"), position=0)
    await put(store, before, Expected(version=before.version), interrupts=(answered,))


async def test_a_hold_that_is_over_or_anothers_is_not_renewed(
    store: Store, clock: FakeClock
) -> None:
    await held(store)
    assert await store.renew({"process.other": KEY, "b": OTHER}, 50.0) == Renewed(
        frozenset(), clock.time()
    )
    clock.advance(LEASE_SECONDS)
    assert (await store.renew({HOLD.token: KEY}, 50.0)).tokens == frozenset()
    assert (await store.load(KEY)).hold_over


async def test_no_hold_is_renewed_of_a_pause_that_was_claimed_or_closed(store: Store) -> None:
    await held(store)
    record = (await store.load(KEY)).record
    assert record is not None
    await put(store, running(), Expected(version=record.version))
    assert (await store.renew({HOLD.token: KEY}, 50.0)).tokens == frozenset()
    await put(store, idle(), LEASE)
    assert (await store.renew({HOLD.token: KEY}, 50.0)).tokens == frozenset()


async def test_a_hold_renewed_for_no_time_is_over_at_once(store: Store) -> None:
    await held(store)
    assert (await store.renew({HOLD.token: KEY}, 0.0)).tokens == {HOLD.token}
    assert (await store.load(KEY)).hold_over
    assert await store.due() == [Due(KEY, "lease")]


async def test_an_answer_leaves_the_hold_and_its_time(store: Store, clock: FakeClock) -> None:
    hold = await held(store)
    found = await store.load(KEY)
    assert found.record is not None
    clock.advance(5.0)
    answered = await put(
        store, found.record, Expected(version=found.record.version), lease_seconds=None
    )
    assert answered.record.hold == hold
    assert (await store.load(KEY)).hold == hold


async def test_who_lets_go_leaves_a_pause_that_is_due_no_more(
    store: Store, clock: FakeClock
) -> None:
    await held(store)
    clock.advance(LEASE_SECONDS)
    loaded = await store.load(KEY)
    assert loaded.record is not None
    change = let_go(loaded)
    await put(store, change.record, Expected(version=loaded.record.version), lease_seconds=None)
    found = await store.load(KEY)
    assert (found.record and found.record.hold, found.hold_over) == (None, False)
    assert await store.due() == []


async def test_a_hold_is_no_lease_to_write_under(store: Store) -> None:
    await held(store)
    with pytest.raises((Fenced, Conflict)):
        await put(store, idle(), LEASE)


async def test_a_hold_that_ends_too_late_is_noted_and_over_in_time(
    store: Store, clock: FakeClock
) -> None:
    await held(store)
    clock.advance(-10_000.0)
    await store.load(KEY)
    clock.advance(LEASE_SECONDS + 1.0)
    assert (await store.load(KEY)).hold_over
