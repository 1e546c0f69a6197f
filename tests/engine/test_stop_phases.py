"""A stop in every phase of a run, whatever adapter runs it: what was streamed is kept."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from ag_ui.core import (
    BaseEvent,
    ReasoningMessageContentEvent,
    ReasoningMessageStartEvent,
    ReasoningStartEvent,
    SubagentStartedEvent,
    TextMessageContentEvent,
    TextMessageStartEvent,
    ToolCallArgsEvent,
    ToolCallStartEvent,
)

from agui_bridge.adapters import Adapter, Pause, Run, RunItem
from agui_bridge.agents.function import FunctionAdapter
from agui_bridge.agents.function_run import FunctionRun
from agui_bridge.agents.keyword import KeywordAdapter
from agui_bridge.errors import StoreUnavailable
from agui_bridge.protocol.records import ThreadStatus
from agui_bridge.protocol.transitions import Change
from agui_bridge.stores.memory import MemoryStore
from tests.engine.hooked import HookedStore, claims, ends
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

Item = str | BaseEvent
Phase = Callable[[Any], AsyncIterator[Any]]

# --- the phases: each comes to a point and stays there ---


async def before_the_first_event(run: Any) -> AsyncIterator[Item]:
    await asyncio.Event().wait()
    yield "never"


async def mid_text(run: Any) -> AsyncIterator[Item]:
    yield TextMessageStartEvent(message_id="m", role="assistant")
    yield TextMessageContentEvent(message_id="m", delta="half a sen")
    await asyncio.Event().wait()


async def mid_reasoning(run: Any) -> AsyncIterator[Item]:
    yield ReasoningStartEvent(message_id="r")
    yield ReasoningMessageStartEvent(message_id="r1", role="reasoning")
    yield ReasoningMessageContentEvent(message_id="r1", delta="half a thou")
    await asyncio.Event().wait()


async def mid_arguments(run: Any) -> AsyncIterator[Item]:
    yield ToolCallStartEvent(tool_call_id="c", tool_call_name="look")
    yield ToolCallArgsEvent(tool_call_id="c", delta='{"at": "the se')
    await asyncio.Event().wait()


async def in_a_tool(run: Any) -> AsyncIterator[Any]:
    for item in call_events("c", args='{"at":"sea"}'):
        yield item
    await asyncio.Event().wait()


async def between_steps(run: Any) -> AsyncIterator[Any]:
    for item in text_events("m", "whole"):
        yield item
    for item in call_events("c"):
        yield item
    yield result("c", "found")
    await asyncio.Event().wait()


PHASES: list[tuple[Phase, str, list[tuple[str, str]]]] = [
    (before_the_first_event, "RUN_STARTED", []),
    (mid_text, "TEXT_MESSAGE_CONTENT", [("assistant", "half a sen")]),
    (mid_reasoning, "REASONING_MESSAGE_CONTENT", [("reasoning", "half a thou")]),
    (
        mid_arguments,
        "TOOL_CALL_ARGS",
        [("assistant", ""), ("tool", "The run was stopped; this tool call was not executed.")],
    ),
    (
        in_a_tool,
        "TOOL_CALL_END",
        [("assistant", ""), ("tool", "The run was stopped; this tool call was not executed.")],
    ),
    (
        between_steps,
        "TOOL_CALL_RESULT",
        [("assistant", "whole"), ("assistant", ""), ("tool", "found")],
    ),
]

ADAPTERS: dict[str, Callable[[Phase], Adapter]] = {
    "scripted": Scripted,
    "function": FunctionAdapter,
    "keyword of a function": KeywordAdapter,
    "keyword of an adapter": lambda phase: KeywordAdapter(Scripted(phase)),
}


@pytest.mark.parametrize("force", [False, True], ids=["graceful", "forced"])
@pytest.mark.parametrize("adapter", ADAPTERS)
@pytest.mark.parametrize(("phase", "at", "kept"), PHASES, ids=[p[0].__name__ for p in PHASES])
async def test_what_was_streamed_is_kept_and_the_thread_goes_on(
    phase: Phase, at: str, kept: list[tuple[str, str]], adapter: str, force: bool
) -> None:
    async def once(run: Any) -> AsyncIterator[Any]:
        if run.text == "more":
            yield "gone on"
            return
        async for item in phase(run):
            yield item

    bench = Bench(ADAPTERS[adapter](once))
    reader = bench.begin("go")
    await reader.until(at)
    await settle()
    stopped = await bench.engine.stop(bench.KEY, force=force)
    assert (stopped.status, stopped.stop_reason) == ("success", "USER_INTERRUPTED")
    assert stopped.interrupted_at_iteration is None
    assert outcome(await reader.rest()) == "cancelled"

    wanted = [("user", "go"), *kept]
    stored = [(role, content or "") for role, content in await bench.texts()]
    # A framework may keep a call in the message of its text, or in one of its own.
    assert [pair for pair in stored if pair != ("assistant", "")] == [
        pair for pair in wanted if pair != ("assistant", "")
    ]
    assert list(stopped.messages) == [m.message for m in (await bench.load()).messages]
    assert (await bench.load()).status is ThreadStatus.IDLE
    assert outcome(await bench.say("more")) == "success"
    assert (await bench.texts())[-1] == ("assistant", "gone on")


@pytest.mark.parametrize("adapter", ["function", "keyword of a function"])
@pytest.mark.parametrize("sync", [False, True], ids=["async", "in a thread"])
async def test_a_graceful_stop_waits_for_a_running_tool_and_keeps_its_result(
    adapter: str, sync: bool
) -> None:
    began, may_end = threading.Event(), threading.Event()
    executed: list[str] = []

    async def slow() -> str:
        began.set()
        await asyncio.to_thread(may_end.wait, 20)
        executed.append("one")
        return "done"

    def blocking() -> str:
        began.set()
        may_end.wait(20)
        executed.append("one")
        return "done"

    async def agent(run: FunctionRun) -> AsyncIterator[str]:
        yield "working "
        await run.call("work", {}, blocking if sync else slow)
        await run.call("more", {}, lambda: executed.append("two"))
        yield "never"

    bench = Bench(ADAPTERS[adapter](agent))
    reader = bench.begin("go")
    await reader.until("TOOL_CALL_END")
    await eventually(began.is_set)
    stopping = asyncio.create_task(bench.engine.stop(bench.KEY))
    await settle()
    assert not stopping.done()
    may_end.set()
    stopped = await stopping
    await reader.rest()
    assert (stopped.status, executed) == ("success", ["one"])
    assert [m["content"] for m in stopped.messages if m["role"] == "tool"] == ["done"]
    assert "never" not in reader.text


@pytest.mark.parametrize("sync", [False, True], ids=["async", "in a thread"])
async def test_a_forced_stop_does_not_wait_for_a_tool_and_drops_what_it_returns(sync: bool) -> None:
    began, may_end = threading.Event(), threading.Event()

    async def slow() -> str:
        began.set()
        await asyncio.Event().wait()
        return "too late"

    def blocking() -> str:
        began.set()
        may_end.wait(20)
        return "too late"

    async def agent(run: FunctionRun) -> AsyncIterator[str]:
        yield "working "
        await run.call("work", {}, blocking if sync else slow)

    bench = Bench(FunctionAdapter(agent), cancel_grace=2.0)
    reader = bench.begin("go")
    await reader.until("TOOL_CALL_END")
    await eventually(began.is_set)
    stopped = await bench.engine.stop(bench.KEY, force=True)
    may_end.set()
    await reader.rest()
    [answer] = [m["content"] for m in stopped.messages if m["role"] == "tool"]
    assert stopped.status == "success"
    assert answer.startswith("The run was stopped")
    await settle()
    assert "too late" not in str((await bench.load()).messages)


async def test_the_iteration_that_an_agent_counts_is_told() -> None:
    async def agent(run: FunctionRun) -> AsyncIterator[str]:
        for number in (1, 2):
            run.iteration = number
            yield f"{number} "
        await asyncio.Event().wait()

    for adapter in (FunctionAdapter(agent), KeywordAdapter(agent)):
        bench = Bench(adapter)
        reader = bench.begin("go")
        await reader.until("TEXT_MESSAGE_CONTENT")
        await settle()
        assert (await bench.engine.stop(bench.KEY)).interrupted_at_iteration == 2
        await reader.rest()


async def test_subagents_of_a_stopped_run_are_stopped_and_what_they_produced_is_kept() -> None:
    ended: list[str] = []

    async def helper(name: str, queue: asyncio.Queue[Item]) -> None:
        try:
            await queue.put(SubagentStartedEvent(subagent_run_id=name, name=name))
            who = {"subagent_run_id": name}
            start = TextMessageStartEvent(message_id=f"m-{name}", role="assistant", **who)
            await queue.put(start)
            content = TextMessageContentEvent(message_id=f"m-{name}", delta=f"{name} said", **who)
            await queue.put(content)
            await asyncio.Event().wait()
        finally:
            ended.append(name)

    async def agent(run: FunctionRun) -> AsyncIterator[Item]:
        queue: asyncio.Queue[Item] = asyncio.Queue()
        yield "I delegate."
        async with asyncio.TaskGroup() as group:
            for name in ("ann", "bob"):
                group.create_task(helper(name, queue))
            while True:
                yield await queue.get()

    bench = Bench(FunctionAdapter(agent))
    reader = bench.begin("go")
    await reader.until("TEXT_MESSAGE_START")
    while len([k for k in reader.kinds if k == "TEXT_MESSAGE_CONTENT"]) < 3:
        assert await reader.step()
    stopped = await bench.engine.stop(bench.KEY)
    await reader.rest()
    assert sorted(ended) == ["ann", "bob"]
    assert [e["subagentRunId"] for e in reader.events if e["type"] == "SUBAGENT_ERROR"] == [
        "bob",
        "ann",
    ]
    kept = {m.get("subagentRunId"): m["content"] for m in stopped.messages[1:]}
    assert kept == {None: "I delegate.", "ann": "ann said", "bob": "bob said"}


# --- the store ---


class Held:
    """Keeps commits of a kind waiting until it is told to let them through."""

    def __init__(self, store: HookedStore, when: Callable[[Change], bool]) -> None:
        self.waiting, self.go = asyncio.Event(), asyncio.Event()

        async def hook(change: Change) -> None:
            if when(change):
                self.waiting.set()
                await self.go.wait()

        store.before = hook


async def test_a_stop_while_the_store_is_slow_to_take_the_claim_is_not_lost() -> None:
    store = HookedStore()
    held = Held(store, claims)
    bench = Bench(Scripted(mid_text, ["more"]), store=store)
    first = bench.begin("go")
    await held.waiting.wait()
    # The thread does not exist yet: nothing runs that could be stopped.
    assert (await bench.engine.stop(bench.KEY)).error == "There is no such thread."
    held.go.set()
    await first.until("TEXT_MESSAGE_CONTENT")
    assert (await bench.engine.stop(bench.KEY)).status == "success"
    assert outcome(await first.rest()) == "cancelled"


@pytest.mark.parametrize("force", [False, True], ids=["graceful", "forced"])
async def test_a_stop_waits_for_a_store_that_is_slow_and_keeps_everything(force: bool) -> None:
    store = HookedStore()
    held = Held(store, ends)
    bench = Bench(Scripted(between_steps), store=store)
    reader = bench.begin("go")
    await reader.until("TOOL_CALL_RESULT")
    stopping = asyncio.create_task(bench.engine.stop(bench.KEY, force=force))
    await held.waiting.wait()
    await settle()
    assert not stopping.done()
    assert "RUN_FINISHED" not in reader.kinds
    held.go.set()
    stopped = await stopping
    assert (stopped.status, stopped.message_count) == ("success", len(stopped.messages))
    assert [m.get("content") for m in stopped.messages if m["role"] != "assistant"] == [
        "go",
        "found",
    ]
    assert outcome(await reader.rest()) == "cancelled"


async def test_a_stop_outlives_a_store_that_fails_for_a_while() -> None:
    store = HookedStore()
    store.fail(ends, times=3, written=False)
    bench = Bench(Scripted(mid_text), store=store)
    reader = bench.begin("go")
    await reader.until("TEXT_MESSAGE_CONTENT")
    stopped = await bench.engine.stop(bench.KEY, force=True)
    assert (stopped.status, stopped.partial_response) == ("success", "half a sen")
    assert outcome(await reader.rest()) == "cancelled"


async def test_a_stop_that_the_store_does_not_take_says_so_and_the_run_goes_on() -> None:
    store = HookedStore()
    may_end = asyncio.Event()

    async def script(run: Run) -> AsyncIterator[RunItem]:
        yield "all "
        await may_end.wait()
        yield "said"

    bench = Bench(Scripted(script), store=store)
    reader = bench.begin("go")
    await reader.until("TEXT_MESSAGE_CONTENT")
    store.down = True
    with pytest.raises(StoreUnavailable):
        await bench.engine.stop(bench.KEY)
    store.down = False
    may_end.set()
    assert outcome(await reader.rest()) == "success"


# --- cancellation ---


async def _cancel_own_task(bench: Bench) -> None:
    """Cancel a run's own task, as a loop does that ends without the bridge being closed."""
    tasks = set(bench.engine._tasks)
    assert tasks
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@pytest.mark.parametrize("adapter", ADAPTERS)
async def test_a_cancelled_run_keeps_what_it_said(adapter: str) -> None:
    bench = Bench(ADAPTERS[adapter](mid_text))
    reader = bench.begin("go")
    await reader.until("TEXT_MESSAGE_CONTENT")
    await _cancel_own_task(bench)
    assert await bench.texts() == [("user", "go"), ("assistant", "half a sen")]
    assert (await bench.load()).status is ThreadStatus.IDLE
    assert outcome(await reader.rest()) == "cancelled"


