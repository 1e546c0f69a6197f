"""Chat agents with checkpoints: they go on in another process, wherever theirs dies."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest

from agui_bridge import Bridge, KeywordAdapter
from agui_bridge.agents.chat import ChatAgent, tool
from agui_bridge.engine.engine import mint
from agui_bridge.engine.recovery import sweep
from agui_bridge.errors import ConfigurationError
from agui_bridge.protocol.threads.records import ThreadStatus
from agui_bridge.stores.memory import MemoryStore
from tests.servers.model.script import Reply, ToolUse
from tests.servers.model.server import ScriptedModel
from tests.support.clock import FakeClock
from tests.support.dying import LATER, MortalBench

BOOK = ToolUse("book", {"day": "monday"}, id="call_1")


@pytest.mark.parametrize("dies_at", range(1, 9))
async def test_it_goes_on_with_what_its_model_and_its_tools_have_said(dies_at: int) -> None:
    executed: Counter[str] = Counter()

    @tool
    def book(day: str) -> str:
        executed[day] += 1
        return f"booked {day}"

    clock = FakeClock()
    store = MemoryStore(clock.time)
    # Where the reply was not stored, the model is asked again.
    replies = [Reply("I book.", (BOOK,)), Reply("Done.")]
    replies = [replies[0], *replies] if dies_at in (3,) else replies
    replies = [*replies, replies[-1]] if dies_at == 7 else replies
    async with ScriptedModel(*replies) as model:

        def process(**how: Any) -> MortalBench:
            agent = ChatAgent("m", tools=[book], base_url=model.base_url, api_key="k", retries=0)
            return MortalBench(agent, store=store, clock=clock, checkpoint="step", **how)

        first, second = process(dies_at=dies_at), process()
        reading = asyncio.create_task(first.say("go"))
        while not (reading.done() or first.mortal.dead):
            await asyncio.sleep(0.01)
        clock.advance(LATER)
        await sweep(second.engine.store, mint, second.engine.looks.take)
        await asyncio.wait([*second.engine._tasks, asyncio.ensure_future(asyncio.sleep(0))])
        loaded = await second.load()
        for bench in (first, second):
            await bench.mortal.bury([*bench.engine._tasks, reading])

    assert executed["monday"] <= 1
    if loaded.record is None:
        assert dies_at == 1
        return
    assert loaded.status is ThreadStatus.IDLE and loaded.record.ended is not None
    said = [m.message.get("content") for m in loaded.messages if m.message["role"] == "assistant"]
    if dies_at == 5:
        assert loaded.record.ended.outcome == "lost"
    else:
        assert loaded.record.ended.outcome == "finished"
        assert said[-1] == "Done." and executed == {"monday": 1}


def test_what_has_no_checkpoints_is_refused_with_them() -> None:
    async def agent(run: Any) -> str:
        return "Are you sure?"

    bridge = Bridge()
    with pytest.raises(ConfigurationError, match="can't have checkpoint='step'"):
        bridge.add("keyword", KeywordAdapter(agent), checkpoint="step")
    with pytest.raises(ConfigurationError, match="needs history='server'"):
        bridge.agent("client", checkpoint="step", history="client")(agent)
    with pytest.raises(ConfigurationError, match="one of 'pause', 'step'"):
        bridge.agent("unknown", checkpoint="always")(agent)
