"""What the application has, at a real Mastra server: its tools, its context and its state."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agui_bridge import Bridge
from agui_bridge_mastra import MastraAdapter
from tests.e2e.mastra import APPROVE, Talk, fresh, ran
from tests.support.mastra import MastraProcess

PAINT = {
    "name": "paint",
    "description": "Paints the page.",
    "parameters": {
        "type": "object",
        "properties": {"colour": {"type": "string"}},
        "required": ["colour"],
    },
}
RED, BLUE = 'use paint {"colour":"red"}', 'use paint {"colour":"blue"}'


def pending(talk: Talk) -> list[str]:
    outcome = talk.events[-1]["outcome"]
    assert outcome["type"] == "success"
    return list(outcome["pendingToolCallIds"])


def result(call: str, content: str) -> dict[str, Any]:
    return {"id": f"result-{call}", "role": "tool", "toolCallId": call, "content": content}


async def test_a_tool_of_the_application_is_called_and_its_result_is_told(bridge: Bridge) -> None:
    talk = Talk(bridge, "work-agent")
    await talk.say(RED, tools=[PAINT])
    (call,) = pending(talk)
    (start,) = [e for e in talk.events if e["type"] == "TOOL_CALL_START"]
    assert (start["toolCallId"], start["toolCallName"]) == (call, "paint")
    assert "call_paint" not in str(talk.events)

    assert await talk.hand_back("it is red now") == 'Result: paint => "it is red now"'
    assert await talk.say("hello") == "Echo: hello"


async def test_several_results_are_told_together_and_in_any_order(bridge: Bridge) -> None:
    talk = Talk(bridge, "work-agent")
    await talk.say(f"all {RED}; {BLUE}", tools=[PAINT])
    first, second = pending(talk)
    assert await talk.send(messages=[result(second, "blue")]) == ""
    assert talk.ending == "success"

    assert await talk.send(messages=[result(first, "red")]) == (
        'Result: paint => "red"; paint => "blue"'
    )


async def test_a_message_instead_of_the_result_is_answered_and_the_agent_reads_a_late_result(
    bridge: Bridge,
) -> None:
    talk = Talk(bridge, "work-agent")
    await talk.say(RED, tools=[PAINT])
    (call,) = pending(talk)
    assert await talk.say("hello", tools=[PAINT]) == "Echo: hello"

    assert await talk.send(messages=[result(call, "late")]) == ""
    said = await talk.say("what was read", tools=[PAINT])
    assert said == (
        'Read: use paint {"colour":"red"} | hello | '
        'Result of paint({"colour":"red"}), which came later: late | what was read'
    )


@pytest.mark.parametrize("early", [True, False], ids=["result with the answer", "result later"])
async def test_beside_an_approval_the_application_has_its_call_too(
    mastra: MastraProcess, bridge: Bridge, early: bool
) -> None:
    n, talk = fresh(), Talk(bridge, "work-agent")
    await talk.say(f"all {RED}; delete {n}", tools=[PAINT])
    (ask,) = talk.asks
    (call,) = [e["toolCallId"] for e in talk.events if e.get("toolCallName") == "paint"]
    entry = {"interruptId": ask["id"], "status": "resolved", "payload": APPROVE}
    said = await talk.send(resume=[entry], messages=[result(call, "red")] if early else [])
    if not early:
        assert "paint" not in said
        said = await talk.send(messages=[result(call, "red")])

    assert said.endswith('Result: paint => "red"')
    assert talk.ending == "success"
    assert len(ran(mastra, n)) == 1


async def test_without_memory_the_result_is_told_with_the_conversation(
    mastra: MastraProcess,
) -> None:
    bridge = Bridge()
    bridge.add("agent", MastraAdapter(mastra.url, "no-memory-agent", memory=False))
    async with bridge.lifespan():
        talk = Talk(bridge, "agent")
        await talk.say(RED, tools=[PAINT])
        assert await talk.hand_back("done") == 'Result: paint => "done"'


CONTEXT = [{"description": "page", "value": "orders"}]


async def test_an_agents_tools_see_the_context_and_the_state(bridge: Bridge) -> None:
    talk = Talk(bridge, "work-agent")
    await talk.say("recall", context=CONTEXT, state={"cart": 2})

    assert json.loads(talk.results[0]) == {"said": {"context": CONTEXT, "state": {"cart": 2}}}
    await talk.say("recall")
    assert json.loads(talk.results[0]) == {"said": {"state": {"cart": 2}}}


async def test_a_tool_that_was_approved_sees_them_too(bridge: Bridge) -> None:
    talk = Talk(bridge, "work-agent")
    await talk.say("recall with approval", context=CONTEXT)
    (ask,) = talk.asks
    await talk.resume(ask, APPROVE, context=CONTEXT)

    assert json.loads(talk.results[0]) == {"said": {"context": CONTEXT}}


async def test_a_workflows_steps_see_them(mastra: MastraProcess, bridge: Bridge) -> None:
    n, talk = fresh(), Talk(bridge, "slowWorkflow")
    mastra.release(n)
    await talk.say(json.dumps({"id": str(n)}), context=CONTEXT)

    assert talk.events[-1]["result"] == {"id": str(n), "said": {"context": CONTEXT}}


async def test_a_clients_context_chooses_no_key_of_the_operators(mastra: MastraProcess) -> None:
    """`options` are the operator's, and stay; a client's words are below one key."""
    bridge = Bridge()
    options = {"requestContext": {"tenant": "acme"}}
    bridge.add("agent", MastraAdapter(mastra.url, "work-agent", options=options))
    async with bridge.lifespan():
        talk = Talk(bridge, "agent")
        await talk.say("recall everything", context=CONTEXT, state={"tenant": "evil"})

    told = json.loads(talk.results[0])["said"]
    assert told["tenant"] == "acme"
    assert told["ag-ui"]["state"] == {"tenant": "evil"}
    assert set(told) == {"tenant", "ag-ui"}
