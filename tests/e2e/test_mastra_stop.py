"""Stops of a real Mastra server's runs: what is kept, what still runs, and what never does."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from agui_bridge.protocol.threads.run_ends import StopResult
from agui_bridge_mastra import MastraAdapter
from tests.e2e.mastra import AGENTS, fresh, ran
from tests.support.agents import Bench, Reader, eventually, outcome
from tests.support.mastra import MastraProcess

HOW = pytest.mark.parametrize("force", [False, True], ids=["graceful", "forced"])


@contextlib.asynccontextmanager
async def bench_of(mastra: MastraProcess, agent: str, **options: Any) -> AsyncIterator[Bench]:
    """A bench whose agent is one of the server's."""
    adapter = MastraAdapter(mastra.url, agent, kind=AGENTS[agent], **options)
    async with Bench(adapter, thread=f"thread-{fresh()}").open() as bench:
        yield bench
    await adapter.aclose()


def did(mastra: MastraProcess, number: int) -> list[str]:
    """What was done with a number, in order."""
    return [done["what"] for done in ran(mastra, number)]


async def stop_once_released(
    mastra: MastraProcess,
    bench: Bench,
    reader: Reader,
    number: int,
    tool: str,
    *,
    heard: bool = True,
) -> StopResult:
    """Stop a run whose tool works on a number, and let the tool end after that."""
    await eventually(lambda: did(mastra, number) == [f"{tool} began"])
    stopping = asyncio.create_task(bench.engine.stop(bench.KEY))
    if heard:
        await eventually(lambda: did(mastra, number)[1:] == [f"{tool} told to stop"])
    else:
        await eventually(lambda: any(r.run.stop.requested for r in bench.engine.running.values()))
    assert not stopping.done()
    mastra.release(number)
    stopped = await stopping
    assert outcome(await reader.rest()) == "cancelled"
    return stopped


@HOW
@pytest.mark.parametrize("prompt", ["drip {n}", "agent drip {n}"], ids=["agent", "sub-agent"])
async def test_a_model_that_speaks_is_aborted_and_its_words_are_kept(
    mastra: MastraProcess, force: bool, prompt: str
) -> None:
    n = fresh()
    async with bench_of(mastra, "supervisor") as bench:
        reader = bench.begin(prompt.format(n=n))
        await reader.until("TEXT_MESSAGE_CONTENT")
        stopped = await bench.engine.stop(bench.KEY, force=force)
        events = await reader.rest()
        await eventually(lambda: did(mastra, n) == ["drip"])
        [(_, words), *_] = reversed(await bench.texts())

    assert stopped.status == "success"
    assert outcome(events) == "cancelled"
    assert str(stopped.partial_response or words).startswith("w1 ")
    assert ran(mastra, n)[0]["result"]["aborted"] is True


async def test_a_graceful_stop_lets_a_tool_finish_and_begins_no_other(
    mastra: MastraProcess,
) -> None:
    n = fresh()
    async with bench_of(mastra, "work-agent") as bench:
        reader = bench.begin(f"slow {n}")
        await reader.until("TOOL_CALL_END")
        stopped = await stop_once_released(mastra, bench, reader, n, "slowRecord")
        answer = await bench.say("hello")

    assert [m["content"] for m in stopped.messages if m["role"] == "tool"] == [f'{{"id": "{n}"}}']
    assert (stopped.status, stopped.interrupted_at_iteration) == ("success", 1)
    assert outcome(answer) == "success"
    assert did(mastra, n) == ["slowRecord began", "slowRecord told to stop", "slowRecord"]


async def test_a_forced_stop_drops_the_result_and_begins_no_other(mastra: MastraProcess) -> None:
    n = fresh()
    async with bench_of(mastra, "work-agent") as bench:
        reader = bench.begin(f"slow {n}")
        await reader.until("TOOL_CALL_END")
        await eventually(lambda: did(mastra, n) == ["slowRecord began"])
        stopped = await bench.engine.stop(bench.KEY, force=True)
        assert outcome(await reader.rest()) == "cancelled"
        mastra.release(n)
        await eventually(lambda: did(mastra, n)[-1] == "slowRecord")
        await bench.say("hello")

    [told] = [m["content"] for m in stopped.messages if m["role"] == "tool"]
    assert "stopped" in told
    assert "noteRecord" not in did(mastra, n)


