"""What an adapter notes of a thread reaches its next run, whichever process has it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from agui_bridge.adapters import Pause, Run, RunItem
from agui_bridge.agents.keyword import KeywordAdapter
from agui_bridge.errors import NotDelivered, UpstreamError
from agui_bridge.stores.memory import MemoryStore
from tests.support.agents import Bench, Scripted, approval, outcome
from tests.support.waiting import PATIENCE

MEMO = {"session": "s", "at": [1, None]}


async def noting(run: Run) -> AsyncIterator[RunItem]:
    run.memo = MEMO
    yield "noted "
    if run.text == "ask":
        yield Pause([approval()])
    elif run.text == "fail":
        raise UpstreamError("no")
    elif run.text == "deny":
        raise NotDelivered("no")
    elif run.text == "wait":
        await asyncio.Event().wait()


async def looking(run: Run) -> AsyncIterator[RunItem]:
    found.append(run.memo)
    yield "seen"


found: list[Any] = []


@pytest.fixture(autouse=True)
def _nothing_found() -> None:
    found.clear()


async def after(store: MemoryStore) -> Any:
    """The memo as a run of another process finds it."""
    other = Bench(Scripted(looking), store=store, busy_patience=PATIENCE)
    assert outcome(await other.say("next")) == "success"
    return found[-1]


@pytest.mark.parametrize("text", ["end", "fail", "deny"])
async def test_it_is_kept_however_the_run_ends(text: str) -> None:
    store = MemoryStore()
    await Bench(Scripted(noting), store=store).say(text)
    assert await after(store) == MEMO


async def test_it_is_kept_over_a_pause_and_its_answer() -> None:
    store = MemoryStore()
    bench = Bench(Scripted(noting, looking), store=store)
    events = await bench.say("ask")
    await bench.say(resume=bench.entries(events[-1]["outcome"]["interrupts"]))
    assert found == [MEMO]
    assert await after(store) == MEMO


@pytest.mark.parametrize("force", [False, True])
async def test_it_is_kept_when_the_run_is_stopped(force: bool) -> None:
    store = MemoryStore()
    bench = Bench(Scripted(noting), store=store)
    reader = bench.begin("wait")
    await reader.until("TEXT_MESSAGE_CONTENT")
    await bench.engine.stop(bench.KEY, force=force)
    assert outcome(await reader.rest()) == "cancelled"
    assert await after(store) == MEMO


async def test_nothing_is_known_after_a_run_that_was_lost() -> None:
    store = MemoryStore()
    bench = Bench(Scripted(noting), store=store, lease_seconds=0.3)
    await bench.say("end")
    reader = bench.begin("wait")
    await reader.until("TEXT_MESSAGE_CONTENT")
    bench.engine.running[bench.KEY].owner.lost = True
    await reader.rest()
    assert await after(store) is None


async def test_what_is_no_json_is_left_out_and_the_run_ends_as_it_would() -> None:
    async def wrong(run: Run) -> AsyncIterator[RunItem]:
        run.memo = {"session": object()}
        yield "x"

    store = MemoryStore()
    assert outcome(await Bench(Scripted(wrong), store=store).say("go")) == "success"
    assert await after(store) is None


async def test_no_client_sees_it() -> None:
    bench = Bench(Scripted(noting))
    assert "session" not in str(await bench.say("end"))


async def test_an_adapter_inside_of_another_one_has_it_too() -> None:
    store = MemoryStore()
    await Bench(KeywordAdapter(Scripted(noting)), store=store).say("end")
    other = Bench(KeywordAdapter(Scripted(looking)), store=store)
    await other.say("next")
    assert found == [MEMO]
