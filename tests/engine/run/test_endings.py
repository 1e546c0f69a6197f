"""How a run ends when its adapter ends, raises, or hands over nonsense."""

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest
from ag_ui.core import (
    RunFinishedEvent,
    StepStartedEvent,
    SubagentStartedEvent,
    TextMessageContentEvent,
    ToolCallArgsEvent,
    ToolCallResultEvent,
)

from agui_bridge.adapters import Ask, Pause, Run, RunItem
from agui_bridge.errors import (
    AgentMistake,
    NotDelivered,
    ProtocolViolation,
    ReplayMismatch,
    UpstreamError,
)
from agui_bridge.logs import RunFilter
from agui_bridge.protocol.threads.records import InterruptStatus, ThreadStatus
from tests.support.agents import (
    Answering,
    Bench,
    Scripted,
    approval,
    call_events,
    outcome,
    result,
    text_events,
)

SECRET = "postgres://user:hunter2@db"


async def test_plain_text_is_a_success() -> None:
    bench = Bench(Scripted(["Hel", "lo."]))
    events = await bench.say("hi")
    assert outcome(events) == "success"
    assert await bench.texts() == [("user", "hi"), ("assistant", "Hello.")]


async def test_no_item_at_all_is_a_success() -> None:
    bench = Bench(Scripted([]))
    assert [e["type"] for e in await bench.say("hi")] == ["RUN_STARTED", "RUN_FINISHED"]
    assert (await bench.load()).status is ThreadStatus.IDLE


async def test_result_and_usage_are_on_the_terminal_event() -> None:
    async def script(run: Run) -> AsyncIterator[RunItem]:
        yield "x"
        run.result = {"answer": 42}
        run.usage.append({"provider": "p", "model": "m", "inputTokens": 3, "outputTokens": 4})

    last = (await Bench(Scripted(script)).say("hi"))[-1]
    assert last["result"] == {"answer": 42}
    assert last["usage"] == [{"provider": "p", "model": "m", "inputTokens": 3, "outputTokens": 4}]