async def test_a_tool_that_was_approved_finishes_under_a_stop(mastra: MastraProcess) -> None:
    n = fresh()
    async with bench_of(mastra, "work-agent", options={"requireToolApproval": True}) as bench:
        asked = (await bench.say(f"slow {n}"))[-1]["outcome"]["interrupts"]
        assert did(mastra, n) == []
        reader = bench.begin(resume=bench.entries(asked))
        stopped = await stop_once_released(mastra, bench, reader, n, "slowRecord")
        again = await bench.say(resume=bench.entries(asked))

    assert [m["content"] for m in stopped.messages if m["role"] == "tool"] == [f'{{"id": "{n}"}}']
    assert outcome(again) != "RUN_ERROR"
    assert did(mastra, n) == ["slowRecord began", "slowRecord told to stop", "slowRecord"]


@HOW
async def test_a_workflow_begins_no_further_step(mastra: MastraProcess, force: bool) -> None:
    n = fresh()
    async with bench_of(mastra, "slowWorkflow") as bench:
        reader = bench.begin(json.dumps({"id": str(n)}))
        if force:
            await eventually(lambda: did(mastra, n) == ["slowStep began"])
            stopped = await bench.engine.stop(bench.KEY, force=True)
            assert outcome(await reader.rest()) == "cancelled"
        else:
            stopped = await stop_once_released(mastra, bench, reader, n, "slowStep")
    # The bridge has told Mastra by the time that it is closed.
    mastra.release(n)
    await eventually(lambda: did(mastra, n)[-1] == "slowStep")
    await workflow_over(mastra)

    assert stopped.status == "success"
    assert did(mastra, n) == ["slowStep began", "slowStep told to stop", "slowStep"]


async def workflow_over(mastra: MastraProcess) -> None:
    """Wait until Mastra runs no workflow any more."""

    async def over() -> bool:
        async with httpx.AsyncClient(trust_env=False) as client:
            listed = await client.get(f"{mastra.url}/api/workflows/slowWorkflow/runs")
        kept = (run["snapshot"] for run in listed.json()["runs"])
        states = [json.loads(s)["status"] if isinstance(s, str) else s["status"] for s in kept]
        return not {"running", "pending", "waiting"} & set(states)

    await eventually(over)


async def test_a_network_that_runs_a_tool_is_left_once_it_has_the_result(
    mastra: MastraProcess,
) -> None:
    n = fresh()
    async with bench_of(mastra, "routing-agent") as bench:
        reader = bench.begin(f"slow {n}")
        await reader.until("TOOL_CALL_END")
        stopped = await stop_once_released(mastra, bench, reader, n, "slowRecord", heard=False)
        answer = await bench.say("hello")

    told = [m["content"] for m in stopped.messages if m["role"] == "tool"]
    assert [str(n) in content for content in told] == [True]
    assert outcome(answer) == "success"


async def test_a_network_that_is_left_by_force_does_not_end_the_server(
    mastra: MastraProcess,
) -> None:
    """A client that closes a network's stream ends the process of Mastra 1.71."""
    n = fresh()
    async with bench_of(mastra, "routing-agent") as bench:
        reader = bench.begin(f"slow {n}")
        await eventually(lambda: did(mastra, n) == ["slowRecord began"])
        stopped = await bench.engine.stop(bench.KEY, force=True)
        assert outcome(await reader.rest()) == "cancelled"
        mastra.release(n)
        assert outcome(await bench.say("hello")) == "success"

    assert stopped.status == "success"
    assert did(mastra, n) == ["slowRecord began", "slowRecord"]


@HOW
async def test_a_stop_before_the_first_event_is_no_lost_stop(
    mastra: MastraProcess, force: bool
) -> None:
    n = fresh()
    async with bench_of(mastra, "work-agent") as bench:
        reader = bench.begin(f"drip {n}")
        await eventually(lambda: bool(bench.engine.running))
        stopped = await bench.engine.stop(bench.KEY, force=force)
        assert outcome(await reader.rest()) == "cancelled"
        answer = await bench.say("hello")

    assert stopped.status == "success"
    assert outcome(answer) == "success"
    assert [done["result"]["aborted"] for done in ran(mastra, n)] in ([], [True])
