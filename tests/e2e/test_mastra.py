"""A real Mastra server behind the bridge: what pauses, and what each answer does there."""

from __future__ import annotations

from typing import Any

import pytest

from agui_bridge import Bridge
from agui_bridge_mastra import MastraAdapter
from tests.e2e.mastra import APPROVE, CONFIRM, DECLINE, Talk, fresh, ran
from tests.support.mastra import MastraProcess


@pytest.mark.parametrize(
    ("agent", "prompt", "answer", "times"),
    [
        ("approval-agent", "delete {n}", APPROVE, 1),
        ("approval-agent", "delete {n}", DECLINE, 0),
        ("approval-agent", "delete {n}", None, 0),
        ("suspend-agent", "refund {n}", CONFIRM, 1),
        ("suspend-agent", "refund {n}", None, 0),
        ("supervisor", "agent delete {n}", APPROVE, 1),
        ("supervisor", "agent delete {n}", DECLINE, 0),
        ("supervisor", "agent delete {n}", None, 0),
        ("supervisor", "agent refund {n}", CONFIRM, 1),
        ("supervisor", "workflow {n}", CONFIRM, 1),
        ("routing-agent", "delete {n}", APPROVE, 1),
        ("routing-agent", "delete {n}", DECLINE, 0),
        ("routing-agent", "delete {n}", None, 0),
        ("routing-agent", "agent delete {n}", APPROVE, 1),
        ("routing-agent", "agent delete {n}", DECLINE, 0),
        ("routing-agent", "refund {n}", CONFIRM, 1),
        ("routing-agent", "agent refund {n}", CONFIRM, 1),
        ("routing-agent", "workflow {n}", CONFIRM, 1),
        ("refundWorkflow", '{{"amount": {n}}}', CONFIRM, 1),
    ],
)
async def test_a_tool_runs_once_if_its_pause_is_answered_with_yes(
    mastra: MastraProcess, bridge: Bridge, agent: str, prompt: str, answer: Any, times: int
) -> None:
    n, talk = fresh(), Talk(bridge, agent)
    await talk.say(prompt.format(n=n))
    assert talk.ending == "interrupt"
    (ask,) = talk.asks
    assert ran(mastra, n) == []
    await talk.answer(answer)

    assert talk.ending == "success"
    assert len(ran(mastra, n)) == times
    if answer in (APPROVE, DECLINE):
        assert ask["reason"] == "tool_call"
        assert ask["message"] == "May deleteRecord run?"
    if answer is DECLINE:
        assert talk.results[0].endswith("it was not executed. Reason: not today")
    if answer is CONFIRM:
        assert ask["message"] == f"Refund {n}?"
        assert ask["responseSchema"]["required"] == ["confirmed"]


async def test_the_inner_tool_and_its_arguments_are_shown_below_their_sub_agent(
    bridge: Bridge,
) -> None:
    n, talk = fresh(), Talk(bridge, "supervisor")
    await talk.say(f"agent delete {n}")
    events, (ask,) = talk.events, talk.asks
    (began,) = [e for e in events if e["type"] == "SUBAGENT_STARTED"]
    (ended,) = [e for e in events if e["type"] == "SUBAGENT_FINISHED"]
    outer, inner = [e for e in events if e["type"] == "TOOL_CALL_START"]
    arguments = [e["delta"] for e in events if e.get("toolCallId") == inner["toolCallId"]
                 and e["type"] == "TOOL_CALL_ARGS"]  # fmt: skip

    assert began["name"] == "approvalAgent"
    assert began["parentToolCallId"] == outer["toolCallId"]
    assert inner["toolCallName"] == "deleteRecord"
    assert inner["subagentRunId"] == ask["subagentRunId"] == began["subagentRunId"]
    assert ask["toolCallId"] == inner["toolCallId"]
    assert "".join(arguments) == f'{{"id":"{n}"}}'
    assert ended["outcome"] == {"type": "suspended", "interruptIds": [ask["id"]]}
    await talk.answer(APPROVE)
    (resumed,) = [e for e in talk.events if e["type"] == "SUBAGENT_STARTED"]
    assert resumed["subagentRunId"] == began["subagentRunId"]
    assert "TOOL_CALL_START" not in {e["type"] for e in talk.events}


async def test_nothing_that_mastra_calls_them_is_told_to_the_client(bridge: Bridge) -> None:
    talk = Talk(bridge, "approval-agent")
    await talk.say(f"delete {fresh()}")

    told = str(talk.events)
    assert "call_deleteRecord" not in told
    assert "resumeSchema" not in told


