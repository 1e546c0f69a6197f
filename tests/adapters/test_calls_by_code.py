"""Calls that the author's code carries out by itself, past the gate: none is told as not executed.

Where the code keeps the result to itself, nobody here can know what came of the call.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Never

import pytest
from ag_ui.core import ToolCallArgsEvent, ToolCallEndEvent, ToolCallStartEvent
from agent_framework import (
    AgentResponseUpdate,
    Content,
    Executor,
    InMemoryCheckpointStorage,
    WorkflowBuilder,
    WorkflowContext,
    handler,
)
from google.adk.agents import BaseAgent
from google.adk.events import Event
from google.genai import types
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, FunctionMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import interrupt

from agui_bridge import Adapter, Bridge, FunctionRun
from agui_bridge.agents.function.adapter import FunctionAdapter
from agui_bridge.protocol.answers.unexecuted import FAILED, FAILED_AMID, UNREPORTED
from agui_bridge.testing import talk
from agui_bridge_adk import AdkAdapter
from agui_bridge_agent_framework import AgentFrameworkAdapter
from agui_bridge_langgraph import LangGraphAdapter
from tests.adapters.langgraph.graphs import State, flow
from tests.adapters.langgraph.test_told_and_known import Model, call

pytestmark = pytest.mark.timeout(120)


@dataclass
class Till:
    """Pays, and perhaps fails after it.

    Attributes:
        fails: whether it does.
        done: who was paid.
    """

    fails: bool = False
    done: list[str] = field(default_factory=list)

    def pay(self, to: str) -> str:
        """Pay somebody."""
        self.done.append(to)
        return f"paid {to}"

    def check(self) -> None:
        """Come to the end of what the code does.

        Raises:
            ValueError: it fails.
        """
        if self.fails:
            raise ValueError("no")


def asks() -> AIMessage:
    return AIMessage("", tool_calls=[call("pay", to="ann")])


def graph_of(*nodes: Callable[..., Any]) -> Adapter:
    return LangGraphAdapter(flow(*nodes))


def a_node_that_asks_its_model(till: Till) -> Adapter:
    model = Model(replies=[asks()])

    async def node(state: State) -> State:
        said = await model.ainvoke(state["messages"])
        till.pay(**said.tool_calls[0]["args"])
        till.check()
        return {"messages": [said, AIMessage("I paid.")]}

    return graph_of(node)


def a_node_behind_the_models(till: Till) -> Adapter:
    model = Model(replies=[asks()])

    async def think(state: State) -> State:
        return {"messages": [await model.ainvoke(state["messages"])]}

    def act(state: State) -> State:
        paid = till.pay(**state["messages"][-1].tool_calls[0]["args"])
        till.check()
        return {"messages": [HumanMessage(paid, name="till")]}

    return graph_of(think, act)


def a_node_without_a_model(till: Till) -> Adapter:
    def announce(_: State) -> State:
        return {"messages": [asks()]}

    def act(_: State) -> State:
        paid = till.pay("ann")
        till.check()
        return {"messages": [FunctionMessage(content=paid, name="pay")]}

    return graph_of(announce, act)


def a_node_that_people_let_go_on(till: Till) -> Adapter:
    def announce(_: State) -> State:
        return {"messages": [asks()]}

    def act(_: State) -> State:
        if interrupt({"toolCallId": "c1"}):
            till.pay("ann")
        till.check()
        return {"messages": [AIMessage("I paid.")]}

    return graph_of(announce, act)


def a_function_of_a_tool(till: Till) -> Adapter:
    paying: Any = tool(till.pay)
    model = Model(replies=[asks()])

    async def think(state: State) -> State:
        return {"messages": [await model.ainvoke(state["messages"])]}

    def act(_: State) -> State:
        paying.func("ann")
        till.check()
        return {}

    return graph_of(think, act)


def an_agent_of_adk(till: Till) -> Adapter:
    class Payer(BaseAgent):
        async def _run_async_impl(self, ctx: Any) -> AsyncGenerator[Event, None]:
            asked = types.FunctionCall(id="c1", name="pay", args={"to": "ann"})
            for part in (types.Part(function_call=asked), types.Part(text="I paid.")):
                yield Event(
                    author=self.name,
                    invocation_id=ctx.invocation_id,
                    content=types.Content(role="model", parts=[part]),
                )
                if part.function_call is not None:
                    till.pay("ann")
                    till.check()

    return AdkAdapter(Payer(name="payer"))


def an_executor(till: Till) -> Adapter:
    class Payer(Executor):
        @handler
        async def begin(self, _: str, ctx: WorkflowContext[Never, AgentResponseUpdate]) -> None:
            """Pay."""
            asked = Content.from_function_call("c1", "pay", arguments={"to": "ann"})
            for own, content in (("m1", asked), ("m2", Content.from_text("I paid."))):
                told = AgentResponseUpdate(contents=[content], role="assistant", message_id=own)
                await ctx.yield_output(told)
                if content is asked:
                    till.pay("ann")
                    till.check()

    kept = InMemoryCheckpointStorage()
    return AgentFrameworkAdapter(
        lambda run: WorkflowBuilder(start_executor=Payer(id="payer"), name="till").build(),
        checkpoints=lambda run: kept,
    )


def a_function_that_was_approved(till: Till) -> Adapter:
    async def agent(run: FunctionRun) -> AsyncIterator[str]:
        if await run.approve("pay", {"to": "ann"}):
            till.pay("ann")
        till.check()
        yield "I paid."

    return FunctionAdapter(agent)


def a_function_whose_model_asked(till: Till) -> Adapter:
    async def model() -> AsyncIterator[Any]:
        yield ToolCallStartEvent(tool_call_id="c1", tool_call_name="pay")
        yield ToolCallArgsEvent(tool_call_id="c1", delta='{"to": "ann"}')
        yield ToolCallEndEvent(tool_call_id="c1")

    async def agent(run: FunctionRun) -> AsyncIterator[str]:
        await run.stream("model", model)
        till.pay("ann")
        till.check()
        yield "I paid."

    return FunctionAdapter(agent)


CODE: Final[Mapping[str, Callable[[Till], Adapter]]] = {
    "LangGraph: a node that asks its model": a_node_that_asks_its_model,
    "LangGraph: a node behind the model's": a_node_behind_the_models,
    "LangGraph: a node without a model": a_node_without_a_model,
    "LangGraph: a node that people let go on": a_node_that_people_let_go_on,
    "LangGraph: the function of a tool": a_function_of_a_tool,
    "ADK: an agent without a model": an_agent_of_adk,
    "Agent Framework: an executor": an_executor,
    "a function that was approved": a_function_that_was_approved,
    "a function whose model asked": a_function_whose_model_asked,
}


@pytest.mark.parametrize("fails", [False, True], ids=["ends", "fails"])
@pytest.mark.parametrize("make", CODE.values(), ids=CODE)
async def test_what_code_carried_out_by_itself_is_not_told_as_not_executed(
    make: Callable[[Till], Adapter], fails: bool
) -> None:
    till = Till(fails)
    bridge = Bridge("memory:")
    bridge.add("till", make(till))
    async with talk(bridge, "till") as one:
        ended = await one.say("pay ann")
        if ended.ending == "interrupt":
            ended = await one.answer(ended, {"approved": True})
        assert ended.ending == ("AGENT_ERROR" if fails else "success")
        told = [e["content"] for e in ended.events if e["type"] == "TOOL_CALL_RESULT"]
    assert (till.done, told) == (["ann"], [FAILED_AMID if fails else UNREPORTED])


# --- what certainly did not begin ---


def an_agent_of_langchain(till: Till) -> Adapter:
    """One whose model breaks off behind its call, and leaves calls to its `ToolNode`."""

    class Breaking(Model):
        async def _astream(self, *args: Any, **options: Any) -> AsyncIterator[Any]:
            async for chunk in super()._astream(*args, **options):
                yield chunk
            raise ValueError("no")

    graph = create_agent(Breaking(replies=[asks()]), [tool(till.pay)], checkpointer=InMemorySaver())
    return LangGraphAdapter(graph)


def a_function_that_has_calls_carried_out(till: Till) -> Adapter:
    """One whose first approved call fails, so that it never comes to the second."""

    async def fail(**_: Any) -> None:
        raise ValueError("no")

    async def agent(run: FunctionRun) -> AsyncIterator[str]:
        first = await run.approve("look", {})
        second = await run.approve("pay", {"to": "ann"})
        yield "Now."
        await run.tool(first, fail)
        await run.tool(second, till.pay)

    return FunctionAdapter(agent)


CERTAIN: Final[Mapping[str, Callable[[Till], Adapter]]] = {
    "LangChain: the model breaks off": an_agent_of_langchain,
    "a function whose first call fails": a_function_that_has_calls_carried_out,
}


@pytest.mark.parametrize("make", CERTAIN.values(), ids=CERTAIN)
async def test_a_call_that_only_the_framework_carries_out_is_told_as_not_executed(
    make: Callable[[Till], Adapter],
) -> None:
    till = Till()
    bridge = Bridge("memory:")
    bridge.add("till", make(till))
    async with talk(bridge, "till") as one:
        ended = await one.say("pay ann")
        while ended.ending == "interrupt":
            ended = await one.answer(ended, {"approved": True})
        told = [e["content"] for e in ended.events if e["type"] == "TOOL_CALL_RESULT"]
    assert till.done == []
    assert told[-1] == FAILED