@pytest.mark.parametrize(
    "error, code, told",
    [
        (ValueError(SECRET), "AGENT_ERROR", False),
        (KeyError(SECRET), "AGENT_ERROR", False),
        (AgentMistake(SECRET), "AGENT_ERROR", False),
        (ReplayMismatch(SECRET), "AGENT_ERROR", False),
        (UpstreamError("the server said 503"), "UPSTREAM_ERROR", True),
        (NotDelivered("connection refused"), "UPSTREAM_ERROR", True),
        (ProtocolViolation("out of order"), "AGENT_PROTOCOL_ERROR", True),
        (asyncio.CancelledError(), "AGENT_ERROR", False),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else None,
)
async def test_an_error_ends_the_run_with_its_code_and_keeps_the_text_so_far(
    error: BaseException, code: str, told: bool
) -> None:
    bench = Bench(Scripted(["so far", error], ["again"]))
    events = await bench.say("hi")
    assert outcome(events) == code
    assert (str(error) == events[-1]["message"]) is told
    assert SECRET not in str(events)
    assert await bench.texts() == [("user", "hi"), ("assistant", "so far")]
    assert (await bench.load()).status is ThreadStatus.IDLE
    assert outcome(await bench.say("more")) == "success"


async def test_an_adapter_whose_run_raises_at_once_is_an_agent_error() -> None:
    class Broken(Scripted):
        def run(self, run: Run) -> AsyncIterator[RunItem]:
            raise RuntimeError("no")

    assert outcome(await Bench(Broken([])).say("hi")) == "AGENT_ERROR"


async def test_an_error_of_the_adapters_own_cleanup_is_an_agent_error() -> None:
    async def script(run: Run) -> AsyncIterator[RunItem]:
        try:
            yield Pause([approval()])
        finally:
            raise RuntimeError("cleanup")

    bench = Bench(Scripted(script))
    assert outcome(await bench.say("hi")) == "AGENT_ERROR"
    assert (await bench.load()).status is ThreadStatus.IDLE


async def test_what_comes_after_a_pause_is_not_heard() -> None:
    bench = Bench(Scripted([Pause([approval()]), "too late"]))
    events = await bench.say("go")
    assert outcome(events) == "interrupt"
    assert "TEXT_MESSAGE_START" not in [e["type"] for e in events]


@pytest.mark.parametrize(
    "items",
    [
        [RunFinishedEvent(thread_id="t", run_id="r")],
        [ToolCallArgsEvent(tool_call_id="never-started", delta="{}")],
        [ToolCallResultEvent(message_id="m", tool_call_id="never-started", content="x")],
        [StepStartedEvent(step_name="s"), StepStartedEvent(step_name="s")],
        [TextMessageContentEvent(message_id="m", delta="x", subagent_run_id="nobody")],
        [42],
    ],
    ids=["run-event", "args", "result", "step", "subagent", "no-item"],
)
async def test_a_broken_event_order_ends_with_everything_closed(items: list[Any]) -> None:
    bench = Bench(Scripted([*text_events("m1", "open", end=False), *call_events("c1")[:1], *items]))
    events = await bench.say("hi")
    kinds = [e["type"] for e in events]
    assert outcome(events) == "AGENT_PROTOCOL_ERROR"
    assert kinds.count("TEXT_MESSAGE_START") == kinds.count("TEXT_MESSAGE_END") == 1
    assert kinds.count("TOOL_CALL_START") == kinds.count("TOOL_CALL_END") == 1
    assert kinds.count("TOOL_CALL_RESULT") == 1
    assert (await bench.load()).status is ThreadStatus.IDLE


@pytest.mark.parametrize(
    "final, code",
    [
        (Pause([approval("a", "n"), approval("b", "n")]), "AGENT_PROTOCOL_ERROR"),
        (Pause([Ask(str(i)) for i in range(101)]), "AGENT_PROTOCOL_ERROR"),
        (Pause([Ask("n", subagent_run_id="nobody")]), "AGENT_PROTOCOL_ERROR"),
    ],
    ids=["twice", "many", "subagent"],
)
async def test_an_impossible_pause_is_a_failed_run_and_an_idle_thread(
    final: RunItem, code: str
) -> None:
    bench = Bench(Scripted(["text", final], ["again"]))
    events = await bench.say("hi")
    assert outcome(events) == code
    assert "RUN_FINISHED" not in [e["type"] for e in events]
    loaded = await bench.load()
    assert (loaded.status, loaded.interrupts) == (ThreadStatus.IDLE, {})
    assert outcome(await bench.say("more")) == "success"


async def test_usage_that_is_none_fails_the_run_and_not_the_thread() -> None:
    async def script(run: Run) -> AsyncIterator[RunItem]:
        yield "x"
        run.usage = None  # type: ignore[assignment]  # wrong on purpose

    bench = Bench(Scripted(script))
    assert outcome(await bench.say("hi")) == "AGENT_ERROR"
    assert (await bench.load()).status is ThreadStatus.IDLE


async def test_nothing_delivered_reopens_the_batch_and_it_can_be_answered_again() -> None:
    resumed: list[RunItem] = [result("c1", "sent"), "Done."]
    bench = Bench(Scripted([Pause([approval()], {"k": 1})], [NotDelivered("refused")], resumed))
    asked = await bench.ask()
    events = await bench.say(resume=bench.entries(asked))
    assert outcome(events) == "UPSTREAM_ERROR"
    assert events[-2]["outcome"]["interrupts"] == asked
    loaded = await bench.load(asked[0]["id"])
    assert loaded.status is ThreadStatus.INTERRUPTED
    assert loaded.interrupts[asked[0]["id"]].status is InterruptStatus.OPEN
    again = await bench.say(resume=bench.entries(asked))
    assert outcome(again) == "success"
    statuses = [
        a.status for a in (await bench.load(asked[0]["id"])).interrupts[asked[0]["id"]].audit
    ]
    assert statuses == ["open", "claimed", "open", "claimed", "resolved"]


async def test_after_a_reopening_another_answer_counts() -> None:
    agent = Answering()
    bench = Bench(agent)
    asked = await bench.ask()
    bench.agent = bench.agent.__class__(
        "agent", Scripted([NotDelivered("refused")]), bench.settings
    )
    await bench.say(resume=bench.entries(asked))
    bench.agent = bench.agent.__class__("agent", agent, bench.settings)
    assert outcome(await bench.say(resume=bench.entries(asked, {"approved": False}))) == "success"
    assert agent.executed == []


async def test_not_delivered_after_something_was_yielded_is_a_failure() -> None:
    bench = Bench(Scripted([Pause([approval()])], ["heard", NotDelivered("late")]))
    asked = await bench.ask()
    events = await bench.say(resume=bench.entries(asked))
    assert outcome(events) == "UPSTREAM_ERROR"
    assert "RUN_FINISHED" not in [e["type"] for e in events]
    assert (await bench.load()).status is ThreadStatus.IDLE
    again = await bench.say(resume=bench.entries(asked))
    assert outcome(again) == "UPSTREAM_ERROR"
    assert len(bench.adapter.runs) == 2  # type: ignore[attr-defined]  # the scripted adapter keeps them


async def test_a_declined_call_is_answered_so_even_when_the_agent_fails_at_once() -> None:
    bench = Bench(Scripted([Pause([approval()])], [ValueError("broken")]))
    asked = await bench.ask()
    await bench.say(resume=bench.entries(asked, {"approved": False, "reason": "no"}))
    last = (await bench.load()).messages[-1].message
    assert last["role"] == "tool"
    assert "declined" in last["content"] and "no" in last["content"]


async def test_a_cancelled_call_is_answered_and_the_agent_may_go_on() -> None:
    agent = Answering()
    bench = Bench(agent)
    asked = await bench.ask()
    events = await bench.say(resume=bench.entries(asked, status="cancelled"))
    assert outcome(events) == "success"
    results = [e for e in events if e["type"] == "TOOL_CALL_RESULT"]
    assert [r["toolCallId"] for r in results] == ["c1"]
    assert "cancelled" in results[0]["content"]
    assert agent.executed == []


async def test_an_agent_that_ends_without_a_result_leaves_no_dangling_call() -> None:
    bench = Bench(Scripted([*call_events("c1"), "bye"]))
    events = await bench.say("hi")
    assert outcome(events) == "success"
    assert [e["toolCallId"] for e in events if e["type"] == "TOOL_CALL_RESULT"] == ["c1"]
    assert "pendingToolCallIds" not in events[-1]["outcome"]


async def test_a_subagent_that_asks_is_suspended_under_its_public_interrupt_id() -> None:
    ask = approval(subagent_run_id="s1")
    started = SubagentStartedEvent(subagent_run_id="s1", name="helper")
    bench = Bench(Scripted([started, Pause([ask])]))
    events = await bench.say("go")
    [finished] = [e for e in events if e["type"] == "SUBAGENT_FINISHED"]
    [interrupt] = events[-1]["outcome"]["interrupts"]
    assert interrupt["subagentRunId"] == "s1"
    assert finished["outcome"] == {"type": "suspended", "interruptIds": [interrupt["id"]]}


async def test_failures_are_logged_with_agent_thread_and_run(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.handler.addFilter(keep := RunFilter())
    with caplog.at_level(logging.ERROR, "agui_bridge"):
        await Bench(Scripted([ValueError(SECRET)])).say("hi", runId="run-77")
    caplog.handler.removeFilter(keep)
    [told] = [vars(record) for record in caplog.records]
    assert (told["agui_agent"], told["agui_thread"], told["agui_run"]) == (
        "agent",
        "t",
        "run-77",
    )