@pytest.mark.parametrize(
    ("agent", "prompt", "rounds", "done"),
    [
        # Mastra reveals one after the other.
        ("approval-agent", "delete {a} and {b}", [[APPROVE], [APPROVE]], "ab"),
        ("approval-agent", "delete {a} and {b}", [[APPROVE], [DECLINE]], "a"),
        ("approval-agent", "delete {a} and {b}", [[None], [APPROVE]], "b"),
        ("suspend-agent", "refund {a} and {b}", [[CONFIRM], [CONFIRM]], "ab"),
        ("mixed-agent", "both {a} {b}", [[APPROVE], [CONFIRM]], "ab"),
        ("routing-agent", "agent delete {a} and {b}", [[APPROVE], [APPROVE]], "ab"),
        # Both pause at once: answering the first yields an empty stream.
        ("supervisor", "agents delete {a}; refund {b}", [[APPROVE, CONFIRM]], "ab"),
        ("supervisor", "agents delete {a}; delete {b}", [[APPROVE, DECLINE]], "a"),
        ("ask-agent", "ask {a} and {b}", [[{"answer": "x"}, {"answer": "y"}]], "ab"),
        # Mastra can't be told of what was cancelled: that call is left behind.
        ("ask-agent", "ask {a} and {b}", [[None, {"answer": "y"}]], "?"),
    ],
)
async def test_parallel_pauses_are_all_answered_and_executed_once(
    mastra: MastraProcess, bridge: Bridge, agent: str, prompt: str, rounds: Any, done: str
) -> None:
    numbers = {"a": fresh(), "b": fresh()}
    talk = Talk(bridge, agent)
    await talk.say(prompt.format(**numbers))
    for answers in rounds:
        assert talk.ending == "interrupt"
        await talk.answer(*answers)

    assert talk.ending == "success"
    found = {name: len(ran(mastra, number)) for name, number in numbers.items()}
    if done == "?":
        assert found["a"] == 0
        assert found["b"] <= 1
    else:
        assert found == {name: int(name in done) for name in numbers}


async def test_a_tool_that_asks_twice_pauses_twice(mastra: MastraProcess, bridge: Bridge) -> None:
    city, talk = f"city{fresh()}", Talk(bridge, "suspend-agent")
    await talk.say(f"book {city}")
    await talk.answer({"date": "2026-12-01"})
    assert talk.ending == "interrupt"
    await talk.answer(CONFIRM)

    assert talk.ending == "success"
    assert len(ran(mastra, city)) == 1


async def test_text_tool_calls_results_and_usage_come_through(bridge: Bridge) -> None:
    talk = Talk(bridge, "mixed-agent")
    n = fresh()

    assert await talk.say(f"lookup {n}") == (
        f'Result: lookupRecord => {{"id":"{n}","title":"Record {n}"}}'
    )
    assert talk.kinds("TOOL_CALL_START", "TOOL_CALL_END", "TOOL_CALL_RESULT") == [
        "TOOL_CALL_START", "TOOL_CALL_END", "TOOL_CALL_RESULT"
    ]  # fmt: skip
    assert talk.results == [f'{{"id": "{n}", "title": "Record {n}"}}']
    (usage,) = talk.events[-1]["usage"]
    assert (usage["inputTokens"], usage["outputTokens"]) == (20, 10)
    assert usage["model"] == "scripted-1"


async def test_a_workflow_gives_its_steps_and_its_result(bridge: Bridge) -> None:
    n, talk = fresh(), Talk(bridge, "refundWorkflow")
    await talk.say(f'{{"amount": {n}}}')
    assert talk.kinds("STEP_STARTED", "STEP_FINISHED") == ["STEP_STARTED", "STEP_FINISHED"]
    await talk.answer(CONFIRM)

    assert talk.events[-1]["result"] == {"refunded": True, "amount": n}


async def test_a_network_that_needs_no_primitive_answers(bridge: Bridge) -> None:
    talk = Talk(bridge, "routing-agent")

    assert await talk.say("hello") == "Echo: helloNetwork finished."
    assert talk.events[-1]["result"] == "Network finished."


async def test_a_failing_model_is_an_error_without_its_stack(bridge: Bridge) -> None:
    talk = Talk(bridge, "approval-agent")
    await talk.say("boom")

    assert talk.ending == "UPSTREAM_ERROR"
    assert "failed in Mastra" in talk.events[-1]["message"]
    assert "scripted" not in str(talk.events)
    assert ".mjs" not in str(talk.events)


async def test_the_conversation_goes_on_after_every_ending(bridge: Bridge) -> None:
    talk = Talk(bridge, "approval-agent")
    await talk.say("boom")
    await talk.say(f"delete {fresh()}")
    await talk.answer(None)

    assert await talk.say("hello") == "Echo: hello"


async def test_an_agent_without_memory_pauses_and_knows_what_was_said(
    mastra: MastraProcess,
) -> None:
    bridge = Bridge()
    bridge.add("agent", MastraAdapter(mastra.url, "no-memory-agent", memory=False))
    async with bridge.lifespan():
        n, talk = fresh(), Talk(bridge, "agent")
        await talk.say(f"delete {n}")
        await talk.answer(APPROVE)
        assert talk.ending == "success"
        assert len(ran(mastra, n)) == 1
        assert await talk.say("hello") == "Echo: hello"
