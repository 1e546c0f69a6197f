"""A stop in every phase of a run, whatever adapter runs it: what was streamed is kept."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Any

import pytest
from ag_ui.core import SubagentStartedEvent, TextMessageContentEvent, TextMessageStartEvent

from agui_bridge.agents.function.adapter import FunctionAdapter
from agui_bridge.agents.function.run import FunctionRun
from agui_bridge.agents.keyword.adapter import KeywordAdapter
from agui_bridge.protocol.answers.unexecuted import STOPPED_AMID
from agui_bridge.protocol.threads.records import ThreadStatus
from tests.engine.stopping.phases import ADAPTERS, PHASES, Item, Phase
from tests.support.agents import Answering, Bench, Scripted, eventually, outcome, settle


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


@pytest.mark.parametrize("again", [False, True], ids=["idle", "gone on"])
@pytest.mark.parametrize("sync", [False, True], ids=["async", "in a thread"])
async def test_a_forced_stop_does_not_wait_for_a_tool_whose_result_is_kept_while_the_thread_is_idle(
    sync: bool, again: bool
) -> None:
    began, may_end, ended = threading.Event(), threading.Event(), threading.Event()

    async def stubborn() -> str:
        began.set()
        while not may_end.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(0.01)
        ended.set()
        return "it came late"

    def blocking() -> str:
        began.set()
        assert may_end.wait(20)
        ended.set()
        return "it came late"

    async def agent(run: FunctionRun) -> AsyncIterator[str]:
        yield "working "
        if run.text == "go":
            await run.call("work", {}, blocking if sync else stubborn)

    bench = Bench(FunctionAdapter(agent), cancel_grace=2.0)
    reader = bench.begin("go")
    await reader.until("TOOL_CALL_END")
    await eventually(began.is_set)
    stopped = await bench.engine.stop(bench.KEY, force=True)
    await reader.rest()
    assert stopped.status == "success"
    assert results_of(stopped.messages) == [STOPPED_AMID]
    if again:
        await bench.say("next")
    may_end.set()
    await eventually(ended.is_set)
    await eventually(lambda: not bench.engine._tasks)
    kept = results_of([stored.message for stored in (await bench.load()).messages])
    assert kept == [STOPPED_AMID if again else "it came late"]


def results_of(messages: Iterable[Mapping[str, Any]]) -> list[object]:
    return [m["content"] for m in messages if m["role"] == "tool"]


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


async def test_a_second_stop_of_a_question_is_a_success_until_the_thread_goes_on() -> None:
    bench = Bench(Answering())
    await bench.ask()
    for _ in range(2):
        assert (await bench.engine.stop(bench.KEY)).status == "success"
    other = Bench(Scripted(["x"]), store=bench.store)
    await other.say("next")
    assert (await bench.engine.stop(bench.KEY)).status == "error"
