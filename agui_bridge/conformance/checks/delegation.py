"""Work that others do: tools of the application, sub-agents; and what an agent declares."""

from __future__ import annotations

import json
from typing import Any

import httpx

from agui_bridge.conformance.check import Table
from agui_bridge.conformance.checks.streaming import expect_none, order_faults
from agui_bridge.conformance.lab import Lab
from agui_bridge.conformance.verdicts import expect, fail, require

_FRONTEND = "AG-UI 1.0, tool-calls: frontend tools"
_SUBAGENTS = "AG-UI 1.0, subagents"

DELEGATION = Table("other", source=_FRONTEND, needs=("frontend",))


@DELEGATION.check(fix="Finish with success and pendingToolCallIds; interrupts are for questions.")
async def frontend_success(lab: Lab) -> None:
    """A call of the application's own tool ends the run with success, never as an interrupt."""
    answer = await lab.thread().say("frontend", tools=_tools(lab))
    answer.expect_success()
    answered = answer.calls("TOOL_CALL_RESULT")
    pending = [call for call in answer.begun if call not in answered]
    require(pending, "prompts.frontend called no tool that waits for the application")
    finished = answer.of("RUN_FINISHED")[-1].get("outcome") or {}
    told = finished.get("pendingToolCallIds", pending)
    expect(told == pending, f"pendingToolCallIds is {told}; what waits is {pending}")


@DELEGATION.check(fix="Take tool messages of pending calls from the next input's messages.")
async def frontend_result(lab: Lab) -> None:
    """The application's result of its own tool continues the conversation."""
    thread = lab.thread()
    first = await thread.say("frontend", tools=_tools(lab))
    calls = first.begun
    require(calls, "prompts.frontend called no tool")
    content = json.dumps({"shown": thread.marker})
    for call in calls:
        thread.history.add(
            {"id": f"result-{call}", "role": "tool", "toolCallId": call, "content": content}
        )
    answer = await thread.send(thread.input(tools=_tools(lab)))
    answer.expect_success()
    expect(
        set(calls.values()).isdisjoint(answer.begun.values()),
        "it called the tool again instead of taking the result",
    )


@DELEGATION.check(
    source=f"{_SUBAGENTS}: nesting",
    fix="SUBAGENT_STARTED with parentSubagentRunId before, SUBAGENT_FINISHED after all they do.",
    needs=("subagents",),
)
async def subagent_nesting(lab: Lab) -> None:
    """Sub-agents three deep are announced below their parents and closed before the run ends."""
    answer = await lab.thread().say("subagents")
    started = answer.of("SUBAGENT_STARTED")
    parents = {e.get("subagentRunId"): e.get("parentSubagentRunId") for e in started}
    depth = max((_depth(parents, agent) for agent in parents), default=0)
    expect(depth >= 3, f"the sub-agents are {depth} deep")
    expect_none(order_faults(answer.events))


@DELEGATION.check(
    source=f"{_SUBAGENTS}: suspended",
    fix="Set subagentRunId on the interrupt, close with outcome suspended, go on in the next run.",
    needs=("subagents", "executions"),
)
async def subagent_interrupt(lab: Lab) -> None:
    """A sub-agent's interrupt names it, and it is closed as suspended; an answer reaches it."""
    thread = await lab.paused("subagents")
    paused = thread.answers[-1]
    owner = thread.asked[0].get("subagentRunId")
    started = [e.get("subagentRunId") for e in paused.of("SUBAGENT_STARTED")]
    expect(owner in started, f"the interrupt's subagentRunId is {owner!r}; there are {started}")
    ends = [e for e in paused.of("SUBAGENT_FINISHED") if e.get("subagentRunId") == owner]
    kinds = [(e.get("outcome") or {}).get("type", "success") for e in ends]
    expect(kinds == ["suspended"], f"the sub-agent that asked was closed as {kinds}")
    answer = await thread.answer("approve")
    await thread.expect_one_execution(answer.told())


@DELEGATION.check(
    source="AG-UI 1.0, capabilities: humanInTheLoop",
    fix="Serve AgentCapabilities as JSON, with humanInTheLoop where it is true.",
    needs=("capabilities",),
    severity="should",
)
async def capabilities(lab: Lab) -> None:
    """What the agent can do is told over HTTP, and says that it asks people."""
    response = await lab.get(lab.config.capabilities or lab.offer.capabilities)
    expect(response.status_code == 200, f"HTTP {response.status_code}")
    told = _json(response)
    human = told.get("humanInTheLoop") if isinstance(told, dict) else None
    expect(isinstance(human, dict) and human.get("supported"), f"humanInTheLoop is {human!r}")


def _json(response: httpx.Response) -> Any:
    try:
        return response.json()
    except ValueError:
        fail("the answer is no JSON")


def _tools(lab: Lab) -> list[dict[str, Any]]:
    name = lab.config.frontend_tool
    return [{"name": name, "description": "Of the application.", "parameters": {"type": "object"}}]


def _depth(parents: dict[Any, Any], agent: Any) -> int:
    seen: set[Any] = set()
    while agent in parents and agent not in seen:
        seen.add(agent)
        agent = parents[agent]
    return len(seen)
