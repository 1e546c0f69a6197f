"""A call that was approved, and is carried out only after the run that got the approval."""

from __future__ import annotations

import asyncio
from typing import Any

from agui_bridge.agents.function.adapter import FunctionAdapter
from agui_bridge.agents.function.run import FunctionRun
from agui_bridge.stores.memory import MemoryStore
from tests.support.agents import Bench, Event, outcome
from tests.support.clock import FakeClock
from tests.support.waiting import eventually


class Payer:
    """Asks for an approval, then for something else, and pays after that."""

    def __init__(self, *, confirms: bool = False) -> None:
        self.paid = 0
        self.begun = asyncio.Event()
        self.go_on = asyncio.Event()
        self.go_on.set()
        self.confirms = confirms

    async def __call__(self, run: FunctionRun) -> None:
        approval = await run.approve("pay", {})
        if self.confirms:
            await run.confirm("Now?")
        else:
            await run.frontend_tool("pick_account", {})
        await run.step("look up", self._look_up)
        await run.tool(approval, self._pay)

    async def _look_up(self) -> None:
        self.begun.set()
        await self.go_on.wait()

    async def _pay(self) -> str:
        self.paid += 1
        return "paid"


def results(events: list[Event]) -> list[str]:
    return [event["content"] for event in events if event["type"] == "TOOL_CALL_RESULT"]


def picked(events: list[Event], message_id: str) -> dict[str, Any]:
    """The application's result of the call that a run handed to it."""
    (call,) = events[-1]["outcome"]["pendingToolCallIds"]
    return {"id": message_id, "role": "tool", "toolCallId": call, "content": "savings"}


async def test_its_result_is_told_and_stored_and_none_is_made_up_before() -> None:
    payer = Payer()
    bench = Bench(FunctionAdapter(payer))
    handed = await bench.say(resume=bench.entries(await bench.ask()))
    assert results(handed) == []
    ended = await bench.say(messages=[picked(handed, "m1")])
    assert (outcome(ended), results(ended), payer.paid) == ("success", ["paid"], 1)
    assert ("tool", "paid") in await bench.texts()


async def test_a_message_between_makes_up_no_result_either() -> None:
    payer = Payer()
    bench = Bench(FunctionAdapter(payer))
    handed = await bench.say(resume=bench.entries(await bench.ask()))

    async def other(run: FunctionRun) -> str:
        return "One moment."

    beside = Bench(FunctionAdapter(other), store=bench.store)
    assert results(await beside.say("Are you there?")) == []
    ended = await bench.say(messages=[picked(handed, "m1")])
    assert (outcome(ended), results(ended), payer.paid) == ("success", ["paid"], 1)


async def test_it_is_not_executed_again_when_that_run_is_lost_and_the_result_is_sent_anew() -> None:
    payer, clock = Payer(), FakeClock()
    payer.go_on.clear()
    bench = Bench(FunctionAdapter(payer), store=MemoryStore(clock.time))
    handed = await bench.say(resume=bench.entries(await bench.ask()))
    async with bench.open():
        lost = bench.begin(messages=[picked(handed, "m1")])
        await eventually(payer.begun.is_set)
        # As long as its process stands still.
        clock.advance(1_000)
        other = Bench(FunctionAdapter(payer), store=bench.store)
        again = await other.say(messages=[picked(handed, "m2")])
        assert outcome(again) == "success", "it brings nothing, and starts nothing"
        again = await other.say("Again, please.")
        assert outcome(again) == "interrupt", "it is asked about anew"
        payer.go_on.set()
        await lost.rest()
    assert payer.paid <= 1


async def test_a_client_that_goes_away_does_not_keep_it_from_being_executed() -> None:
    for confirms in (True, False):
        payer = Payer(confirms=confirms)
        bench = Bench(FunctionAdapter(payer), stop_timeout=0.1)
        middle = await bench.say(resume=bench.entries(await bench.ask()))
        payer.go_on.clear()
        if confirms:
            answer = bench.entries(middle[-1]["outcome"]["interrupts"], {"confirm": True})
            reader = bench.begin(resume=answer, disconnect="stop")
        else:
            reader = bench.begin(messages=[picked(middle, "m1")], disconnect="stop")
        await eventually(payer.begun.is_set)
        reader.leave()
        await asyncio.sleep(0.3)  # longer than a stop would wait
        payer.go_on.set()
        await eventually(bench.engine.running[bench.KEY].over.is_set)
        assert payer.paid == 1
        assert ("tool", "paid") in await bench.texts()
