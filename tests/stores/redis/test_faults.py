"""Lost answers, crashes, servers that take no writes, replicas that lag behind."""

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from agui_bridge.engine.repository import until_answered
from agui_bridge.engine.streaming.clock import SystemClock
from agui_bridge.errors import StoreUnavailable
from agui_bridge.stores.base import ABSENT, Change, Committed, Expected
from agui_bridge.stores.redis.store import RedisStore
from tests.stores.redis.conftest import SOON
from tests.stores.samples import KEY, LEASE, LEASE_SECONDS, idle, message, put, running, write_id
from tests.support.proxy import proxy_to
from tests.support.redis_server import RedisServer


async def commit_until_it_counts(
    store: RedisStore, change: Change, expected: Expected, write_id: str
) -> Committed:
    """Commit as the engine does, for 20 seconds at most."""
    deadline = time.monotonic() + 20
    return await until_answered(
        lambda: store.commit(KEY, change, expected, write_id),
        SystemClock(),
        lambda: time.monotonic() > deadline,
    )


# --- answers that get lost ---


async def test_a_commit_whose_answer_was_lost_is_repeated_and_counts_once(
    server: RedisServer,
) -> None:
    async with proxy_to(server.port) as proxy:
        store = await RedisStore.open(f"redis://127.0.0.1:{proxy.port}")
        # Else it looks later whether a server of the version before is there.
        await store.servers.look()
        first = await put(store, idle())
        # One that breaks off is tried once more by the store itself.
        proxy.fault, proxy.times = "lose reply", 2
        change = Change(idle(state="new"), messages=(message("m", 1),))
        with pytest.raises(StoreUnavailable):
            await store.commit(KEY, change, Expected(version=1000), "w")
        again = await store.commit(KEY, change, Expected(version=1000), "w")

        assert again.record.version == first.record.version + 1
        assert again.record.state == "new"
        assert (await store.load(KEY)).record == again.record
        await store.aclose()


async def test_a_cancelled_call_leaves_the_store_usable(store: RedisStore) -> None:
    await put(store, idle(version=0))
    for turns in range(20):
        before = (await store.load(KEY)).record
        assert before is not None
        change = Change(idle(state=before.version))
        call = asyncio.ensure_future(
            store.commit(KEY, change, Expected(version=before.version), write_id())
        )
        for _ in range(turns):
            await asyncio.sleep(0)
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        after = (await store.load(KEY)).record
        assert after is not None
        assert after.version in (before.version, before.version + 1)


async def test_a_deletion_whose_answer_was_lost_is_not_repeated(server: RedisServer) -> None:
    async with proxy_to(server.port) as proxy:
        store = await RedisStore.open(f"redis://127.0.0.1:{proxy.port}")
        # Else it looks later whether a server of the version before is there.
        await store.servers.look()
        # Once, so that the server knows the script.
        await put(store, idle())
        await store.delete(KEY, Expected(version=1000))
        await put(store, idle())
        proxy.fault = "lose reply"
        with pytest.raises(StoreUnavailable):
            await store.delete(KEY, Expected(version=1000))

        assert (await store.load(KEY)).record is None
        await store.aclose()


async def test_clients_that_are_cut_off_lose_nothing(
    store: RedisStore, server: RedisServer
) -> None:
    version = (await put(store, idle(version=0))).record.version
    killer = asyncio.ensure_future(_cut_off_for_ever(server))
    try:
        for number in range(60):
            change = Change(idle(state=number), messages=(message(f"m{number}", number),))
            done = await commit_until_it_counts(
                store, change, Expected(version=version), write_id()
            )
            assert done.record.version == version + 1
            version += 1
    finally:
        killer.cancel()

    assert len(await store.history(KEY)) == 60


async def _cut_off_for_ever(server: RedisServer) -> None:
    with server.client() as client:
        while True:
            client.execute_command("CLIENT KILL TYPE normal SKIPME yes")
            await asyncio.sleep(0.02)


async def test_a_frozen_server_is_unavailable_in_time_and_comes_back(
    store: RedisStore, server: RedisServer
) -> None:
    await put(store, idle(version=0))
    server.freeze()
    began = time.monotonic()
    try:
        change = Change(idle(state="late"))
        calls: list[Any] = [store.load(KEY), store.ping(), store.due()]
        calls += [store.commit(KEY, change, Expected(version=0), "w") for _ in range(3)]
        results = await asyncio.gather(*calls, return_exceptions=True)
    finally:
        server.thaw()

    assert all(isinstance(result, StoreUnavailable) for result in results)
    assert time.monotonic() - began < 20 * SOON
    done = await commit_until_it_counts(store, change, Expected(version=0), "w")
    assert (done.record.version, done.record.state) == (1, "late")


