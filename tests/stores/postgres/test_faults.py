"""PostgreSQL that is lost, slow or unwilling: nothing hangs, nothing is written twice."""

import asyncio
import os
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import asyncpg
import pytest

from agui_bridge.errors import Conflict, StoreUnavailable
from agui_bridge.protocol.threads.records import lease_token
from agui_bridge.stores.base import ABSENT, Change, Committed, Expected
from agui_bridge.stores.postgres.store import PostgresStore
from tests.stores.processes import racers
from tests.stores.samples import KEY, LEASE, OTHER, idle, message, put, running, stop, write_id
from tests.support.postgres import emptied, execute, server
from tests.support.proxy import Proxy, proxy_to
from tests.support.waiting import eventually

ME = f"agui-bridge-test-{os.getpid()}"
"""What the connections of these tests call themselves, so that only they are terminated."""


@pytest.fixture
def url() -> str:
    return f"{emptied()}&application_name={ME}&command_timeout=3"


@pytest.fixture
async def proxy() -> AsyncIterator[Proxy]:
    async with proxy_to(server().port) as proxy:
        yield proxy


@pytest.fixture
async def store(url: str, proxy: Proxy) -> AsyncIterator[PostgresStore]:
    """A store with one connection, which leads through the proxy."""
    by_proxy = url.replace(f":{server().port}/", f":{proxy.port}/")
    store = await PostgresStore.open(
        by_proxy.replace("command_timeout=3", "command_timeout=2&pool_size=1&listen=off")
    )
    yield store
    proxy.down = False
    proxy.go_on()
    await store.aclose()


async def count_up(store: PostgresStore, expected: Expected, write: str) -> Committed:
    """Commit a version and a message that belong together."""
    number = 0 if expected.version is None else expected.version + 1
    change = Change(idle(version=0), messages=(message(f"m{number}", number),))
    return await store.commit(KEY, change, expected, write)


async def versions(store: PostgresStore) -> tuple[int, int]:
    """The thread's version, and how many messages it has."""
    loaded = await store.load(KEY, messages=True)
    assert loaded.record is not None
    return loaded.record.version, len(loaded.messages)


# --- connections that are lost ---


@pytest.mark.parametrize("fault", ["lose request", "lose reply"])
async def test_a_commit_that_meets_a_lost_connection_takes_place_once(
    store: PostgresStore, proxy: Proxy, fault: Any
) -> None:
    await count_up(store, ABSENT, write_id())
    await count_up(store, Expected(version=0), write_id())
    proxy.fault = fault

    done = await count_up(store, Expected(version=1), write_id())

    assert proxy.lost == 1
    assert done.record.version == 2
    assert await versions(store) == (2, 3)


async def test_an_owners_write_whose_acknowledgement_was_lost_takes_place_once(
    store: PostgresStore, proxy: Proxy
) -> None:
    await put(store, running())
    await put(store, running(), LEASE)
    proxy.fault = "lose reply"

    done = await put(store, running(state="last"), LEASE)

    assert proxy.lost == 1
    assert done.record.version == 1002
    assert (await store.load(KEY)).record == done.record


async def test_a_creation_whose_acknowledgement_was_lost_is_found_as_the_own_one(
    store: PostgresStore, proxy: Proxy
) -> None:
    await put(store, idle(OTHER))
    proxy.fault = "lose reply"

    done = await count_up(store, ABSENT, "w")

    assert proxy.lost == 1
    assert (done.record.version, done.record.write_id) == (0, "w")


async def test_a_lost_acknowledgement_and_no_server_is_an_unavailable_store_and_a_retry_succeeds(
    store: PostgresStore, proxy: Proxy
) -> None:
    await count_up(store, ABSENT, write_id())
    await count_up(store, Expected(version=0), write_id())
    proxy.fault = "lose reply"
    proxy.down = True

    with pytest.raises(StoreUnavailable):
        await count_up(store, Expected(version=1), "lost")
    assert proxy.lost == 1
    proxy.down = False

    assert (await count_up(store, Expected(version=1), "lost")).record.version == 2
    assert await versions(store) == (2, 3)


