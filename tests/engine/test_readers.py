"""Threads that are only looked at: few of a scope at once, and long ones in turns."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agui_bridge import Bridge
from agui_bridge.engine.engine import mint
from agui_bridge.engine.fairness import HeavyTurns
from agui_bridge.engine.reconnecting import show_thread
from agui_bridge.engine.repository import Repository
from agui_bridge.engine.streaming.clock import SystemClock
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.records import ThreadKey
from agui_bridge.stores.memory import MemoryStore
from tests.support.agents import Bench, Reader, Scripted, eventually, settle
from tests.support.server import client, post, run_input, serve

LONG = "x" * 600_000


class Slow(MemoryStore):
    """Gives what is loaded once it is let go; counts who waits, by scope."""

    def __init__(self) -> None:
        super().__init__()
        self.loading: list[str] = []
        self.go = asyncio.Event()

    async def load(self, key: ThreadKey, *args: Any, **options: Any) -> Loaded:
        self.loading.append(key.scope)
        await self.go.wait()
        return await super().load(key, *args, **options)


def repository(store: MemoryStore) -> Repository:
    turns = HeavyTurns()
    return Repository(store, SystemClock(), turns, mint, room=1_000_000, patience=1.0)


async def test_of_one_scope_two_are_in_hand_and_another_scope_waits_for_nobody() -> None:
    store = Slow()
    threads = repository(store)

    async def read(scope: str) -> None:
        async with threads.whole(ThreadKey(scope, "agent", "t")):
            pass

    ours = [asyncio.create_task(read("ours")) for _ in range(5)]
    await settle()
    theirs = asyncio.create_task(read("theirs"))
    await settle()
    assert store.loading == ["ours", "ours", "theirs"]
    store.go.set()
    await asyncio.gather(*ours, theirs)
    assert len(store.loading) == 6


async def test_a_reader_that_goes_away_leaves_room_for_the_next() -> None:
    store = Slow()
    threads = repository(store)

    async def read() -> None:
        async with threads.whole(ThreadKey("ours", "agent", "t")):
            pass

    gone = [asyncio.create_task(read()) for _ in range(3)]
    await settle()
    for task in gone:
        task.cancel()
    await asyncio.gather(*gone, return_exceptions=True)
    store.go.set()
    async with asyncio.timeout(10):
        await read()


@pytest.mark.parametrize(("said", "waits"), [("short", False), (LONG, True)])
async def test_to_show_a_long_thread_takes_its_turn(said: str, waits: bool) -> None:
    bench = Bench(Scripted([said]))
    async with bench.open():
        await bench.say("go")
        async with bench.engine.turns.turn("theirs", True):
            reader = Reader(*show_thread(bench.engine, bench.call(runId="mine")))
            reading = asyncio.create_task(reader.rest())
            if waits:
                await settle()
                assert not reader.kinds
            else:
                await eventually(reading.done)
        events = await reading
        assert events[-1]["type"] == "RUN_FINISHED"


@pytest.mark.parametrize(("said", "waits"), [("short", False), (LONG, True)])
async def test_to_join_the_run_of_a_long_thread_takes_its_turn(said: str, waits: bool) -> None:
    go = asyncio.Event()

    async def script(run: Any) -> Any:
        yield said
        await go.wait()
        yield " end"

    bench = Bench(Scripted(script))
    async with bench.open():
        running = bench.begin("go")
        await running.until("TEXT_MESSAGE_CONTENT")
        async with bench.engine.turns.turn("theirs", True):
            reader = Reader(*show_thread(bench.engine, bench.call(runId="mine")))
            following = asyncio.create_task(reader.until("MESSAGES_SNAPSHOT"))
            await settle()
            assert following.done() is not waits
            if waits:
                go.set()
                await running.rest()
        await following
        go.set()
        assert (await reader.rest())[-1]["type"] == "RUN_FINISHED"


@pytest.mark.parametrize(("said", "waits"), [("short", False), (LONG, True)])
async def test_to_get_a_long_thread_takes_its_turn(said: str, waits: bool) -> None:
    bridge = Bridge(telemetry=False)
    bridge.add("agent", Scripted([said]))
    async with serve(bridge.app(anonymous=True)) as base, client(base) as http:
        await post(base, **run_input("go"))
        async with bridge.turns.turn("theirs", True):
            reading = asyncio.create_task(http.get("/agents/agent/threads/t"))
            if waits:
                # What is light is answered meanwhile.
                for _ in range(3):
                    assert (await http.get("/healthz")).status_code == 200
                assert not reading.done()
            else:
                await reading
        assert (await reading).json()["messages"][-1]["content"] == said
