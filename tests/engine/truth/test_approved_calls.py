"""What becomes of an approved call that a stop or a failure came before, or in the middle of."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Literal

import pytest

from agui_bridge.adapters import Pause, Run, RunItem
from agui_bridge.agents.function.adapter import FunctionAdapter
from agui_bridge.agents.function.run import FunctionRun
from agui_bridge.protocol.answers.unexecuted import FAILED, FAILED_AMID, STOPPED, STOPPED_AMID
from agui_bridge.protocol.threads.records import InterruptStatus
from tests.support.agents import Bench, Scripted, approval, eventually, outcome


async def told(bench: Bench) -> tuple[str, InterruptStatus]:
    """The result of the one call, and the status of the interrupt about it."""
    loaded = await bench.load()
    (content,) = [m.message["content"] for m in loaded.messages if m.message["role"] == "tool"]
    (row,) = await bench.store.list_interrupts("default")
    return str(content), row.interrupt.status


Where = Literal["before the approval came back", "in the function's hands", "while it ran"]


@pytest.mark.parametrize("force", [False, True], ids=["graceful", "forced"])
@pytest.mark.parametrize(
    ("where", "sentence", "status"),
    [
        ("before the approval came back", STOPPED, InterruptStatus.CANCELLED),
        # Its own code could have carried the call out.
        ("in the function's hands", STOPPED_AMID, InterruptStatus.INDETERMINATE),
        ("while it ran", STOPPED_AMID, InterruptStatus.INDETERMINATE),
    ],
)
async def test_a_stop_says_whether_an_approved_call_can_have_been_executed(
    where: Where, sentence: str, status: InterruptStatus, force: bool
) -> None:
    there = asyncio.Event()

    async def stay() -> None:
        there.set()
        await asyncio.Event().wait()

    runs: list[str] = []

    async def agent(run: FunctionRun) -> AsyncIterator[str]:
        runs.append(run.run_id)
        if where == "before the approval came back" and len(runs) == 2:
            await stay()
        approval = await run.approve("pay", {})
        yield "Paying. "
        if where == "in the function's hands":
            await stay()
        await run.tool(approval, stay)

    bench = Bench(FunctionAdapter(agent))
    asks = await bench.ask()
    reader = bench.begin(resume=bench.entries(asks))
    reading = asyncio.create_task(reader.rest())
    await asyncio.wait_for(there.wait(), 10)
    await bench.engine.stop(bench.KEY, force=force, timeout=0.05)

    assert outcome(await reading) == "cancelled"
    assert await told(bench) == (sentence, status)
    assert sentence in str(reader.events)


@pytest.mark.parametrize(
    ("held", "sentence", "status"),
    [
        (False, FAILED, InterruptStatus.CANCELLED),
        (True, FAILED_AMID, InterruptStatus.INDETERMINATE),
    ],
    ids=["before the approval came back", "in the function's hands"],
)
async def test_a_failure_says_whether_an_approved_call_can_have_been_executed(
    held: bool, sentence: str, status: InterruptStatus
) -> None:
    runs: list[str] = []

    async def agent(run: FunctionRun) -> None:
        runs.append(run.run_id)
        if len(runs) == 2 and not held:
            raise RuntimeError("no connection")
        await run.approve("pay", {})
        raise RuntimeError("no connection")

    bench = Bench(FunctionAdapter(agent))
    events = await bench.say(resume=bench.entries(await bench.ask()))

    assert outcome(events) == "AGENT_ERROR"
    assert await told(bench) == (sentence, status)


async def test_a_failure_of_an_adapter_that_says_nothing_of_the_call_leaves_it_unknown() -> None:
    async def script(run: Run) -> AsyncIterator[RunItem]:
        if run.resume is not None:
            raise RuntimeError("no connection")
        yield Pause([approval("c1")])

    bench = Bench(Scripted(script))
    events = await bench.say(resume=bench.entries(await bench.ask()))

    assert outcome(events) == "AGENT_ERROR"
    assert await told(bench) == (FAILED_AMID, InterruptStatus.INDETERMINATE)


async def test_a_run_goes_on_for_who_joined_it_when_its_first_client_leaves() -> None:
    goes_on = asyncio.Event()

    async def agent(run: FunctionRun) -> AsyncIterator[str]:
        await run.confirm("Go on?")
        yield "half of "
        await goes_on.wait()
        yield "the text"

    bench = Bench(FunctionAdapter(agent))
    answer = bench.entries(await bench.ask(), {"confirm": True})
    first = bench.begin(resume=answer, disconnect="stop")
    await first.until("TEXT_MESSAGE_CONTENT")
    second = bench.begin(resume=answer, disconnect="stop")
    await second.until("RUN_STARTED")
    [run] = bench.engine.running.values()
    await eventually(lambda: run.listeners._later == 1)
    first.leave()
    await asyncio.sleep(0.05)
    goes_on.set()

    assert outcome(await second.rest()) == "success"
    assert ("assistant", "half of the text") in await bench.texts()


async def test_a_run_stops_when_the_last_of_its_listeners_leaves() -> None:
    async def agent(run: FunctionRun) -> AsyncIterator[str]:
        await run.confirm("Go on?")
        yield "half of "
        await asyncio.Event().wait()

    bench = Bench(FunctionAdapter(agent))
    answer = bench.entries(await bench.ask(), {"confirm": True})
    first = bench.begin(resume=answer, disconnect="stop")
    await first.until("TEXT_MESSAGE_CONTENT")
    second = bench.begin(resume=answer, disconnect="stop")
    await second.until("RUN_STARTED")
    [run] = bench.engine.running.values()
    await eventually(lambda: run.listeners._later == 1)
    first.leave()
    second.leave()

    await eventually(lambda: not bench.engine.running)
    assert ("assistant", "half of ") in await bench.texts()
