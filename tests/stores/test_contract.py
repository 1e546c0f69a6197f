"""The store contract (stores/base.py), sentence by sentence, on every backend: writing."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from agui_bridge.errors import Conflict, Fenced
from agui_bridge.protocol.threads.records import RunLease, ThreadStatus
from agui_bridge.stores.base import ABSENT, Change, Expected, Store
from tests.stores.conftest import SHARED, Opener
from tests.stores.processes import racers
from tests.stores.samples import (
    KEY,
    LEASE,
    LEASE_SECONDS,
    OTHER,
    ask,
    full_record,
    idle,
    interrupted,
    message,
    put,
    receipt,
    running,
    stop,
    write_id,
)
from tests.support.clock import FakeClock


async def everything(store: Store) -> list[Any]:
    """All that a store tells of KEY, but for the time."""
    loaded = await store.load(KEY, ["a", "b"], messages=True)
    return [
        replace(loaded, now=0.0),
        await store.history(KEY),
        await store.list_interrupts("scope"),
    ]


# --- versions and the store's own fields ---


async def test_a_new_thread_has_the_version_of_its_change(store: Store, clock: FakeClock) -> None:
    done = await store.commit(KEY, Change(idle(version=77)), ABSENT, "w")

    assert done.now == clock.time()
    assert done.record == idle(
        version=77, write_id="w", created_at=clock.time(), updated_at=clock.time()
    )
    assert (await store.load(KEY)).record == done.record


async def test_every_commit_steps_the_version_and_touches_the_thread(
    store: Store, clock: FakeClock
) -> None:
    first = await put(store, idle(version=77))
    clock.advance(5)
    second = await put(store, idle(version=1), Expected(version=77))

    assert second.record.version == 78
    assert second.record.created_at == first.now
    assert second.record.updated_at == first.now + 5
    assert (await store.load(KEY)).record == second.record


async def test_the_key_says_where_a_change_goes(store: Store) -> None:
    done = await store.commit(OTHER, Change(idle(KEY)), ABSENT, "w")

    assert done.record.key == OTHER
    assert (await store.load(OTHER)).record == done.record
    assert (await store.load(KEY)).record is None


# --- guards ---


async def test_an_existing_thread_is_not_created_again(store: Store) -> None:
    await put(store, idle())

    with pytest.raises(Conflict):
        await put(store, idle(version=5))


@pytest.mark.parametrize("version", [999, 1001, 0])
async def test_another_version_conflicts(store: Store, version: int) -> None:
    await put(store, idle(version=1000))

    with pytest.raises(Conflict):
        await put(store, idle(state="new"), Expected(version=version))


async def test_a_missing_thread_conflicts_with_a_version(store: Store) -> None:
    with pytest.raises(Conflict):
        await put(store, idle(), Expected(version=0))


async def test_a_missing_thread_fences_an_owner(store: Store) -> None:
    with pytest.raises(Fenced):
        await put(store, running(), LEASE)


async def test_the_owner_writes_until_its_lease_is_over(store: Store, clock: FakeClock) -> None:
    done = await put(store, running())
    clock.advance(LEASE_SECONDS - 0.5)
    done = await put(store, replace(done.record, state=1), LEASE, lease_seconds=None)
    clock.advance(0.5)

    with pytest.raises(Fenced):
        await put(store, replace(done.record, state=2), LEASE)
    assert (await store.load(KEY)).record == done.record


async def test_a_write_with_lease_seconds_renews_the_lease(store: Store, clock: FakeClock) -> None:
    done = await put(store, running())
    clock.advance(20)
    done = await put(store, done.record, LEASE, lease_seconds=25.0)

    now = clock.time()
    assert done.record.run == RunLease("run", "token", now + 25, "ann", given_at=now)
    clock.advance(24)
    await put(store, done.record, LEASE)


async def test_a_write_without_lease_seconds_leaves_the_lease(
    store: Store, clock: FakeClock
) -> None:
    first = await put(store, running())
    clock.advance(10)
    second = await put(store, first.record, LEASE, lease_seconds=None)

    assert second.record.run == first.record.run


async def test_another_token_is_fenced(store: Store) -> None:
    await put(store, running(token="other"))

    with pytest.raises(Fenced):
        await put(store, running(), LEASE)


@pytest.mark.parametrize("status", [ThreadStatus.IDLE, ThreadStatus.INTERRUPTED])
async def test_the_owner_of_a_run_that_has_ended_is_fenced(
    store: Store, status: ThreadStatus
) -> None:
    await put(store, running(status=status))

    with pytest.raises(Fenced):
        await put(store, running(), LEASE)


async def test_a_version_and_a_lease_must_both_hold(store: Store) -> None:
    await put(store, running())

    with pytest.raises(Conflict):
        await put(store, running(), Expected(version=1, lease="token"))
    with pytest.raises(Fenced):
        await put(store, running(), Expected(version=1000, lease="other"))
    await put(store, running(), Expected(version=1000, lease="token"))


@pytest.mark.parametrize("expected", [ABSENT, Expected(version=1), Expected(lease="other")])
async def test_a_conflicting_commit_writes_nothing_at_all(store: Store, expected: Expected) -> None:
    await put(store, running(), interrupts=(ask("a"),), messages=(message("m", 1),))
    before = await everything(store)

    with pytest.raises(Conflict):
        await put(
            store,
            interrupted(state="new"),
            expected,
            interrupts=(ask("a", reason="other"), ask("b")),
            receipts=(receipt(),),
            messages=(message("n", 2),),
            superseded=("m",),
        )
    assert await everything(store) == before


async def test_a_value_that_is_not_json_writes_nothing_at_all(store: Store) -> None:
    await put(store, idle(), messages=(message("m", 1),))
    before = await everything(store)

    for odd in (float("nan"), object()):
        with pytest.raises((ValueError, TypeError)):
            await put(store, idle(), Expected(version=1000), messages=(message("n", 2, x=odd),))
    assert await everything(store) == before


# --- retries ---


async def test_a_retry_finds_its_own_write(store: Store, clock: FakeClock) -> None:
    change = Change(running(), messages=(message("m", 1),), lease_seconds=LEASE_SECONDS)
    first = await store.commit(KEY, change, ABSENT, "w")
    await store.request_stop(KEY, stop())
    clock.advance(100)
    again = await store.commit(KEY, change, ABSENT, "w")

    assert again.record == replace(first.record, stop=stop())
    assert again.now == clock.time()
    assert (await store.load(KEY)).record == again.record


async def test_a_retry_of_an_owners_write_within_its_lease_is_written_once(
    store: Store, clock: FakeClock
) -> None:
    record = (await put(store, running())).record
    change = Change(replace(record, state=1), lease_seconds=LEASE_SECONDS)
    first = await store.commit(KEY, change, LEASE, "w")
    clock.advance(5)

    assert (await store.commit(KEY, change, LEASE, "w")).record == first.record
    assert (await store.load(KEY)).record == first.record


async def test_a_retry_after_the_lease_is_over_has_still_succeeded(
    store: Store, clock: FakeClock
) -> None:
    await put(store, running())
    change = Change(idle(ended=None, state="done"))
    first = await store.commit(KEY, change, LEASE, "w")
    clock.advance(100)

    assert (await store.commit(KEY, change, LEASE, "w")).record == first.record


async def test_a_retry_after_another_write_conflicts(store: Store) -> None:
    await store.commit(KEY, Change(idle()), ABSENT, "w")
    await put(store, idle(), Expected(version=1000))

    with pytest.raises(Conflict):
        await store.commit(KEY, Change(idle()), ABSENT, "w")


# --- several stores on one set of data ---


async def test_stores_see_each_others_commits(opener: Opener) -> None:
    one, other = await opener(), await opener()
    done = await put(one, full_record(), messages=(message("m", 1),))

    loaded = await other.load(done.record.key, messages=True)
    assert loaded.record == done.record
    assert loaded.messages == (message("m", 1),)


async def test_of_many_commits_at_once_one_wins(opener: Opener) -> None:
    stores = [await opener(), await opener()]
    await put(stores[0], idle(version=1))

    for version in range(1, 11):
        results = await asyncio.gather(
            *(put(stores[n % 2], idle(state=n), Expected(version=version)) for n in range(20)),
            return_exceptions=True,
        )
        won = [result for result in results if not isinstance(result, Conflict)]
        assert len(won) == 1
        assert not isinstance(won[0], BaseException)
        assert (await stores[1].load(KEY)).record == won[0].record


async def test_of_many_creations_at_once_one_wins(opener: Opener) -> None:
    stores = [await opener(), await opener()]

    results = await asyncio.gather(
        *(stores[n % 2].commit(KEY, Change(idle(state=n)), ABSENT, write_id()) for n in range(20)),
        return_exceptions=True,
    )

    assert sum(isinstance(result, Conflict) for result in results) == 19


@pytest.mark.parametrize(
    "rounds", [pytest.param(30, id="few"), pytest.param(500, id="many", marks=pytest.mark.soak)]
)
@pytest.mark.parametrize("backend", SHARED, ids=lambda backend: backend.name, indirect=True)
async def test_of_two_processes_one_wins_each_round(store: Store, url: str, rounds: int) -> None:
    await put(store, idle(version=0))

    with racers("race", url, 2) as both:
        assert [process.hear() for process in both] == ["ready", "ready"]
        for version in range(rounds):
            for process in both:
                process.tell(version)
            assert sorted(process.hear() for process in both) == ["lost", "won"]

    record = (await store.load(KEY)).record
    assert record is not None
    assert record.version == rounds


async def test_a_change_that_comes_after_its_time_is_refused(
    store: Store, clock: FakeClock
) -> None:
    record = (await put(store, idle())).record
    late = Change(idle(state="late"), not_after=clock.time() + 5)
    clock.advance(5)

    with pytest.raises(Conflict):
        await store.commit(KEY, late, Expected(version=record.version), write_id())

    assert (await store.load(KEY)).record == record