async def test_a_run_that_is_cancelled_while_its_end_is_written_keeps_it() -> None:
    store = HookedStore()
    held = Held(store, ends)
    bench = Bench(Scripted(["all of it"]), store=store)
    reader = bench.begin("go")
    await held.waiting.wait()
    for task in set(bench.engine._tasks):
        task.cancel()
    await settle()
    held.go.set()
    await eventually(lambda: bool(store.commits) and ends(store.commits[-1][1]))
    assert await bench.texts() == [("user", "go"), ("assistant", "all of it")]
    while await reader.step():
        pass


async def test_an_agent_that_cancels_itself_loses_nothing() -> None:
    async def script(run: Run) -> AsyncIterator[RunItem]:
        yield "so far"
        raise asyncio.CancelledError

    bench = Bench(Scripted(script))
    assert outcome(await bench.say("go")) == "AGENT_ERROR"
    assert await bench.texts() == [("user", "go"), ("assistant", "so far")]


def test_a_loop_that_ends_amid_a_run_stores_what_it_said() -> None:
    store = MemoryStore()

    async def begin() -> None:
        bench = Bench(Scripted(mid_text), store=store)
        await bench.begin("go").until("TEXT_MESSAGE_CONTENT")

    asyncio.run(begin())
    loaded = asyncio.run(store.load(Bench.KEY, messages=True))
    assert [m.message["content"] for m in loaded.messages] == ["go", "half a sen"]
    assert loaded.status is ThreadStatus.IDLE


