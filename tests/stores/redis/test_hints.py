"""What other processes hear of changes."""

import asyncio
from dataclasses import replace

from agui_bridge.protocol.threads.records import ThreadKey
from agui_bridge.stores.base import Expected
from agui_bridge.stores.redis.address import Address
from agui_bridge.stores.redis.client import Client
from agui_bridge.stores.redis.notifications import Notifications
from agui_bridge.stores.redis.store import RedisStore
from agui_bridge.stores.watching import ANY_STOP
from tests.stores.samples import KEY, LEASE, OTHER, idle, message, put, running, stop
from tests.support.redis_server import RedisServer
from tests.support.waiting import eventually


async def test_other_processes_hear_of_what_decides_and_not_of_messages(
    store: RedisStore, server: RedisServer
) -> None:
    heard: asyncio.Queue[ThreadKey | str] = asyncio.Queue()
    client = Client(Address.parse(server.url))
    hints = Notifications(client, "agui:changes", heard.put_nowait)
    hints.start()
    await until_listening(server)

    await put(store, running())
    await put(store, running(), LEASE, messages=(message("m", 1),))
    await put(store, idle(OTHER))
    await store.request_stop(KEY, stop())
    await store.delete(OTHER, Expected(version=1000))
    async with asyncio.timeout(5):
        assert [await heard.get() for _ in range(5)] == [KEY, OTHER, KEY, ANY_STOP, OTHER]

    with server.client() as plain:
        plain.execute_command("CLIENT KILL TYPE pubsub")
    expected = LEASE

    async def announce() -> bool:
        nonlocal expected
        done = await put(store, idle(), expected)
        expected = Expected(version=done.record.version)
        await asyncio.sleep(0.02)
        return not heard.empty()

    # What is announced before it listens again is lost.
    await eventually(announce)
    assert await heard.get() == KEY
    await hints.aclose()
    await client.aclose()


async def until_listening(server: RedisServer) -> None:
    """Wait until somebody listens for changes."""
    with server.client() as plain:
        # Redis tells nobody when somebody subscribes.
        await eventually(lambda: plain.pubsub_numsub("agui:changes")[0][1])


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
