"""What other processes hear of changes."""

import asyncio
from dataclasses import replace

import pytest

from agui_bridge.protocol.threads.records import lease_token
from agui_bridge.stores.redis.address import Address
from agui_bridge.stores.redis.client import Client
from agui_bridge.stores.redis.notifications import Notifications
from agui_bridge.stores.redis.rows import Keys
from agui_bridge.stores.redis.store import RedisStore
from tests.stores.samples import KEY, idle, put, running, stop
from tests.support.redis_server import RedisServer
from tests.support.waiting import eventually


async def test_a_process_hears_what_is_for_it_and_for_all_and_goes_on_after_a_cut(
    server: RedisServer,
) -> None:
    client, keys = Client(Address.parse(server.url)), Keys("agui", 1)
    here: asyncio.Queue[str] = asyncio.Queue()
    everybody: asyncio.Queue[str] = asyncio.Queue()
    one = Notifications(client, keys, "one", here.put_nowait, everybody.put_nowait)
    other = Notifications(client, keys, "other", pytest.fail, pytest.fail)
    one.start()
    await eventually(lambda: one.alive)
    for _ in range(2):
        for word in ("a", "b", "a"):
            other.tell("one", word)
        other.tell("", "scope/agent/t")
        other.tell("", "stop")
        async with asyncio.timeout(5):
            assert [await here.get() for _ in "ab"] == ["a", "b"]
            assert {await everybody.get() for _ in "ab"} == {"scope/agent/t", "stop"}
        with server.client() as plain:
            plain.execute_command("CLIENT KILL TYPE pubsub")
        # What is announced before it listens again is lost.
        await eventually(lambda: not one.alive)
        await eventually(lambda: one.alive)
    await one.aclose()
    await other.aclose()
    await client.aclose()


async def test_nobody_listens_and_nothing_is_said_where_the_address_says_so(
    server: RedisServer,
) -> None:
    store = await RedisStore.open(f"{server.url}?listen=off")
    other = await RedisStore.open(f"{server.url}?listen=off")
    with server.client() as plain:
        before = plain.info("commandstats").get("cmdstat_publish", {}).get("calls", 0)
        changes = store.watch(KEY)
        await anext(changes)
        waiting = asyncio.ensure_future(anext(changes))
        token = lease_token(other.process, "r1")
        await put(other, running(token=token))
        async with asyncio.timeout(5):
            await waiting
        await store.request_stop(KEY, replace(stop(), token=token))
        assert plain.info("commandstats").get("cmdstat_publish", {}).get("calls", 0) == before
        assert plain.pubsub_channels() == []
    await changes.aclose()
    await store.aclose()
    await other.aclose()


async def until_listening(server: RedisServer) -> None:
    """Wait until somebody listens for changes."""
    with server.client() as plain:
        # Redis tells nobody when somebody subscribes.
        await eventually(lambda: plain.pubsub_channels("agui:changes:*"))


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