async def test_a_deletion_whose_acknowledgement_was_lost_is_not_tried_again(
    store: PostgresStore, proxy: Proxy
) -> None:
    version = 1000
    for _ in range(2):
        proxy.fault = None
        await put(store, idle(version=version))
        await store.delete(KEY, Expected(version=version))
    await put(store, idle(version=version))
    proxy.fault = "lose reply"

    with pytest.raises(StoreUnavailable):
        await store.delete(KEY, Expected(version=version))
    assert (await store.load(KEY)).record is None


async def test_a_store_that_stalls_is_unavailable_in_time_and_then_recovers(
    store: PostgresStore, proxy: Proxy
) -> None:
    await put(store, idle())
    proxy.stall()

    began = time.monotonic()
    calls = [store.load(KEY), store.ping(), put(store, idle(), Expected(version=1000))]
    results = await asyncio.gather(*calls, return_exceptions=True)
    took = time.monotonic() - began
    proxy.go_on()

    assert {type(result) for result in results} == {StoreUnavailable}
    assert took < 5
    assert (await store.load(KEY)).record is not None


async def test_a_server_that_is_down_is_unavailable_and_back_without_a_restart(
    store: PostgresStore, proxy: Proxy
) -> None:
    await put(store, idle())
    proxy.take_down()
    for _ in range(3):
        with pytest.raises(StoreUnavailable, match="connection"):
            await store.load(KEY)

    proxy.down = False
    assert (await store.load(KEY)).record is not None


async def test_watching_goes_on_when_the_connection_that_listens_is_lost(
    url: str, proxy: Proxy
) -> None:
    by_proxy = url.replace(f":{server().port}/", f":{proxy.port}/")
    store, other = await PostgresStore.open(by_proxy), await PostgresStore.open(url)
    notifications = store._announcements.get()
    async with asyncio.timeout(20):
        changes = store.watch(KEY)
        await anext(changes)
        expected = ABSENT
        for number in range(2):
            await eventually(lambda: notifications.alive)
            token = lease_token(other.process, f"r{number}")
            done = await put(other, running(token=token), expected)
            assert (await store.load(KEY)).runs(token)
            waiting = asyncio.ensure_future(anext(changes))
            await put(other, idle(), Expected(lease=token))
            await waiting
            expected = Expected(version=done.record.version + 1)
            proxy.cut()
            await eventually(lambda: not notifications.alive)
        await changes.aclose()
    await store.aclose()
    await other.aclose()


# --- sessions that an operator ends ---


async def test_commits_whose_sessions_are_terminated_take_place_once_each(url: str) -> None:
    store = await PostgresStore.open(url)
    keys = [replace(KEY, thread=f"t{n}") for n in range(8)]
    killing = True

    async def kill() -> None:
        control = await asyncpg.connect(server().dsn)
        while killing:
            await control.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE application_name = $1 AND random() < 0.4",
                ME,
            )
            await asyncio.sleep(0.02)
        await control.close()

    async def work(key: Any) -> int:
        acknowledged = 0
        expected = ABSENT
        while acknowledged < 30:
            change = Change(idle(version=0), messages=(message(f"m{acknowledged}", acknowledged),))
            write = write_id()
            while True:
                with suppress(StoreUnavailable):
                    done = await store.commit(key, change, expected, write)
                    break
            assert done.record.version == acknowledged, "a commit took place twice or never"
            expected = Expected(version=done.record.version)
            acknowledged += 1
        return acknowledged

    killer = asyncio.ensure_future(kill())
    async with asyncio.timeout(50):
        assert await asyncio.gather(*map(work, keys)) == [30] * len(keys)
    killing = False
    await killer
    for key in keys:
        assert len((await store.load(key, messages=True)).messages) == 30
    await store.aclose()


