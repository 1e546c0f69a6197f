"""A page's result that comes after an answer: what comes after the agent waits for it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from importlib.metadata import version
from typing import Any

import pytest
from google.adk import Agent, Event, Workflow
from google.adk.agents import ParallelAgent, SequentialAgent

from agui_bridge import Bridge
from agui_bridge.testing import talk
from agui_bridge_adk import AdkAdapter
from examples.adk.model import Call, OfflineModel
from tests.adapters.adk.flows import Flows
from tests.adapters.adk.talking import YES
from tests.adapters.cashiers import PAINT

_GATED = [int(part) for part in version("google-adk").split(".")[:2]] >= [2, 13]

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]


class House:
    """An agent that paints on the page and pays, and what comes after it, or beside it."""

    def __init__(self) -> None:
        self.flows = Flows()
        self.payer = self._agent("payer", Call("paint", {"to": "x"}), Call("pay", {"to": "ann"}))
        self.other = self._agent("other")

    def _agent(self, name: str, *calls: Call) -> Agent:
        async def reply(request: Any) -> AsyncIterator[Any]:
            parts = [p for c in request.contents for p in c.parts or () if p.function_response]
            self.flows.read.append(name)
            if len(parts) >= len(calls):
                self.flows.done.append(f"{name} is done")
                yield f"{name} is done."
                return
            for call in calls:
                yield call

        tools = [self.flows.payment()] if calls else []
        return Agent(name=name, model=OfflineModel(reply=reply), tools=tools)

    def workflow(self) -> Any:
        def tell(node_input: Any) -> Any:
            self.flows.done.append("other is done")
            yield Event(message="other is done.")

        return Workflow(name="house", edges=[("START", self.payer, tell)])

    def sequence(self) -> Any:
        return SequentialAgent(name="house", sub_agents=[self.payer, self.other])

    def at_once(self) -> Any:
        return ParallelAgent(name="house", sub_agents=[self.payer, self.other])


workflow = pytest.param(
    House.workflow,
    marks=pytest.mark.skipif(not _GATED, reason="only on google-adk 2.13 and later"),
)


@pytest.mark.filterwarnings("ignore:.*is deprecated in favor of Workflow:DeprecationWarning")
@pytest.mark.parametrize("build", [workflow, House.sequence, House.at_once])
async def test_what_comes_after_an_agent_waits_for_the_result_of_its_call(
    build: Callable[[House], Any],
) -> None:
    house, bridge = House(), Bridge("memory:")
    bridge.add("house", AdkAdapter(build(house)))
    before = ["other is done"] if build is House.at_once else []
    after = [] if build is House.at_once else ["other is done"]
    async with talk(bridge, "house") as one:
        asked = await one.say("go", tools=[PAINT])
        (paint,) = (e["toolCallId"] for e in asked.events if e.get("toolCallName") == "paint")
        assert (await one.answer(asked, YES)).ending == "success"
        assert house.flows.done == [*before, "paid ann"]
        red = {"id": "r", "role": "tool", "toolCallId": paint, "content": "red"}
        ended = await one.send([red])
        assert ended.ending == "success", ended.events[-1]
    assert house.flows.done == [*before, "paid ann", "payer is done", *after]
