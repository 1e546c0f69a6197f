"""What is Redis's own: keys, round trips, lost answers, crashes, replicas, announcements."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from redis.crc import key_slot

from agui_bridge.engine.clock import SystemClock
from agui_bridge.engine.leases import commit_safely
from agui_bridge.errors import Conflict, StoreUnavailable
from agui_bridge.protocol.records import InterruptStatus, ThreadKey
from agui_bridge.stores.base import ABSENT, Change, Committed, Expected
from agui_bridge.stores.redis import RedisStore
from agui_bridge.stores.redis_address import Address
from agui_bridge.stores.redis_client import Client
from agui_bridge.stores.redis_hints import Hints
from tests.stores.samples import (
    KEY,
    LEASE,
    LEASE_SECONDS,
    OTHER,
    ask,
    idle,
    interrupted,
    message,
    put,
    receipt,
    running,
    stop,
    write_id,
)
from tests.support.proxy import proxy_to
from tests.support.redis_server import RedisServer

SOON = 0.4
"""Seconds after which a store in these tests gives a call up."""

pytestmark = pytest.mark.timeout(60)


@pytest.fixture(scope="module")
def shared_server() -> Iterator[RedisServer]:
    """A server of these tests' own, because they disturb it."""
    with RedisServer() as server:
        yield server


@pytest.fixture
def server(shared_server: RedisServer) -> RedisServer:
    with shared_server.client() as client:
        client.flushall()
    return shared_server


@pytest.fixture
async def store(server: RedisServer) -> AsyncIterator[RedisStore]:
    store = await RedisStore.open(f"{server.url}?timeout={SOON}")
    yield store
    await store.aclose()


async def commit_until_it_counts(
    store: RedisStore, change: Change, expected: Expected, write_id: str
) -> Committed:
    """Commit as the engine does, for 20 seconds at most."""
    deadline = time.monotonic() + 20
    return await commit_safely(
        store,
        SystemClock(),
        KEY,
        change,
        expected,
        write_id,
        give_up=lambda: time.monotonic() > deadline,
    )


def keys_of(server: RedisServer) -> set[str]:
    with server.client() as client:
        return set(client.keys("*"))


# --- keys ---


@pytest.mark.parametrize(
    "text", ["{", "}", "{0}", "a/b", "a:m", "a b", "a%2Fb", "", "\x00\n", "线程", "\ud800"]
)
async def test_no_id_can_name_the_key_of_another_thread(
    store: RedisStore, server: RedisServer, text: str
) -> None:
    keys = [ThreadKey(*parts) for parts in ((text, "a", "b"), ("a", text, "b"), ("a", "b", text))]
    for number, key in enumerate(dict.fromkeys(keys)):
        await put(store, idle(key, state=number), messages=(message(text, number),))

    for number, key in enumerate(dict.fromkeys(keys)):
        loaded = await store.load(key, messages=True)
        assert loaded.record is not None
        assert (loaded.record.state, loaded.messages) == (number, (message(text, number),))
    names = keys_of(server) - {"agui:schema"}
    assert all(name.startswith("agui:{0}:") for name in names)
    assert all(name.count("{") == name.count("}") == 1 for name in names)


async def test_one_prefix_knows_nothing_of_another(store: RedisStore, server: RedisServer) -> None:
    other = await RedisStore.open(f"{server.url}?prefix=other")
    await put(store, running(), lease_seconds=-1.0)

    assert (await other.load(KEY)).record is None
    assert await other.due() == []
    await other.aclose()


async def full(store: RedisStore, key: ThreadKey = KEY) -> None:
    """Store a thread that has everything, and is idle."""
    await put(store, running(key), lease_seconds=LEASE_SECONDS)
    await store.request_stop(key, stop())
    asks = (ask("a", expires_at=5.0), ask("b", status=InterruptStatus.ANSWERED))
    rows = (message("m", 1), message("n", 2))
    await put(store, interrupted(key), LEASE, interrupts=asks, receipts=(receipt(),), messages=rows)
    answered = ask("a", "other", status=InterruptStatus.ANSWERED, position=1)
    await put(store, idle(key), Expected(version=1001), interrupts=(answered,), superseded=("m",))


async def test_a_deleted_thread_leaves_no_key(store: RedisStore, server: RedisServer) -> None:
    await full(store)
    assert len(keys_of(server)) > 10
    await store.delete(KEY, Expected(version=1002))

    assert keys_of(server) == {"agui:schema"}


async def test_pruned_threads_leave_no_key(store: RedisStore, server: RedisServer) -> None:
    await full(store)
    await full(store, OTHER)

    assert await store.prune(0.0) == 2
    assert keys_of(server) == {"agui:schema"}


async def test_the_keys_of_a_thread_and_its_indexes_share_a_slot_on_a_cluster(
    server: RedisServer,
) -> None:
    store = await RedisStore.open(f"{server.url}?shards=64")
    for number in range(20):
        await full(store, replace(KEY, thread=f"t{number}"))
    await store.aclose()

    places: dict[str, set[int]] = {}
    names = keys_of(server) - {"agui:schema"}
    for name in names:
        _, _, rest = name.partition(":t:scope/agent/")
        if rest:
            base = name.partition(":t:")[0]
            slots = {key_slot(key.encode()) for key in names if key.startswith(base)}
            places.setdefault(rest.split(":")[0], set()).update(slots)
    assert len(places) == 20
    assert all(len(slots) == 1 for slots in places.values())
    assert len(set.union(*places.values())) > 10


# --- time and round trips ---


