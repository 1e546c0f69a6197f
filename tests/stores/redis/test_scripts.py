"""What the scripts on the server do: time, round trips, refusals."""

import time
from typing import Any

import pytest

from agui_bridge.errors import Conflict
from agui_bridge.stores.base import Expected
from agui_bridge.stores.redis.store import RedisStore
from tests.stores.samples import KEY, LEASE_SECONDS, full, idle, message, put, running
from tests.support.proxy import proxy_to
from tests.support.redis_server import RedisServer
from tests.support.waiting import eventually

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
        # Else it looks later whether a server of the version before is there.
        await store.servers.look()
        await full(store)
        # Once, so that the server knows the script.
        await store.load(KEY)
        post: Any = store._announcements.get()._post
        await eventually(lambda: post._telling is None)
        before = proxy.requests
        await store.load(KEY, ["a"], messages=True)
        assert proxy.requests == before + 1
        await put(store, idle(), Expected(version=1002), messages=(message("o", 3),))
        assert proxy.requests == before + 2
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


# --- what a refusal is ---


async def test_the_script_refuses_what_the_rules_refuse(store: RedisStore) -> None:
    done = await put(store, running())

    with pytest.raises(Conflict, match="changed by somebody else"):
        await put(store, idle(), Expected(version=1))
    with pytest.raises(Conflict, match="exists already"):
        await put(store, idle())
    with pytest.raises(Conflict, match="over before"):
        await put(store, idle(), Expected(version=1000), not_after=done.now)
