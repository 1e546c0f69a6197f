"""Messages that a process keeps are those of the store, whatever other processes do between."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

import pytest

from agui_bridge.adapters import Run, RunItem
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.records import ThreadKey
from agui_bridge.stores.base import Expected, Store
from tests.stores.conftest import Opener
from tests.support.agents import Answering, Bench, Scripted, outcome, users
from tests.support.clock import FakeClock

LONG = [f"said {number}" for number in range(120)]

OpenBench = Callable[..., Awaitable[Bench]]


class Watched:
    """A store that counts how often a thread is read whole."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.whole = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)

    async def load(self, key: ThreadKey, ids: Sequence[str] = (), **options: Any) -> Loaded:
        self.whole += bool(options.get("messages"))
        return await self.store.load(key, ids, **options)


@pytest.fixture
async def process(opener: Opener) -> AsyncIterator[OpenBench]:
    """Gives one more process on the data of this test."""
    opened: list[Bench] = []

    async def open_another(agent: Scripted | None = None) -> Bench:
        watched: Any = Watched(await opener())
        opened.append(Bench(agent or Scripted(["heard"]), store=watched, lease_seconds=30.0))
        return opened[-1]

    yield open_another
    for bench in opened:
        await bench.engine.aclose()


def whole(bench: Bench) -> int:
    store: Any = bench.store
    return int(store.whole)


async def hears_what_is_stored(bench: Bench, text: str) -> None:
    """Say something: the agent is shown what the store has, and that."""
    agent: Any = bench.adapter
    store: Any = bench.store
    stored = (await store.store.load(bench.KEY, messages=True)).messages
    assert outcome(await bench.say(text)) == "success"
    assert list(agent.runs[-1].raw_messages) == [*(m.message for m in stored), *users(text)]


async def test_a_long_thread_is_read_whole_once(process: OpenBench) -> None:
    ours = await process()
    await ours.say(*LONG)
    before = whole(ours)
    for text in ("one", "two", "three"):
        await hears_what_is_stored(ours, text)
    assert whole(ours) == before


@pytest.mark.soak
async def test_what_another_process_stored_is_in_the_next_run(process: OpenBench) -> None:
    ours, theirs = await process(), await process(Scripted(["they heard"]))
    await ours.say(*LONG)
    for number in range(3):
        await hears_what_is_stored(theirs, f"to them {number}")
        await hears_what_is_stored(ours, f"to us {number}")
        await hears_what_is_stored(ours, f"to us again {number}")


async def test_an_edit_by_way_of_another_process_takes_messages_back(process: OpenBench) -> None:
    ours, theirs = await process(), await process()
    await ours.say(*LONG)
    before = [stored.message for stored in (await ours.load()).messages]
    await ours.say("wrong")
    await theirs.say(messages=[*before, *users("right")])
    assert "wrong" not in [text for _, text in await ours.texts()]
    await hears_what_is_stored(ours, "on")


async def test_a_thread_that_was_deleted_and_begun_anew_is_the_new_one(process: OpenBench) -> None:
    ours, theirs = await process(), await process()
    await ours.say(*LONG)
    await theirs.engine.delete(theirs.KEY)
    await theirs.say(*LONG[:3])
    await hears_what_is_stored(ours, "on")
    assert len(await ours.texts()) == 3 + 3


async def test_a_thread_that_was_pruned_begins_empty(process: OpenBench, clock: FakeClock) -> None:
    ours, theirs = await process(), await process()
    await ours.say(*LONG)
    clock.advance(100.0)
    assert await theirs.store.prune(50.0) == 1
    await hears_what_is_stored(ours, "anew")
    assert await ours.texts() == [("user", "anew"), ("assistant", "heard")]


async def test_what_a_process_stored_before_it_died_is_there(
    process: OpenBench, clock: FakeClock
) -> None:
    begun, ends = asyncio.Event(), asyncio.Event()

    async def hangs(run: Run) -> AsyncIterator[RunItem]:
        begun.set()
        await ends.wait()
        yield "too late"

    ours, theirs = await process(), await process(Scripted(hangs))
    await ours.say(*LONG)
    reader = theirs.begin("said to one that dies")
    await begun.wait()
    clock.advance(31.0)
    await hears_what_is_stored(ours, "on")
    ends.set()
    assert outcome(await reader.rest()) == "RUN_INDETERMINATE"
    assert "too late" not in [text for _, text in await ours.texts()]
    # What it had in hand when it lost the thread is not what it begins with next.
    await ours.engine.delete(ours.KEY)
    await hears_what_is_stored(theirs, "anew")


async def test_an_answer_that_another_process_carried_out_is_in_both(process: OpenBench) -> None:
    ours, theirs = await process(Answering()), await process(Answering())
    asked = (await ours.say(*LONG))[-1]["outcome"]["interrupts"]
    resume = ours.entries(asked)
    assert outcome(await theirs.say(messages=[], resume=resume)) == "success"
    replayed = await ours.say(messages=[], resume=resume)
    told = next(e["messages"] for e in replayed if e["type"] == "MESSAGES_SNAPSHOT")
    assert told == [m.message for m in (await ours.load()).messages]
    assert ours.adapter.executed == []  # type: ignore[attr-defined]


async def test_a_write_of_its_own_beside_a_run_is_seen(process: OpenBench) -> None:
    ours = await process()
    await ours.say(*LONG)
    record = (await ours.load()).record
    assert record is not None
    await ours.store.delete(ours.KEY, Expected(version=record.version))
    await hears_what_is_stored(ours, "anew")
