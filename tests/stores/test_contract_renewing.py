"""The store contract (stores/base.py), sentence by sentence: leases that are renewed together."""

from dataclasses import replace

import pytest

from agui_bridge.errors import Conflict, Fenced
from agui_bridge.protocol.threads.records import ThreadKey
from agui_bridge.stores.base import Due, Expected, Renewed, Store
from tests.stores.conftest import Opener
from tests.stores.samples import (
    KEY,
    LEASE,
    LEASE_SECONDS,
    OTHER,
    idle,
    interrupted,
    put,
    running,
    stop,
)
from tests.support.clock import FakeClock


def renewed(clock: FakeClock, *tokens: str) -> Renewed:
    return Renewed(frozenset(tokens), clock.time())


async def test_a_renewed_lease_ends_later_and_changes_only_the_version(
    store: Store, clock: FakeClock
) -> None:
    before = (await put(store, running(state={"a": 1}))).record
    clock.advance(20)
    assert await store.renew({"token": KEY}, 50) == renewed(clock, "token")

    assert before.run is not None
    lease = replace(before.run, ends_at=clock.time() + 50, given_at=clock.time())
    after = replace(before, version=before.version + 1, run=lease)
    assert (await store.load(KEY)).record == after
    clock.advance(49)
    assert await store.due() == []
    assert (await put(store, running(), LEASE)).record.version == after.version + 1


async def test_a_renewed_lease_is_over_when_its_time_is(store: Store, clock: FakeClock) -> None:
    await put(store, running())
    await store.renew({"token": KEY}, 50)
    clock.advance(50)

    assert await store.due() == [Due(KEY, "lease")]
    with pytest.raises(Fenced):
        await put(store, running(), LEASE)


async def test_each_lease_is_judged_by_itself(store: Store, clock: FakeClock) -> None:
    paused = ThreadKey("scope", "agent", "paused")
    over = ThreadKey("scope", "agent", "over")
    await put(store, running(over, "over"), lease_seconds=5.0)
    for key, token in ((KEY, "token"), (OTHER, "another"), (paused, "paused")):
        await put(store, running(key, token))
    await put(store, interrupted(paused), Expected(lease="paused"))
    clock.advance(5)
    before = [(await store.load(key)).record for key in (OTHER, paused, over)]
    leases = {
        "token": KEY,
        "taken over": OTHER,
        "paused": paused,
        "over": over,
        "gone": replace(KEY, thread="gone"),
        "idle": replace(KEY, scope="other"),
    }
    await put(store, idle(leases["idle"]))

    assert await store.renew(leases, LEASE_SECONDS) == renewed(clock, "token")
    assert [(await store.load(key)).record for key in (OTHER, paused, over)] == before


async def test_a_lease_that_is_over_is_not_brought_back(store: Store, clock: FakeClock) -> None:
    loaded = (await put(store, running())).record
    clock.advance(LEASE_SECONDS)

    assert await store.renew({"token": KEY}, 50) == renewed(clock)
    # Whoever found it over recovers the thread, as it was loaded.
    await put(store, idle(), Expected(version=loaded.version))


async def test_who_decided_on_a_thread_before_a_renewal_decides_again(store: Store) -> None:
    loaded = (await put(store, running())).record
    await store.renew({"token": KEY}, 50)

    with pytest.raises(Conflict):
        await put(store, idle(), Expected(version=loaded.version))


async def test_a_renewal_leaves_the_stop_request_and_the_retry_of_a_write(
    store: Store, clock: FakeClock
) -> None:
    done = await put(store, running())
    await store.request_stop(KEY, stop())
    await store.renew({"token": KEY}, 50)

    record = (await store.load(KEY)).record
    assert record is not None
    assert (record.stop_requested, record.write_id) == (stop(), done.record.write_id)
    assert [row.record for row in await store.list_threads("scope", "agent")] == [record]


async def test_many_leases_and_none_are_renewed_at_once(store: Store, clock: FakeClock) -> None:
    leases = {f"ü {n}": ThreadKey("scope", "ägent/ü", f"线程 {n}") for n in range(120)}
    for token, key in leases.items():
        await put(store, running(key, token))

    assert await store.renew(leases, 50) == renewed(clock, *leases)
    assert await store.renew({}, 50) == renewed(clock)
    clock.advance(LEASE_SECONDS)
    assert await store.due() == []


async def test_another_process_sees_a_renewed_lease(opener: Opener, clock: FakeClock) -> None:
    store, other = await opener(), await opener()
    await put(store, running())
    clock.advance(20)
    await other.renew({"token": KEY}, LEASE_SECONDS)
    clock.advance(20)

    loaded = await store.load(KEY)
    assert not loaded.run_lost
    assert (await put(store, running(), LEASE)).now == clock.time()
