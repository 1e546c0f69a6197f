"""The store contract (stores/base.py), sentence by sentence: stop requests, deletion, pruning."""

from dataclasses import replace
from typing import Any

import pytest

from agui_bridge.errors import Conflict
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.stores.base import ABSENT, Expected, Store
from tests.stores.samples import (
    KEY,
    LEASE,
    OTHER,
    ask,
    idle,
    interrupted,
    message,
    put,
    receipt,
    running,
    stop,
)
from tests.support.clock import FakeClock

# --- stop requests ---


async def test_a_stop_request_changes_no_version_and_touches_nothing(
    store: Store, clock: FakeClock
) -> None:
    before = (await put(store, running())).record
    clock.advance(5)

    assert await store.request_stop(KEY, stop()) == replace(before, stop=stop())
    assert (await store.load(KEY)).record == replace(before, stop=stop())


async def test_a_stop_request_for_a_missing_thread_writes_nothing(store: Store) -> None:
    assert await store.request_stop(KEY, stop()) is None
    assert (await store.load(KEY)).record is None


async def test_a_commit_leaves_the_stop_request(store: Store) -> None:
    done = await put(store, running(stop=stop("bogus")))
    assert done.record.stop is None
    await store.request_stop(KEY, stop())
    done = await put(store, replace(done.record, stop=None), LEASE)

    assert done.record.stop_requested == stop()
    assert (await store.load(KEY)).record == done.record


@pytest.mark.parametrize(
    ("second", "result"),
    [
        (stop(until=90), stop(until=50)),
        (stop(until=20), stop(until=20)),
        (stop(force=True, until=90), stop(force=True, until=90)),
        (stop(force=True, until=20), stop(force=True, until=20)),
    ],
)
async def test_a_second_stop_request_sharpens(store: Store, second: Any, result: Any) -> None:
    await put(store, running())
    await store.request_stop(KEY, stop(until=50))
    record = await store.request_stop(KEY, second)

    assert record is not None
    assert record.stop == result


async def test_force_is_never_taken_back(store: Store) -> None:
    await put(store, running())
    await store.request_stop(KEY, stop(force=True, until=20))
    record = await store.request_stop(KEY, stop(until=90))

    assert record is not None
    assert record.stop == stop(force=True, until=20)


async def test_a_late_request_for_an_earlier_run_displaces_none_that_counts(
    store: Store,
) -> None:
    await put(store, running())
    await store.request_stop(KEY, stop("earlier"))
    record = await store.request_stop(KEY, stop())
    assert record is not None
    assert record.stop == stop()

    record = await store.request_stop(KEY, stop("earlier", force=True))
    assert record is not None
    assert record.stop == stop()


async def test_stops_are_found_by_the_tokens_of_their_runs(store: Store) -> None:
    other_scope = replace(OTHER, scope="other")
    for key, token in ((KEY, "one"), (OTHER, "two"), (other_scope, "three")):
        await put(store, running(key, token))
        await store.request_stop(key, stop(token))

    found = await store.stops(["one", "three", "unknown"])
    assert sorted(request.token for request in found) == ["one", "three"]
    assert await store.stops([]) == []
    assert len(await store.stops([f"t{n}" for n in range(2000)] + ["two"])) == 1


async def test_of_several_stop_requests_only_the_one_that_is_stored_is_found(store: Store) -> None:
    await put(store, running())
    await store.request_stop(KEY, stop("earlier"))
    await store.request_stop(KEY, stop(until=50))
    await store.request_stop(KEY, stop(force=True, until=20))

    assert await store.stops(["earlier", "token"]) == [stop(force=True, until=20)]
    await store.delete(KEY, Expected(version=1000))
    assert await store.stops(["earlier", "token"]) == []


# --- deletion ---


async def test_a_deleted_thread_leaves_nothing_behind(store: Store) -> None:
    await put(
        store,
        interrupted(),
        interrupts=(ask("a"),),
        receipts=(receipt(),),
        messages=(message("m", 1),),
    )
    await put(store, idle(OTHER), messages=(message("m", 1),))
    await store.delete(KEY, Expected(version=1000))

    loaded = await store.load(KEY, ["a"], messages=True)
    assert loaded == Loaded(None, loaded.now)
    assert await store.history(KEY) == []
    assert await store.list_interrupts("scope") == []
    assert len(await store.history(OTHER)) == 1
    await put(store, idle())
    assert (await store.load(KEY, ["a"], messages=True)).messages == ()


@pytest.mark.parametrize(
    "expected", [ABSENT, Expected(version=1), Expected(lease="other"), Expected(2, "token")]
)
async def test_a_thread_that_is_not_as_expected_is_not_deleted(
    store: Store, expected: Expected
) -> None:
    before = await put(store, running())

    with pytest.raises(Conflict):
        await store.delete(KEY, expected)
    assert (await store.load(KEY)).record == before.record


@pytest.mark.parametrize("expected", [ABSENT, Expected(version=1000), LEASE])
async def test_a_missing_thread_is_not_deleted(store: Store, expected: Expected) -> None:
    with pytest.raises(Conflict):
        await store.delete(KEY, expected)


async def test_a_recreated_thread_does_not_match_an_old_version(store: Store) -> None:
    await put(store, idle(version=1000))
    await store.delete(KEY, Expected(version=1000))
    await put(store, idle(version=5000))

    with pytest.raises(Conflict):
        await put(store, idle(), Expected(version=1000))
    with pytest.raises(Conflict):
        await store.delete(KEY, Expected(version=1000))


async def test_prune_deletes_idle_threads_that_were_not_touched(
    store: Store, clock: FakeClock
) -> None:
    names = ("a", "b", "c")
    for key in (replace(KEY, thread=name) for name in names):
        await put(store, idle(key), messages=(message("m", 1),))
        clock.advance(1)
    await put(store, running(replace(KEY, thread="running")))
    await put(store, interrupted(replace(KEY, thread="interrupted")))
    clock.advance(98)

    # a, b and c are 101, 100 and 99 seconds old.
    assert await store.prune(102) == 0
    assert await store.prune(100, dry_run=True) == 2
    assert await store.prune(100, limit=1, dry_run=True) == 1
    assert await store.prune(100, limit=1) == 1
    rows = await store.list_threads("scope", "agent")
    assert sorted(row.record.key.thread for row in rows) == ["b", "c", "interrupted", "running"]
    assert await store.prune(100) == 1
    assert await store.prune(0) == 1
    assert len(await store.list_threads("scope", "agent")) == 2