async def test_the_time_is_that_of_redis(store: RedisStore) -> None:
    before = time.time()
    done = await put(store, running())
    loaded = await store.load(KEY)

    # Server and test share a machine, hence a clock.
    assert before - 0.1 <= done.now <= loaded.now <= await store.ping() <= time.time() + 0.1
    assert done.record.run is not None
    assert done.record.run.ends_at == done.now + LEASE_SECONDS
    assert done.record.updated_at == done.now


async def test_a_load_and_a_commit_are_one_round_trip_each(server: RedisServer) -> None:
    async with proxy_to(server.port) as proxy:
        store = await RedisStore.open(f"redis://127.0.0.1:{proxy.port}")
        await full(store)
        # Once, so that the server knows the script.
        await store.load(KEY)
        before = proxy.requests
        await store.load(KEY, ["a"], messages=True)
        assert proxy.requests == before + 1
        await put(store, idle(), Expected(version=1002), messages=(message("o", 3),))
        assert proxy.requests == before + 2
        await store.aclose()


# --- answers that get lost ---


async def test_a_commit_whose_answer_was_lost_is_repeated_and_counts_once(
    server: RedisServer,
) -> None:
    async with proxy_to(server.port) as proxy:
        store = await RedisStore.open(f"redis://127.0.0.1:{proxy.port}")
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
        # Once, so that the server knows the script.
        await put(store, idle())
        await store.delete(KEY, Expected(version=1000))
        await put(store, idle())
        proxy.fault = "lose reply"
        with pytest.raises(StoreUnavailable):
            await store.delete(KEY, Expected(version=1000))

        assert (await store.load(KEY)).record is None
        await store.aclose()


# --- a server that fails ---


async def test_scripts_are_loaded_again_when_the_server_has_lost_them(
    store: RedisStore, server: RedisServer
) -> None:
    await full(store)
    with server.client() as client:
        client.script_flush()
        loaded = await store.load(KEY)
        client.script_flush()
        rows = await store.list_threads("scope", "agent")
        client.script_flush()
        done = await put(store, idle(), Expected(version=1002))
        client.script_flush()
        pruned = await store.prune(0.0)

    assert [row.record for row in rows] == [loaded.record]
    assert done.record.version == 1003
    assert pruned == 1


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

    assert [type(result) for result in results] == [StoreUnavailable] * 6
    assert time.monotonic() - began < 5 * SOON
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

    options = ("--replicaof", f"127.0.0.1 {server.port}", "--repl-diskless-sync-delay", "0")
    with RedisServer(None, *options) as replica, replica.client() as copy:
        done = await commit_until_it_counts(store, Change(idle()), LEASE, write_id())
        versions = await asyncio.to_thread(copy.hget, "agui:{0}:t:scope/agent/thread", "version")
        assert versions == str(done.record.version)
    await store.aclose()


# --- announcements ---


async def test_other_processes_hear_of_what_decides_and_not_of_messages(
    store: RedisStore, server: RedisServer
) -> None:
    heard: asyncio.Queue[ThreadKey] = asyncio.Queue()
    client = Client(Address.parse(server.url))
    hints = Hints(client, "agui:changes", heard.put_nowait)
    hints.start()
    await until_listening(server)

    await put(store, running())
    await put(store, running(), LEASE, messages=(message("m", 1),))
    await put(store, idle(OTHER))
    await store.request_stop(KEY, stop())
    await store.delete(OTHER, Expected(version=1000))
    async with asyncio.timeout(5):
        assert [await heard.get() for _ in range(4)] == [KEY, OTHER, KEY, OTHER]

    with server.client() as plain:
        plain.execute_command("CLIENT KILL TYPE pubsub")
    await until_listening(server)
    await put(store, idle(), LEASE)
    async with asyncio.timeout(5):
        assert await heard.get() == KEY
    assert heard.empty()
    await hints.aclose()
    await client.aclose()


async def until_listening(server: RedisServer) -> None:
    """Wait until somebody listens for changes."""
    async with asyncio.timeout(10):
        with server.client() as plain:
            # Redis tells nobody when somebody subscribes.
            while plain.pubsub_numsub("agui:changes")[0][1] == 0:
                await asyncio.sleep(0.01)


async def test_all_watchers_of_a_store_share_one_connection(
    store: RedisStore, server: RedisServer
) -> None:
    watchers = [store.watch(replace(KEY, thread=f"t{n}")) for n in range(5)]
    for watcher in watchers:
        await anext(watcher)
    await until_listening(server)

    with server.client() as plain:
        assert plain.pubsub_numsub("agui:changes") == [("agui:changes", 1)]
    for watcher in watchers:
        await watcher.aclose()


async def test_a_stranger_on_the_channel_does_no_harm(
    store: RedisStore, server: RedisServer
) -> None:
    changes = store.watch(KEY)
    await anext(changes)
    await until_listening(server)
    with server.client() as plain:
        for text in ("", "a", "///", "{}"):
            plain.publish("agui:changes", text)
    await put(store, idle())

    async with asyncio.timeout(5):
        await anext(changes)
    await until_listening(server)
    await changes.aclose()


# --- what a refusal is ---


async def test_the_script_refuses_what_the_rules_refuse(store: RedisStore) -> None:
    done = await put(store, running())

    with pytest.raises(Conflict, match="changed by somebody else"):
        await put(store, idle(), Expected(version=1))
    with pytest.raises(Conflict, match="exists already"):
        await put(store, idle())
    with pytest.raises(Conflict, match="over before"):
        await put(store, idle(), Expected(version=1000), not_after=done.now)
