"""A function agent carries nothing out once it has asked for a confirmation, until it has it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
from ag_ui.core import BaseEvent, ToolCallChunkEvent, ToolCallStartEvent

from agui_bridge import FunctionRun, KeywordAdapter
from tests.agents.function.effects import Effects
from tests.support.agents import Bench, outcome, result, settle


async def by_call(run: FunctionRun, effects: Effects) -> None:
    await run.call("delete", {"what": "rows"}, effects.act)


async def by_step(run: FunctionRun, effects: Effects) -> None:
    await run.step("delete", effects.act)


async def by_many(run: FunctionRun, effects: Effects) -> None:
    async with asyncio.TaskGroup() as tasks:
        for key in "abc":
            tasks.create_task(run.call("delete", {"what": key}, effects.act, key=key))


async def by_swallowing(run: FunctionRun, effects: Effects) -> None:
    for attempt in "abc":
        try:
            await run.call("delete", {"what": attempt}, effects.act)
        except Exception:
            continue


async def by_the_application(run: FunctionRun, effects: Effects) -> None:
    await run.frontend_tool("paint", {})


ACTS = [by_call, by_step, by_many, by_swallowing, by_the_application]


SPEECHES = [
    ["Please confirm: delete 3 rows."],
    ["Please confirm: delete 3 rows. Bye. "],
    ["I think ", "plea", "se con", "firm"],
    ["`open please confirm", " this"],
    ["是否继续", "删除"],
    [*["word "] * 500, "Are you sure"],
]


@pytest.mark.parametrize("speech", SPEECHES)
@pytest.mark.parametrize("act", ACTS)
async def test_a_function_agent_carries_nothing_out_after_the_request(
    act: Callable[[FunctionRun, Effects], Awaitable[None]], speech: list[str], effects: Effects
) -> None:
    async def agent(run: FunctionRun) -> AsyncIterator[str]:
        for token in speech:
            yield token
        await act(run, effects)
        yield "Deleted!"

    async with Bench(KeywordAdapter(agent)).open() as bench:
        reader = bench.begin("go")
        events = await reader.rest()

    assert outcome(events) == "interrupt"
    assert effects.done == []
    assert [kind for kind in reader.kinds if kind.startswith("TOOL_CALL")] == []
    assert reader.text == "".join(speech)


@pytest.mark.parametrize("begins", ["TOOL_CALL_START", "TOOL_CALL_CHUNK"])
async def test_a_function_that_emits_its_calls_itself_does_not_get_to_carry_them_out(
    begins: str, effects: Effects
) -> None:
    event = ToolCallStartEvent if begins == "TOOL_CALL_START" else ToolCallChunkEvent

    async def agent(run: FunctionRun) -> AsyncIterator[str | BaseEvent]:
        yield event(tool_call_id="a", tool_call_name="look")
        effects.act("look")
        yield result("a")
        yield "Please confirm: delete 3 rows."
        yield event(tool_call_id="b", tool_call_name="delete")
        effects.act("delete")

    async with Bench(KeywordAdapter(agent)).open() as bench:
        events = await bench.say("go")

    assert (outcome(events), effects.done) == ("interrupt", ["look"])
    assert {e["toolCallId"] for e in events if "toolCallId" in e} == {"a"}


@pytest.mark.parametrize("phrases", [(["please confirm"], ["?"]), (["x y"], ["please confirm"])])
async def test_of_two_wrappers_either_holds(
    phrases: tuple[list[str], list[str]], effects: Effects
) -> None:
    async def agent(run: FunctionRun) -> AsyncIterator[str]:
        yield "Please confirm: delete 3 rows."
        await run.call("delete", {"what": "rows"}, effects.act)

    inside, outside = phrases
    both = KeywordAdapter(KeywordAdapter(agent, phrases=inside), phrases=outside)
    async with Bench(both).open() as bench:
        assert outcome(await bench.say("go")) == "interrupt"

    assert effects.done == []


async def test_a_call_in_a_task_that_waited_since_before_the_request_is_held_too(
    effects: Effects,
) -> None:
    async def agent(run: FunctionRun) -> AsyncIterator[str]:
        calling = asyncio.create_task(run.call("delete", {"what": "rows"}, effects.act))
        yield "Please confirm: delete 3 rows."
        await calling

    async with Bench(KeywordAdapter(agent)).open() as bench:
        assert outcome(await bench.say("go")) == "interrupt"

    assert effects.done == []


async def test_it_carries_out_once_and_only_after_a_yes(effects: Effects) -> None:
    async def agent(run: FunctionRun) -> AsyncIterator[str]:
        if run.text.startswith("Yes"):
            await run.call("delete", {"what": "rows"}, effects.act)
            yield "Deleted."
        elif run.text.startswith("No"):
            yield "Left alone."
        else:
            yield "Please confirm: delete 3 rows."

    for confirm, done in ((False, []), (True, ["rows"])):
        async with Bench(KeywordAdapter(agent)).open() as bench:
            interrupts = await bench.ask()
            answer = bench.entries(interrupts, {"confirm": confirm})
            events = await bench.say(resume=answer)
            assert outcome(events) == "success"
            assert outcome(await bench.say(resume=answer)) == "success", "a replay"
        assert effects.done == done


async def test_without_a_request_everything_is_carried_out_in_its_order(effects: Effects) -> None:
    async def agent(run: FunctionRun) -> AsyncIterator[str]:
        yield "I show `please confirm`, "
        await run.call("delete", {"what": "a"}, effects.act)
        yield "go on "
        await run.step("b", effects.act, "b")
        for _ in range(1000):
            yield "x"
        await asyncio.gather(*(run.step(k, effects.act, k, key=k) for k in "cd"))

    async with Bench(KeywordAdapter(agent)).open() as bench:
        reader = bench.begin("go")
        events = await reader.rest()

    assert outcome(events) == "success"
    assert effects.done == ["a", "b", "c", "d"]
    assert "TOOL_CALL_RESULT" in reader.kinds


async def test_text_goes_on_after_the_request(effects: Effects) -> None:
    async def words() -> AsyncIterator[str]:
        yield "I wait for you."

    async def agent(run: FunctionRun) -> AsyncIterator[str]:
        yield "Please confirm: delete 3 rows. "
        await run.stream("more", words())

    async with Bench(KeywordAdapter(agent)).open() as bench:
        reader = bench.begin("go")
        await reader.rest()

    assert reader.text == "Please confirm: delete 3 rows. I wait for you."


async def test_what_had_begun_before_the_request_finishes_and_shows_its_result(
    effects: Effects,
) -> None:
    async def agent(run: FunctionRun) -> AsyncIterator[str]:
        looking = asyncio.create_task(run.call("look", {}, effects.act_slowly))
        await effects.begun.wait()
        yield "Please confirm: delete 3 rows."
        await run.call("delete", {"what": "rows"}, effects.act)
        await looking

    async with Bench(KeywordAdapter(agent)).open() as bench:
        reader = bench.begin("go")
        await reader.until("TEXT_MESSAGE_CONTENT")
        await settle()
        effects.may_end.set()
        events = await reader.rest()

    assert outcome(events) == "interrupt"
    assert effects.done == ["begun", "ended"]
    (shown,) = (e for e in events if e["type"] == "TOOL_CALL_RESULT")
    assert shown["content"] == "gone"
