"""Stops, lost leases, closed generators, and agents that don't want to end."""

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from agui_bridge.adapters import Adapter, Resume, Run
from agui_bridge.agents.function import execution
from agui_bridge.agents.function.adapter import FunctionAdapter
from agui_bridge.agents.function.run import FunctionRun
from agui_bridge.errors import AgentMistake, Fenced
from tests.agents.function.harness import Thread, collect, make_run, yes

pytestmark = pytest.mark.anyio


def minted(**changes: Any) -> Run:
    return make_run(Thread(quiet_agent).mint, **changes)


def quiet_agent() -> Callable[..., Any]:
    async def agent(run: FunctionRun) -> None: ...

    return agent


def test_it_is_an_adapter_with_every_decision_and_a_stop() -> None:
    adapter = FunctionAdapter(quiet_agent())
    assert isinstance(adapter, Adapter)
    has = adapter.capabilities
    assert has.approve and has.decline and has.edit and has.answer and has.cancel
    assert has.stop and has.policy and not has.own_history


async def test_closing_the_adapter_releases_nothing() -> None:
    await FunctionAdapter(quiet_agent()).aclose()


async def test_the_run_s_own_values_are_passed_through() -> None:
    seen: list[Any] = []

    async def agent(run: FunctionRun) -> None:
        run.usage.append({"model": "m"})
        seen.extend([run.thread_id, run.run_id, run.principal, run.input, run.closed, run.stop])
        seen.append(run.result)

    run = minted()
    await collect(FunctionAdapter(agent), run)
    assert seen == ["t", "r", run.principal, run.input, run.closed, run.stop, None]
    assert run.usage == [{"model": "m"}]


async def test_a_stop_before_the_start_runs_nothing() -> None:
    run = minted()
    run.stop.request()
    done: list[int] = []

    async def agent(run: FunctionRun) -> None:
        done.append(1)

    assert (await collect(FunctionAdapter(agent), run)).items == []
    assert done == []


async def test_a_graceful_stop_lets_tools_finish_and_cancels_the_rest() -> None:
    events: list[str] = []
    begun = asyncio.Event()
    finish = asyncio.Event()
    unwound = asyncio.Event()

    async def tool() -> str:
        begun.set()
        await finish.wait()
        events.append("tool")
        return "ok"

    async def slow() -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            events.append("step cancelled")

    async def agent(run: FunctionRun) -> AsyncIterator[str]:
        yield "text"
        try:
            await asyncio.gather(
                run.step("slow", slow), run.call("tool", {}, tool), run.confirm("pending?")
            )
        finally:
            events.append("finally")
            unwound.set()
        await run.call("never", {}, tool)

    run = minted()
    task = asyncio.create_task(collect(FunctionAdapter(agent), run))
    await begun.wait()
    run.stop.request()
    await unwound.wait()
    assert not task.done()
    finish.set()
    outcome = await task
    assert outcome.final is None
    assert outcome.wire[0] == "text"
    assert outcome.wire[-1][0] == "TOOL_CALL_RESULT" and outcome.wire[-1][-1] == "ok"
    assert sorted(events) == ["finally", "step cancelled", "tool"]


async def test_once_a_stop_is_requested_nothing_begins() -> None:
    done: list[str] = []

    async def agent(run: FunctionRun) -> None:
        run.stop.request()
        await run.step("x", done.append, "x")

    outcome = await collect(FunctionAdapter(agent), minted())
    assert (outcome.items, outcome.final, done) == ([], None, [])


async def test_a_forced_stop_waits_for_no_thread() -> None:
    begun, release = threading.Event(), threading.Event()

    def tool() -> None:
        begun.set()
        release.wait(10)

    async def agent(run: FunctionRun) -> None:
        await run.call("tool", {}, tool)

    run = minted()
    task = asyncio.create_task(collect(FunctionAdapter(agent), run))
    try:
        assert await asyncio.to_thread(begun.wait, 5)
        run.stop.request()
        await asyncio.sleep(0.1)
        assert not task.done(), "a graceful stop waits for the tool"
        run.stop.request(force=True)
        async with asyncio.timeout(20):
            outcome = await task
    finally:
        release.set()
    assert [w[0] for w in outcome.wire] == ["TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END"]


async def test_approved_calls_are_told_as_not_begun_only_if_they_certainly_were_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(execution, "FORCED_GRACE", 0.05)
    begun, release = asyncio.Event(), asyncio.Event()

    async def tool() -> None:
        begun.set()
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue

    async def agent(run: FunctionRun) -> None:
        first, second = await asyncio.gather(run.approve("a", {}), run.approve("b", {}))
        await run.tool(first, tool)
        await run.tool(second, tool)

    async def stop(run: Run) -> None:
        await begun.wait()
        run.stop.request(force=True)

    thread = Thread(lambda: agent)
    pause = (await thread.go()).pause
    answers = Resume(pause.continuation, {ask.native_id: yes(ask) for ask in pause.asks})
    run = minted(resume=answers)
    stopping = asyncio.create_task(stop(run))
    await collect(FunctionAdapter(agent), run)
    await stopping
    release.set()

    called = {ask.tool_call.name: ask.tool_call.id for ask in pause.asks if ask.tool_call}
    assert list(run.not_begun) == [called["b"]], "the first is still under way"


