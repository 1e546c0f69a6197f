"""Nothing is carried out once an agent has asked for a confirmation, until it has it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from typing import Any

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

from agui_bridge import FunctionRun, KeywordAdapter, ProposedCall, Verdict
from agui_bridge.adapters import Handoff, Pause, Run, RunItem, StopSignal
from tests.agents.harness import make_run, show
from tests.support.agents import (
    Bench,
    Scripted,
    approval,
    call_events,
    eventually,
    outcome,
    result,
    settle,
    text_events,
)

CONFIRM = {"confirm": True}
NOT_EXECUTED = (
    "The agent asked for another confirmation before it carried this tool call out; it was not "
    "executed."
)
Agent = Callable[[FunctionRun], AsyncIterator[Any]]


class Effects:
    """Counts what was carried out."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.begun = asyncio.Event()
        self.may_end = asyncio.Event()

    def act(self, what: str = "delete") -> str:
        self.done.append(what)
        return "gone"

    async def act_slowly(self) -> str:
        self.done.append("begun")
        self.begun.set()
        await self.may_end.wait()
        self.done.append("ended")
        return "gone"


@pytest.fixture
def effects() -> Effects:
    return Effects()


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


async def test_an_approved_call_that_a_request_precedes_is_not_carried_out_either(
    effects: Effects,
) -> None:
    async def agent(run: FunctionRun) -> AsyncIterator[str]:
        approval = await run.approve("delete", {"what": "rows"})
        yield "Are you sure? "
        if approval.approved:
            await run.tool(approval, effects.act)

    async with Bench(KeywordAdapter(agent)).open() as bench:
        interrupts = await bench.ask()
        events = await bench.say(resume=bench.entries(interrupts))

    assert outcome(events) == "interrupt"
    assert events[-1]["outcome"]["interrupts"][0]["reason"] == "confirmation"
    assert effects.done == []
    (told,) = (e for e in events if e["type"] == "TOOL_CALL_RESULT")
    assert told["toolCallId"] == interrupts[0]["toolCallId"]
    assert told["content"] == NOT_EXECUTED


async def pay_after_asking(run: FunctionRun, effects: Effects) -> AsyncIterator[str]:
    approval = await run.approve("pay", {"what": "rent"})
    yield "Are you sure?"
    await run.tool(approval, effects.act)


async def pay_never(run: FunctionRun, effects: Effects) -> AsyncIterator[str]:
    await run.approve("pay", {"what": "rent"})
    yield "Are you sure?"


@pytest.mark.parametrize("wrappers", [1, 2])
@pytest.mark.parametrize("pay", [pay_after_asking, pay_never])
async def test_an_approved_call_that_was_not_begun_is_told_as_not_executed(
    pay: Callable[[FunctionRun, Effects], AsyncIterator[str]], wrappers: int, effects: Effects
) -> None:
    async def agent(run: FunctionRun) -> AsyncIterator[str]:
        async for token in pay(run, effects):
            yield token

    adapter = KeywordAdapter(agent)
    if wrappers == 2:
        adapter = KeywordAdapter(KeywordAdapter(agent, phrases=["nothing like it"]))
    async with Bench(adapter).open() as bench:
        interrupts = await bench.ask()
        events = await bench.say(resume=bench.entries(interrupts))

    assert (outcome(events), effects.done) == ("interrupt", [])
    (told,) = (e for e in events if e["type"] == "TOOL_CALL_RESULT")
    assert (told["toolCallId"], told["content"]) == (interrupts[0]["toolCallId"], NOT_EXECUTED)


async def test_a_call_that_the_policy_had_approved_and_that_was_not_begun_is_told_alike(
    effects: Effects,
) -> None:
    async def agent(run: FunctionRun) -> AsyncIterator[str]:
        paying = asyncio.create_task(run.call("pay", {"what": "rent"}, effects.act))
        await run.approve("look", {})
        yield "Are you sure?"
        await paying

    async def policy(call: ProposedCall) -> Verdict:
        if not call.approved:
            return Verdict("ask")
        await effects.may_end.wait()
        return Verdict("allow")

    bench = Bench(KeywordAdapter(agent))
    bench.agent = replace(bench.agent, policy=policy)
    async with bench.open():
        interrupts = await bench.ask()
        reader = bench.begin(resume=bench.entries(interrupts))
        await reader.until("TEXT_MESSAGE_CONTENT")
        await settle()
        effects.may_end.set()
        events = await reader.rest()

    assert (outcome(events), effects.done) == ("interrupt", [])
    told = {e["toolCallId"]: e["content"] for e in events if e["type"] == "TOOL_CALL_RESULT"}
    assert set(told) == {ask["toolCallId"] for ask in interrupts}
    # One was held back, one was still being judged: each says why it did not begin.
    assert len(told) == 2
    assert all("not executed" in content for content in told.values())