# --- from another replica ---


@pytest.mark.parametrize("force", [False, True], ids=["graceful", "forced"])
@pytest.mark.parametrize(("phase", "at", "kept"), PHASES, ids=[p[0].__name__ for p in PHASES])
async def test_a_stop_from_another_replica_keeps_the_same(
    phase: Phase, at: str, kept: list[tuple[str, str]], force: bool
) -> None:
    store = MemoryStore()
    owner, other = Bench(Scripted(phase), store=store), Bench(Scripted([]), store=store)
    async with owner.open(), other.open():
        reader = owner.begin("go")
        await reader.until(at)
        stopped = await other.engine.stop(Bench.KEY, force=force)
        assert (stopped.status, outcome(await reader.rest())) == ("success", "cancelled")
    said = [(m["role"], m.get("content") or "") for m in stopped.messages]
    assert [p for p in said if p[1]] == [("user", "go"), *(p for p in kept if p[1])]


async def test_stops_from_two_replicas_at_once_both_succeed() -> None:
    store = MemoryStore()
    owner, other = Bench(Scripted(mid_text), store=store), Bench(Scripted([]), store=store)
    async with owner.open(), other.open():
        reader = owner.begin("go")
        await reader.until("TEXT_MESSAGE_CONTENT")
        both = await asyncio.gather(*(b.engine.stop(Bench.KEY) for b in (owner, other)))
        assert [stopped.status for stopped in both] == ["success", "success"]
        assert outcome(await reader.rest()) == "cancelled"


async def test_an_interrupted_thread_is_stopped_from_another_replica() -> None:
    store = MemoryStore()
    owner = Bench(Scripted([Pause([approval()])], ["more"]), store=store)
    other = Bench(Scripted([]), store=store)
    async with owner.open(), other.open():
        asked = await owner.ask()
        assert (await other.engine.stop(Bench.KEY)).status == "success"
        late = await owner.say(resume=Bench.entries(asked))
        assert outcome(late) == "INTERRUPT_ALREADY_ANSWERED"