async def test_what_was_acknowledged_survives_kill_9_in_the_middle_of_commits(
    tmp_path: Path,
) -> None:
    with RedisServer(tmp_path) as server:
        store = await RedisStore.open(f"{server.url}?timeout={SOON}")
        version = (await put(store, idle(version=0))).record.version

        async def crash_and_restart() -> None:
            for _ in range(4):
                await asyncio.sleep(0.1)
                server.kill()
                await asyncio.to_thread(server.start)

        crashes = asyncio.ensure_future(crash_and_restart())
        number = 0
        while not crashes.done() or number < 20:
            change = Change(idle(), messages=(message(f"m{number}", number),))
            done = await commit_until_it_counts(
                store, change, Expected(version=version), write_id()
            )
            # Each change counts once, also when its first try had arrived.
            assert done.record.version == version + 1
            version, number = version + 1, number + 1
        await crashes

        assert [row.position for row in await store.history(KEY)] == list(range(number))
        await store.aclose()


@pytest.mark.parametrize(
    ("setting", "harm", "word"),
    [
        ("maxmemory", "1", "out of memory"),
        ("min-replicas-to-write", "1", "too few replicas"),
    ],
)
async def test_a_server_that_takes_no_writes_is_unavailable_and_the_log_says_why(
    store: RedisStore,
    server: RedisServer,
    caplog: pytest.LogCaptureFixture,
    setting: str,
    harm: str,
    word: str,
) -> None:
    done = await put(store, idle(version=0))
    with server.client() as client:
        client.config_set(setting, harm)
        try:
            with pytest.raises(StoreUnavailable, match=word):
                await put(store, idle(state="new"), Expected(version=0))
            assert (await store.load(KEY)).record == done.record
        finally:
            client.config_set(setting, "0")

    assert any(word in entry.message for entry in caplog.records if entry.levelname == "ERROR")
    await put(store, idle(state="new"), Expected(version=0))


async def test_a_server_that_became_a_replica_or_is_busy_is_unavailable(
    store: RedisStore, server: RedisServer
) -> None:
    await put(store, idle(version=0))
    with server.client() as client:
        client.replicaof("127.0.0.1", 1)
        try:
            with pytest.raises(StoreUnavailable, match="READONLY"):
                await put(store, idle(), Expected(version=0))
        finally:
            client.replicaof("NO", "ONE")
        client.config_set("lua-time-limit", 1)
        endless = asyncio.ensure_future(asyncio.to_thread(_run_endlessly, server))
        with pytest.raises(StoreUnavailable, match="BUSY"):
            while True:
                await store.ping()
        client.script_kill()
        await endless
        client.config_set("lua-time-limit", 5000)

    await put(store, idle(), Expected(version=0))


def _run_endlessly(server: RedisServer) -> None:
    with server.client() as client, pytest.raises(Exception, match="killed"):
        client.eval("while true do end", 0)


async def test_a_closed_store_says_so(server: RedisServer) -> None:
    store = await RedisStore.open(server.url)
    await store.aclose()

    with pytest.raises(StoreUnavailable, match="closed"):
        await store.load(KEY)


# --- replicas ---


async def test_with_wait_a_commit_counts_once_a_replica_has_it(server: RedisServer) -> None:
    store = await RedisStore.open(f"{server.url}?wait=1&wait_timeout=0.3")
    change = Change(running(), lease_seconds=LEASE_SECONDS)
    with pytest.raises(StoreUnavailable, match="0 of 1 replicas"):
        await store.commit(KEY, change, ABSENT, "w")
    # It was written here; a repetition must not take that for enough.
    with pytest.raises(StoreUnavailable, match="0 of 1 replicas"):
        await store.commit(KEY, change, ABSENT, "w")
    # What an owner stores on the way waits for nobody.
    await put(store, running(), LEASE, messages=(message("m", 1),))

    with server.client() as client:
        client.config_set("repl-diskless-sync-delay", 0)
    options = ("--replicaof", f"127.0.0.1 {server.port}")
    with RedisServer(None, *options) as replica, replica.client() as copy:
        done = await commit_until_it_counts(store, Change(idle()), LEASE, write_id())
        versions = await asyncio.to_thread(copy.hget, "agui:{0}:t:scope/agent/thread", "version")
        assert versions == str(done.record.version)
    await store.aclose()