async def test_an_approved_call_that_was_begun_and_broke_off_is_not_told_as_not_executed(
    effects: Effects,
) -> None:
    async def act(what: str) -> None:
        await effects.act_slowly()
        raise asyncio.CancelledError

    async def agent(run: FunctionRun) -> AsyncIterator[str]:
        approval = await run.approve("pay", {"what": "rent"})
        paying = asyncio.create_task(run.tool(approval, act))
        await effects.begun.wait()
        yield "Are you sure?"
        await run.call("look", {}, effects.act)
        await paying

    async with Bench(KeywordAdapter(agent)).open() as bench:
        interrupts = await bench.ask()
        reader = bench.begin(resume=bench.entries(interrupts))
        await reader.until("TEXT_MESSAGE_CONTENT")
        await settle()
        effects.may_end.set()
        events = await reader.rest()

    assert (outcome(events), effects.done) == ("interrupt", ["begun", "ended"])
    (told,) = (e for e in events if e["type"] == "TOOL_CALL_RESULT")
    assert "no result of this tool call is known" in told["content"]


async def test_an_approval_that_the_agent_asks_for_after_a_request_goes_first(
    effects: Effects,
) -> None:
    async def agent(run: FunctionRun) -> AsyncIterator[str]:
        yield "Are you sure? "
        approval = await run.approve("delete", {"what": "rows"})
        if approval.approved:
            await run.tool(approval, effects.act)

    async with Bench(KeywordAdapter(agent)).open() as bench:
        interrupts = await bench.ask()
        events = await bench.say(resume=bench.entries(interrupts))

    assert interrupts[0]["reason"] == "tool_call"
    assert (outcome(events), effects.done) == ("success", ["rows"])


@pytest.mark.parametrize("action", ["allow", "deny", "ask"])
async def test_a_policy_is_not_asked_about_a_call_that_may_not_begin(
    action: Any, effects: Effects
) -> None:
    async def agent(run: FunctionRun) -> AsyncIterator[str]:
        yield "Please confirm: delete 3 rows."
        await run.call("delete", {"what": "rows"}, effects.act)

    def policy(call: ProposedCall) -> Verdict:
        effects.act("judged")
        return Verdict(action)

    bench = Bench(KeywordAdapter(agent))
    bench.agent = replace(bench.agent, policy=policy)
    async with bench.open():
        reader = bench.begin("go")
        events = await reader.rest()

    (ask,) = events[-1]["outcome"]["interrupts"]
    assert (ask["reason"], effects.done) == ("confirmation", [])
    assert "TOOL_CALL_START" not in reader.kinds


# --- adapters of other kinds ---


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

    items = [item async for item in KeywordAdapter(Scripted(script, stop=stops)).run(make_run())]

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
    given = [item async for item in KeywordAdapter(Scripted(items, stop=True)).run(make_run())]

    assert isinstance(given[-1], Pause) and given[-1].asks == final.asks


@pytest.mark.parametrize("final", [Pause([approval("d")], None, ["c"]), Handoff(["c"])])
async def test_a_pause_that_waits_for_a_call_which_was_not_let_through_gives_way(
    final: Pause | Handoff,
) -> None:
    items: list[RunItem] = ["Please confirm.", *call_events("c"), final]
    given = [item async for item in KeywordAdapter(Scripted(items, stop=True)).run(make_run())]

    assert isinstance(given[-1], Pause) and given[-1].asks[0].reason == "confirmation"
    assert [show(item) for item in given[:-1]] == ["Please confirm."]


# --- stops from outside ---


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


async def test_a_child_signal_is_set_with_its_parent_and_never_the_other_way() -> None:
    parent = StopSignal()
    child = parent.child()
    child.request()
    assert (child.requested, parent.requested) == (True, False)

    parent.request()
    parent.request(force=True)
    assert child.force
    late = parent.child()
    assert late.requested and late.force
    await eventually(lambda: child.requested)
    await late
