"""Whose result a thread is told with: its newest run's, if that ended by itself."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from agui_bridge.adapters import Pause, Run, RunItem
from agui_bridge.engine.reconnecting import show_thread
from agui_bridge.errors import NotDelivered, UpstreamError
from agui_bridge.stores.memory import MemoryStore
from tests.support.agents import Bench, Reader, Scripted, approval, outcome, settle

Event = dict[str, Any]


def giving(*results: Any, asks: int = 0) -> Scripted:
    """Runs that give these one after the other, the first of them asking; errors are raised."""

    async def script(run: Run) -> AsyncIterator[RunItem]:
        number = len(adapter.runs) - 1
        given = results[min(number, len(results) - 1)]
        if isinstance(given, BaseException):
            raise given
        yield "words"
        run.result = given
        if number < asks:
            yield Pause([approval(f"c{number}-{each}") for each in range(2)])

    adapter = Scripted(script)
    return adapter


async def shown(bench: Bench) -> Event:
    """How the thread is told to who comes back to it."""
    return (await Reader(*show_thread(bench.engine, bench.call())).rest())[-1]


async def kept(bench: Bench) -> Any:
    """The result that the thread has now."""
    return (await bench.load()).result


async def test_a_pause_has_the_result_of_its_own_run_and_no_other() -> None:
    bench = Bench(giving("one", None, "three", asks=3))
    asked = await bench.ask()
    first = await shown(bench)
    second = (await bench.say(resume=bench.entries(asked)))[-1]
    later = (await bench.say(resume=bench.entries(asked)))[-1]
    now = await shown(bench)
    third = (await bench.say(resume=bench.entries(second["outcome"]["interrupts"])))[-1]

    assert first["result"] == "one" and first["outcome"]["interrupts"] == asked
    for event in (second, later, now):
        assert event["outcome"]["type"] == "interrupt" and "result" not in event
    assert (third["result"], await kept(bench)) == ("three", "three")


async def test_who_is_refused_is_told_no_result() -> None:
    bench = Bench(giving("one", asks=1))
    await bench.ask()
    [*_, restated, error] = await bench.say("something else")
    assert (restated["outcome"]["type"], error["code"]) == ("interrupt", "INTERRUPT_PENDING")
    assert "result" not in restated


async def test_the_question_that_nobody_was_reached_with_keeps_its_result() -> None:
    bench = Bench(giving("one", NotDelivered("no"), asks=1))
    asked = await bench.ask()
    assert outcome(await bench.say(resume=bench.entries(asked))) == "UPSTREAM_ERROR"
    assert (await shown(bench))["result"] == "one"


@pytest.mark.parametrize(
    ("then", "told"),
    [
        ("two", "two"),
        (None, None),
        ({}, {}),
        (0, 0),
        (False, False),
        ("", ""),
        (UpstreamError("no"), None),
    ],
)
async def test_the_newest_run_has_the_word(then: Any, told: Any) -> None:
    bench = Bench(giving("one", then))
    assert (await bench.say("a"))[-1]["result"] == "one"
    assert (await shown(bench))["result"] == "one"
    await bench.say("b")
    assert await kept(bench) == told
    assert (await shown(bench)).get("result") == told


async def test_an_answer_of_an_older_run_is_told_again_without_a_result() -> None:
    bench = Bench(giving("one", "two", "three", asks=1))
    answers = bench.entries(await bench.ask())
    first = (await bench.say(resume=answers))[-1]
    again = (await bench.say(resume=answers))[-1]
    await bench.say("more")
    late = (await bench.say(resume=answers))[-1]

    assert (first["result"], again["result"]) == ("two", "two")
    assert late["outcome"] == {"type": "success"} and "result" not in late
    assert (await shown(bench))["result"] == "three"


async def test_a_run_that_goes_on_or_was_stopped_has_none() -> None:
    async def waiting(run: Run) -> AsyncIterator[RunItem]:
        run.result = "never told"
        yield "words"
        await asyncio.Event().wait()

    bench = Bench(Scripted(giving("one").run, waiting))
    async with bench.open():
        await bench.say("a")
        running = bench.begin("b")
        await running.until("TEXT_MESSAGE_CONTENT")
        assert await kept(bench) is None
        await bench.engine.stop(Bench.KEY, force=True)
        assert outcome(await running.rest()) == "cancelled"
    assert await kept(bench) is None and "result" not in await shown(bench)


async def test_all_who_answer_at_once_are_told_it() -> None:
    go = asyncio.Event()

    async def script(run: Run) -> AsyncIterator[RunItem]:
        if run.resume is None:
            yield Pause([approval()])
            return
        yield "Working. "
        await go.wait()
        run.result = {"answer": 42}

    store = MemoryStore()
    agent = Scripted(script)
    processes = [Bench(agent, store=store) for _ in range(2)]
    answers = Bench.entries(await processes[0].ask())
    first = processes[0].begin(resume=answers)
    await first.until("TEXT_MESSAGE_CONTENT")
    others = [bench.begin(resume=answers) for bench in processes for _ in range(2)]
    follower = Reader(*show_thread(processes[0].engine, processes[0].call()))
    elsewhere = Reader(*show_thread(processes[1].engine, processes[1].call()))
    await settle()
    go.set()
    told = [(await reader.rest())[-1] for reader in (first, *others, follower, elsewhere)]

    assert [event["result"] for event in told] == [{"answer": 42}] * 7
    assert len(agent.runs) == 2


@pytest.mark.parametrize("asks", [0, 1])
async def test_what_is_too_much_is_told_once_and_the_log_says_so(
    asks: int, caplog: pytest.LogCaptureFixture
) -> None:
    given = {"text": "é" * 10}
    size = len(json.dumps(given, separators=(",", ":")))
    fits = Bench(giving(given, asks=asks), max_result_bytes=size)
    assert (await fits.say("a"))[-1]["result"] == given == await kept(fits)
    assert "max_result_bytes" not in caplog.text

    less = Bench(giving("small", given, asks=2 * asks), max_result_bytes=size - 1)
    first = (await less.say("a"))[-1]
    members = {"resume": less.entries(first["outcome"].get("interrupts", ()))} if asks else {}
    last = (await less.say(*(() if asks else ("b",)), **members))[-1]
    assert (first["result"], last["result"]) == ("small", given)
    assert await kept(less) is None, "an older one would be taken for it"
    [record] = [r for r in caplog.records if "max_result_bytes" in r.getMessage()]
    assert record.getMessage() == (
        "the result of agent 'agent' on thread 't' is told once and not kept: it takes "
        f"{size} bytes as JSON; at most {size - 1} are kept (max_result_bytes)"
    )
