"""Tools count for the agent of a workflow that has them: another's of the same name do not."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from agent_framework import Agent, Message, Workflow, tool
from agent_framework.orchestrations import SequentialBuilder

from agui_bridge import Bridge
from agui_bridge.testing import talk
from agui_bridge_agent_framework import AgentFrameworkAdapter
from tests.adapters.agent_framework.flows import below
from tests.adapters.agent_framework.scripted import Call, Scripted
from tests.adapters.mails import YES

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]

NESTS: dict[str, Callable[[Workflow], Workflow]] = {
    "itself": lambda flow: flow,
    "within another": below,
}

nests = pytest.mark.parametrize("nest", NESTS.values(), ids=NESTS)


class Desk:
    """Two agents, of which the first one calls `refund`.

    Attributes:
        done: what was refunded.
    """

    def __init__(self) -> None:
        self.done: list[str] = []

        @tool(approval_mode="always_require")
        def refund(order: str) -> str:
            """Refund an order."""
            self.done.append(order)
            return f"refunded {order}"

        @tool(approval_mode="always_require")
        def look(order: str) -> str:
            """Look at an order."""
            return f"saw {order}"

        self.refund, self.look = refund, look
        self.first = self._agent("first", refund, look)
        self.second = self._agent("second", refund)

    def _agent(self, name: str, *tools: Any) -> Agent[Any]:
        async def reply(messages: Sequence[Message], _: Any) -> AsyncIterator[Any]:
            if name == "first" and not any(one.role == "tool" for one in messages):
                yield Call("look", {"order": "A"})
                yield Call("refund", {"order": "A"})
            else:
                yield f"{name} is done. "

        return Agent(Scripted(reply), name=name, tools=[*tools])

    def bridge(self, nest: Callable[[Workflow], Workflow], folder: Path) -> Bridge:
        """A bridge with the workflow of both."""

        def build(run: Any) -> Workflow:
            return nest(SequentialBuilder(participants=[self.first, self.second]).build())

        bridge = Bridge("memory:")
        bridge.add("desk", AgentFrameworkAdapter(build, checkpoints=folder))
        return bridge


@nests
async def test_an_approval_waits_while_the_agent_that_called_lacks_the_tool(
    nest: Callable[[Workflow], Workflow], tmp_path: Path
) -> None:
    desk = Desk()
    async with talk(desk.bridge(nest, tmp_path), "desk") as one:
        asked = await one.say("refund A")
        assert len(asked.asks) == 2
        desk.first.default_options["tools"] = [desk.look]
        again = await one.answer(asked, YES, YES)
        assert "call 'refund' has no such tool any more" in str(again.fault)
        assert (len(again.asks), desk.done) == (2, [])
        desk.first.default_options["tools"] = [desk.refund, desk.look]
        ended = await one.answer(again, YES, YES)
        assert ended.ending == "success", ended.events[-1]
    assert desk.done == ["A"]


async def test_nobody_is_asked_about_a_tool_that_only_another_agent_has(tmp_path: Path) -> None:
    desk = Desk()
    # The second one, which has it, is asked first.
    desk.first, desk.second = desk.second, desk.first

    async def turn(messages: Sequence[Message], options: Any) -> AsyncIterator[Any]:
        if any(one.role == "tool" for one in messages):
            yield "done"
        else:
            yield Call("look", {"order": "A"})
            yield Call("refund", {"order": "A"})

    desk.second = Agent(Scripted(turn), name="third", tools=[desk.look])
    async with talk(desk.bridge(NESTS["itself"], tmp_path), "desk") as one:
        asked = await one.say("refund A")
        assert [ask["toolCallId"] for ask in asked.asks] == [
            e["toolCallId"] for e in asked.events if e.get("toolCallName") == "look"
        ]
        ended = await one.answer(asked, YES)
    told = [e["content"] for e in ended.events if e["type"] == "TOOL_CALL_RESULT"]
    assert sorted(told) == ['Error: Requested function "refund" not found.', "saw A"]
    assert desk.done == []
