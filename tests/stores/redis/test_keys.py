"""The keys of threads: whose they are, which slot they lie in, and that none is left."""

from dataclasses import replace

import pytest
from redis.crc import key_slot

from agui_bridge.protocol.threads.records import InterruptStatus, ThreadKey
from agui_bridge.stores.base import Expected
from agui_bridge.stores.redis.store import RedisStore
from tests.stores.samples import (
    KEY,
    LEASE,
    OTHER,
    ask,
    full,
    idle,
    interrupted,
    message,
    put,
    running,
)
from tests.support.redis_server import RedisServer


def keys_of(server: RedisServer) -> set[str]:
    with server.client() as client:
        return set(client.keys("*"))


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


async def test_its_connections_say_whose_they_are(store: RedisStore, server: RedisServer) -> None:
    await put(store, idle())
    with server.client() as client:
        own = str(client.client_id())
        names = [one["name"] for one in client.client_list() if one["id"] != own]
    assert names and set(names) == {"agui-bridge"}


async def test_a_deleted_thread_leaves_no_key(store: RedisStore, server: RedisServer) -> None:
    await full(store)
    assert len(keys_of(server)) > 10
    await store.delete(KEY, Expected(version=1002))

    assert keys_of(server) == {"agui:schema"}


async def test_a_thread_whose_question_was_answered_leaves_no_key(
    store: RedisStore, server: RedisServer
) -> None:
    await put(store, running())
    await put(store, interrupted(), LEASE, interrupts=(ask("a"),))
    resolved = ask("a", status=InterruptStatus.RESOLVED)
    await put(store, idle(), Expected(version=1001), interrupts=(resolved,))

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
