"""A stop while an agent asks in words."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from agui_bridge import FunctionRun, KeywordAdapter
from agui_bridge.adapters import Run, RunItem
from tests.agents.function.effects import Effects
from tests.agents.keyword.talk import CONFIRM
from tests.support.agents import Bench, Scripted, outcome, settle


async def test_a_stop_reaches_the_agent_inside_and_nothing_is_asked(effects: Effects) -> None:
    async def script(run: Run) -> AsyncIterator[RunItem]:
        yield "Please confirm: delete"
        await run.stop
        effects.act("stopped")
        yield " 3 rows"

    async with Bench(KeywordAdapter(Scripted(script, stop=True))).open() as bench:
        reader = bench.begin("go")
        await reader.until("TEXT_MESSAGE_CONTENT")
        stopped = await bench.engine.stop(bench.KEY)
        events = await reader.rest()
        texts = await bench.texts()

    assert (outcome(events), stopped.status, effects.done) == ("cancelled", "success", ["stopped"])
    assert texts[-1] == ("assistant", "Please confirm: delete 3 rows")


async def test_an_agent_that_cannot_stop_is_cancelled(effects: Effects) -> None:
    async def script(run: Run) -> AsyncIterator[RunItem]:
        try:
            yield "Please confirm: delete"
            await asyncio.Event().wait()
        finally:
            effects.act("released")

    async with Bench(KeywordAdapter(Scripted(script))).open() as bench:
        reader = bench.begin("go")
        await reader.until("TEXT_MESSAGE_CONTENT")
        await bench.engine.stop(bench.KEY)
        assert outcome(await reader.rest()) == "cancelled"

    assert effects.done == ["released"]


async def test_a_stopped_question_cannot_be_answered_and_the_next_run_is_told() -> None:
    inner = Scripted(["Please confirm."], ["Ok."])
    async with Bench(KeywordAdapter(inner)).open() as bench:
        interrupts = await bench.ask()
        await bench.engine.stop(bench.KEY)
        late = await bench.say(resume=bench.entries(interrupts, CONFIRM))
        await bench.say("next")

    assert outcome(late) == "INTERRUPT_ALREADY_ANSWERED"
    told = [m.content for m in inner.runs[1].messages if m.role == "user"]
    assert told == ["go", "I cancelled your request for confirmation. Do not proceed.", "next"]


async def test_an_agent_that_outlived_its_run_does_nothing_more(effects: Effects) -> None:
    go_on = asyncio.Event()

    async def agent(run: FunctionRun) -> AsyncIterator[str]:
        yield "working"
        while not go_on.is_set():
            try:
                await go_on.wait()
            except asyncio.CancelledError:
                continue
        await run.call("delete", {"what": "rows"}, effects.act)

    async with Bench(KeywordAdapter(agent), cancel_grace=0.05).open() as bench:
        reader = bench.begin("go")
        await reader.until("TEXT_MESSAGE_CONTENT")
        await bench.engine.stop(bench.KEY, force=True)
        await reader.rest()
        go_on.set()
        await settle()

    assert effects.done == []
