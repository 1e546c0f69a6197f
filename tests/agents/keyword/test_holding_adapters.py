"""Adapters that ask in words do nothing more, and get to end what they had begun."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from ag_ui.core import (
    BaseEvent,
    CustomEvent,
    StepFinishedEvent,
    StepStartedEvent,
    SubagentFinishedEvent,
    SubagentStartedEvent,
    ToolCallArgsEvent,
    ToolCallChunkEvent,
    ToolCallStartEvent,
)

from agui_bridge import KeywordAdapter
from agui_bridge.adapters import Handoff, Pause, Run, RunItem
from tests.agents.function.effects import Effects
from tests.agents.function.harness import items_of, show
from tests.support.agents import (
    Bench,
    Scripted,
    approval,
    call_events,
    outcome,
    result,
    text_events,
)


@pytest.mark.parametrize(
    "begins",
    [
        ToolCallStartEvent(tool_call_id="c", tool_call_name="delete"),
        ToolCallChunkEvent(tool_call_id="c", tool_call_name="delete", delta="{"),
        ToolCallChunkEvent(tool_call_name="delete", delta="{"),
        SubagentStartedEvent(subagent_run_id="s", name="deleter"),
        ToolCallStartEvent(tool_call_id="c", tool_call_name="delete", subagent_run_id="early"),
    ],
)
@pytest.mark.parametrize("speech", [["Please confirm"], text_events("m", "Please confirm.")])
@pytest.mark.parametrize("stops", [True, False])
async def test_a_call_ends_the_run_before_the_agent_goes_on(
    begins: BaseEvent, speech: list[RunItem], stops: bool, effects: Effects
) -> None:
    async def script(run: Run) -> AsyncIterator[RunItem]:
        try:
            yield SubagentStartedEvent(subagent_run_id="early", name="helper")
            for item in speech:
                yield item
            yield begins
            if run.stop.requested:
                return
            effects.act()
            yield "Deleted!"
        finally:
            effects.act("released")

    items = await items_of(KeywordAdapter(Scripted(script, stop=stops)))

    assert effects.done == ["released"]
    assert isinstance(items[-1], Pause)
    assert items[1:-1] == speech


async def test_an_agent_that_takes_its_time_to_stop_says_nothing_more_but_what_is_due() -> None:
    async def script(run: Run) -> AsyncIterator[RunItem]:
        for item in call_events("early")[:2]:
            yield item
        yield ToolCallChunkEvent(tool_call_id="early", delta="")
        yield StepStartedEvent(step_name="thinking")
        yield "Please confirm."
        for item in (*call_events("late"), result("late"), *call_events("later"), "Deleted!"):
            yield item
        yield SubagentStartedEvent(subagent_run_id="s", name="x")
        yield ToolCallArgsEvent(tool_call_id="q", delta="", subagent_run_id="s")
        yield SubagentFinishedEvent(subagent_run_id="s")
        yield ToolCallChunkEvent(delta="x")
        yield CustomEvent(name="note", value=1)
        yield call_events("early")[2]
        yield result("early")
        yield StepFinishedEvent(step_name="thinking")

    async with Bench(KeywordAdapter(Scripted(script, stop=True))).open() as bench:
        reader = bench.begin("go")
        events = await reader.rest()

    assert outcome(events) == "interrupt"
    assert reader.text == "Please confirm."
    assert {e["toolCallId"] for e in events if "toolCallId" in e} == {"early"}
    assert reader.kinds[-7:-3] == ["CUSTOM", "TOOL_CALL_END", "TOOL_CALL_RESULT", "STEP_FINISHED"]


@pytest.mark.parametrize(
    "final", [Pause([approval("c")], None), Pause([approval("d")], None, ["early"])]
)
async def test_a_pause_of_the_agents_own_that_comes_while_it_stops_goes_first(final: Pause) -> None:
    items: list[RunItem] = [*call_events("early"), "Please confirm.", *call_events("c"), final]
    given = await items_of(KeywordAdapter(Scripted(items, stop=True)))

    assert isinstance(given[-1], Pause) and given[-1].asks == final.asks


@pytest.mark.parametrize("final", [Pause([approval("d")], None, ["c"]), Handoff(["c"])])
async def test_a_pause_that_waits_for_a_call_which_was_not_let_through_gives_way(
    final: Pause | Handoff,
) -> None:
    items: list[RunItem] = ["Please confirm.", *call_events("c"), final]
    given = await items_of(KeywordAdapter(Scripted(items, stop=True)))

    assert isinstance(given[-1], Pause) and given[-1].asks[0].reason == "confirmation"
    assert [show(item) for item in given[:-1]] == ["Please confirm."]