@pytest.mark.parametrize("acknowledged", [1, 50])
async def test_what_a_killed_process_had_acknowledged_is_there(url: str, acknowledged: int) -> None:
    with racers("fill", url, 1) as (process,):
        last = [int(process.hear()) for _ in range(acknowledged)][-1]
        process.kill()
        rest = process.rest()

    store = await PostgresStore.open(url)
    loaded = await store.load(KEY, messages=True)
    await store.aclose()
    assert loaded.record is not None
    assert loaded.record.version >= (int(rest[-1]) if rest else last)
    assert [row.position for row in loaded.messages] == list(range(loaded.record.version + 1))


# --- interruptions ---


async def test_a_cancelled_commit_is_wholly_there_or_not_at_all(url: str) -> None:
    store = await PostgresStore.open(url)
    await put(store, idle(version=0, state=0))
    acknowledged, cancelled = 1, 0
    for n in range(150):
        task = asyncio.ensure_future(add_one(store))
        # From before the commit starts until after it is done.
        for _ in range(n % 30):
            await asyncio.sleep(0.0002 if n % 2 else 0)
        task.cancel()
        try:
            await task
            acknowledged += 1
        except asyncio.CancelledError:
            cancelled += 1
        loaded = await store.load(KEY, messages=True)
        assert loaded.record is not None
        assert loaded.record.version == loaded.record.state == len(loaded.messages)
        assert loaded.record.version + 1 >= acknowledged

    assert cancelled
    await add_one(store)
    await store.aclose()
    (rows,) = execute(
        server().dsn,
        "SELECT count(*) FROM pg_stat_activity"
        f" WHERE application_name = '{ME}' AND state LIKE 'idle in%'",
    )
    assert rows[0][0] == 0


async def add_one(store: PostgresStore) -> None:
    while True:
        record = (await store.load(KEY)).record
        assert record is not None
        number = record.version + 1
        change = Change(replace(record, state=number), messages=(message(f"m{number}", number),))
        # A commit that was cancelled before this one may still be under way.
        with suppress(Conflict):
            await store.commit(KEY, change, Expected(version=record.version), write_id())
            return


async def test_closing_waits_for_a_write_whose_caller_is_gone(url: str) -> None:
    store = await PostgresStore.open(url)
    task = asyncio.ensure_future(put(store, idle()))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    await store.aclose()
    await store.aclose()

    with pytest.raises(StoreUnavailable, match="closed"):
        await store.load(KEY)
    again = await PostgresStore.open(url)
    assert (await again.load(KEY)).record is not None
    await again.aclose()


async def test_writes_deletions_and_pruning_at_once_meet_no_deadlock(url: str) -> None:
    stores = [await PostgresStore.open(url) for _ in range(3)]
    keys = [replace(KEY, thread=f"t{n}") for n in range(4)]
    outcomes: list[str] = []

    async def one(number: int) -> None:
        store, key = stores[number % 3], keys[number % 4]
        for turn in range(25):
            record = (await store.load(key, messages=True)).record
            expected = ABSENT if record is None else Expected(version=record.version)
            rows = tuple(message(f"m{n}", n) for n in range(5))
            try:
                match (number + turn) % 5:
                    case 0 if record is not None:
                        await store.delete(key, expected)
                    case 1:
                        await store.prune(0)
                    case 2:
                        await store.request_stop(key, stop())
                    case 3:
                        await put(store, running(key), expected, messages=rows)
                    case _:
                        await put(store, idle(key), expected, messages=rows[::-1])
                outcomes.append("done")
            except Conflict:
                outcomes.append("conflict")

    async with asyncio.timeout(50):
        await asyncio.gather(*map(one, range(12)))
    for store in stores:
        await store.aclose()
    assert len(outcomes) == 300
    assert outcomes.count("done") > 50