async def test_the_lease_is_checked_before_each_act_and_its_loss_can_t_be_swallowed() -> None:
    checks: list[int] = []
    done: list[int] = []

    def check() -> None:
        checks.append(1)
        if len(checks) == 4:
            raise Fenced("the lease is over")

    async def model() -> AsyncIterator[str]:
        yield "x"

    async def agent(run: FunctionRun) -> AsyncIterator[str]:
        await run.step("1", done.append, 1)
        await run.stream("2", model)
        await run.call("3", {}, lambda: done.append(3))
        for n in (4, 5):
            try:
                await run.step(str(n), done.append, n)
            except Exception:
                yield "swallowed"

    with pytest.raises(Fenced):
        await collect(FunctionAdapter(agent), minted(check_lease=check))
    assert (len(checks), done) == (4, [1, 3])


async def test_closing_the_generator_cancels_the_agent_and_its_tools() -> None:
    events: list[str] = []
    begun = asyncio.Event()

    async def tool() -> None:
        begun.set()
        try:
            await asyncio.sleep(3600)
        finally:
            events.append("tool")

    async def words() -> AsyncIterator[str]:
        await begun.wait()
        yield "the tool runs"

    async def agent(run: FunctionRun) -> None:
        try:
            await asyncio.gather(run.call("tool", {}, tool), run.stream("talk", words))
        finally:
            events.append("agent")

    items = FunctionAdapter(agent).run(minted())
    async for item in items:
        if item == "the tool runs":
            break
    await items.aclose()
    assert sorted(events) == ["agent", "tool"]


async def test_cancelling_the_reader_cancels_the_agent_and_goes_on_up() -> None:
    events: list[str] = []

    async def agent(run: FunctionRun) -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            events.append("agent")

    task = asyncio.create_task(collect(FunctionAdapter(agent), minted()))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert events == ["agent"]


async def test_an_agent_that_will_not_end_is_left_behind_and_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(execution, "GRACE", 0.05)
    release = asyncio.Event()

    async def agent(run: FunctionRun) -> AsyncIterator[str]:
        yield "x"
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue

    items = FunctionAdapter(agent).run(minted())
    assert await anext(items) == "x"
    with caplog.at_level(logging.WARNING):
        await items.aclose()
    assert "left behind" in caplog.text
    release.set()
    await asyncio.sleep(0)


async def test_an_agent_that_cancels_itself_has_made_a_mistake() -> None:
    async def agent(run: FunctionRun) -> None:
        raise asyncio.CancelledError

    with pytest.raises(AgentMistake, match="cancelled its own task"):
        await collect(FunctionAdapter(agent), minted())


async def test_errors_while_a_pause_cancels_the_agent_are_logged_and_the_pause_holds(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def agent(run: FunctionRun) -> None:
        try:
            await run.confirm("?")
        finally:
            raise ValueError("cleanup")

    with caplog.at_level(logging.WARNING):
        assert (await collect(FunctionAdapter(agent), minted())).asked == ["?"]
    assert "cleanup" in caplog.text


async def test_a_tool_under_way_finishes_when_a_sibling_s_error_ends_the_function() -> None:
    done: list[str] = []

    async def tool() -> None:
        await asyncio.sleep(0.05)
        done.append("tool")

    async def approved(run: FunctionRun) -> None:
        await run.tool(await run.approve("t", {}), tool)

    async def fails(run: FunctionRun) -> None:
        await asyncio.sleep(0.01)
        raise ValueError("boom")

    async def agent(run: FunctionRun) -> None:
        await asyncio.gather(approved(run), fails(run))

    thread = Thread(lambda: agent)
    first = await thread.go()
    assert first.asked == ["t"]
    with pytest.raises(ValueError, match="boom"):
        await thread.answer(yes)
    assert done == ["tool"]


async def test_a_reader_that_leaves_while_the_agent_waits_for_room_ends_it() -> None:
    async def agent(run: FunctionRun) -> AsyncIterator[str]:
        while True:
            yield "x"

    items = FunctionAdapter(agent).run(minted())
    await anext(items)
    await asyncio.sleep(0)
    async with asyncio.timeout(20):
        await items.aclose()


async def test_a_pause_leaves_no_task_behind() -> None:
    before = asyncio.all_tasks()

    async def orphan(run: FunctionRun) -> None:
        await run.confirm("orphan?")

    async def agent(run: FunctionRun) -> None:
        task = asyncio.create_task(orphan(run))
        await run.confirm("main?")
        await task

    outcome = await collect(FunctionAdapter(agent), minted())
    assert outcome.asked == ["main?", "orphan?"]
    for _ in range(3):
        await asyncio.sleep(0)
    assert asyncio.all_tasks() == before
