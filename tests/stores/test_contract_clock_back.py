"""The store contract (stores/base.py), sentence by sentence: a clock that was ahead."""

import pytest

from agui_bridge.errors import Conflict, Fenced
from agui_bridge.protocol.threads.records import ThreadKey
from agui_bridge.stores.base import Due, Expected, Store
from tests.stores.conftest import Opener
from tests.stores.samples import KEY, LEASE, LEASE_SECONDS, OTHER, idle, put, running
from tests.support.clock import FakeClock

DAYS = 48 * 3600.0


async def seen_lost(store: Store, key: ThreadKey = KEY) -> bool:
    return (await store.load(key)).run_lost


@pytest.mark.parametrize("noted_by", ["load", "due"])
async def test_a_lease_of_a_clock_that_was_ahead_is_over_after_its_length(
    opener: Opener, clock: FakeClock, noted_by: str
) -> None:
    store = await opener()
    await put(store, running())
    clock.advance(-DAYS)

    # Another process may be who comes back later: what was noted is in the store.
    assert (await store.due() == []) if noted_by == "due" else not await seen_lost(store)
    clock.advance(LEASE_SECONDS - 1)
    other = await opener()
    assert await other.due() == []
    assert not await seen_lost(other)
    clock.advance(1)
    assert await other.due() == [Due(KEY, "lease")]
    loaded = await other.load(KEY)
    assert loaded.run_lost
    assert loaded.record is not None

    # It is nobody's any more: its owner writes nothing, and who found it over recovers it.
    with pytest.raises(Fenced):
        await put(store, running(), LEASE)
    assert (await store.renew({"token": KEY}, LEASE_SECONDS)).tokens == frozenset()
    await put(other, idle(), Expected(version=loaded.record.version))
    assert await other.due() == []


@pytest.mark.soak
async def test_an_owner_that_renews_by_the_clock_as_it_is_now_goes_on(
    opener: Opener, clock: FakeClock
) -> None:
    """Also where each replica has a `lease_seconds` of its own: the lease's length counts."""
    store, watcher = await opener(), await opener()
    seconds = {"short": 3.0, "long": 300.0, "writing": 90.0}
    keys = {token: ThreadKey("scope", "agent", token) for token in seconds}
    for token, key in keys.items():
        await put(store, running(key, token), lease_seconds=seconds[token])
    clock.advance(-DAYS)

    for third in range(1, 301):
        assert await watcher.due() == []
        assert [await seen_lost(watcher, key) for key in keys.values()] == [False] * 3
        clock.advance(1)
        for token in ("short", "long"):
            if third % (seconds[token] // 3) == 0:
                renewed = await store.renew({token: keys[token]}, seconds[token])
                assert renewed.tokens == {token}
        if third % 30 == 0:
            writing = running(keys["writing"], "writing")
            await put(store, writing, Expected(lease="writing"), lease_seconds=90.0)

    # By the clock as it is now they end like all others.
    clock.advance(3)
    assert await watcher.due() == [Due(keys["short"], "lease")]
    clock.advance(297)
    assert {due.key.thread for due in await watcher.due()} == set(keys)


async def test_who_decided_before_the_owner_renewed_decides_again(
    store: Store, clock: FakeClock
) -> None:
    await put(store, running())
    clock.advance(-DAYS)
    await store.load(KEY)
    clock.advance(LEASE_SECONDS - 1)
    loaded = await store.load(KEY)
    assert loaded.record is not None
    assert (await store.renew({"token": KEY}, LEASE_SECONDS)).tokens == {"token"}
    clock.advance(1)

    assert not await seen_lost(store)
    with pytest.raises(Conflict):
        await put(store, idle(), Expected(version=loaded.record.version))


async def test_a_replica_whose_own_clock_is_ahead_keeps_what_it_renews(
    opener: Opener, clock: FakeClock
) -> None:
    owner, other = await opener(), await opener()
    await put(owner, running())
    for _ in range(6):
        clock.advance(-DAYS)
        assert await other.due() == []
        assert not await seen_lost(other)
        clock.advance(DAYS + LEASE_SECONDS / 3)
        assert not await seen_lost(owner)
        assert (await owner.renew({"token": KEY}, LEASE_SECONDS)).tokens == {"token"}


async def test_a_clock_that_is_set_back_again_begins_anew(store: Store, clock: FakeClock) -> None:
    await put(store, running())
    clock.advance(-DAYS)
    await store.load(KEY)
    clock.advance(-DAYS)
    assert await store.due() == []
    clock.advance(LEASE_SECONDS)
    assert await store.due() == [Due(KEY, "lease")]


async def test_many_such_leases_are_found_a_few_at_a_time(store: Store, clock: FakeClock) -> None:
    keys = [ThreadKey("scope", "agent", f"thread {n}") for n in range(7)]
    for key in keys:
        await put(store, running(key, key.thread))
        clock.advance(1)
    clock.advance(-DAYS)
    await put(store, running(OTHER, "fresh"), lease_seconds=1000.0)

    found: set[ThreadKey] = set()
    for _ in range(20):
        for due in await store.due(limit=3):
            found.add(due.key)
            loaded = await store.load(due.key)
            assert loaded.run_lost
            assert loaded.record is not None
            await put(store, idle(due.key), Expected(version=loaded.record.version))
        clock.advance(LEASE_SECONDS)
    assert found == set(keys)
