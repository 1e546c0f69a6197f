"""Graphs of all makes whose models give ids to their calls anew: each call is its own."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.func import entrypoint, task
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import RetryPolicy, interrupt

from agui_bridge import Adapter, Bridge, ProposedCall, Verdict
from agui_bridge.testing import Talk, talk
from agui_bridge_langgraph import LangGraphAdapter
from agui_bridge_langgraph.continuation import Waiting
from tests.adapters.cashiers import PAINT, by_place, by_tool
from tests.adapters.cashiers.langgraph import CashierModel, LangGraph
from tests.adapters.mails import YES

pytestmark = pytest.mark.timeout(120)

Made = Callable[[LangGraph], tuple[Any, ...]]


@dataclass
class Handmade(LangGraph):
    """A cashier of a graph that a test makes.

    Attributes:
        make: the graph, and those that it calls by itself.
        begin: what the graph begins with, None for messages.
    """

    make: Made | None = None
    begin: Callable[[Any], Any] | None = None

    def adapter(self) -> Adapter:
        assert self.make is not None
        graph, *inner = self.make(self)
        return LangGraphAdapter(graph, inner=inner, input=self.begin)


def tools_of(cashier: LangGraph) -> list[Any]:
    return [tool(cashier.pay), tool(cashier.look)]


def in_one_node(cashier: LangGraph, **model: Any) -> tuple[Any, ...]:
    """A node that asks its model and calls its tools by itself, in turns."""
    chat = CashierModel(cashier=cashier, **model)
    tools = {one.name: one for one in tools_of(cashier)}

    async def agent(state: Any) -> Any:
        new: list[Any] = []
        while True:
            new.append(reply := await chat.ainvoke([*state["messages"], *new]))
            if not reply.tool_calls:
                return {"messages": new}
            for call in reply.tool_calls:
                new.append(await tools[call["name"]].ainvoke({**call, "type": "tool_call"}))

    return (StateGraph(MessagesState).add_node(agent).add_edge(START, "agent"),)


def untold(cashier: LangGraph) -> tuple[Any, ...]:
    """An agent whose model streams to nobody."""
    chat = CashierModel(cashier=cashier, tags=["nostream"])
    return (create_agent(chat, tools_of(cashier), checkpointer=cashier.saver),)


def plain(cashier: LangGraph) -> tuple[Any, ...]:
    """An agent of LangChain."""
    chat = CashierModel(cashier=cashier)
    return (create_agent(chat, tools_of(cashier), checkpointer=cashier.saver),)


def tried_again(cashier: LangGraph) -> tuple[Any, ...]:
    """A node of tools that fails at its first attempt, behind the payment beside it."""
    chat, failed = CashierModel(cashier=cashier), list[str]()

    async def think(state: Any) -> Any:
        return {"messages": [await chat.ainvoke(state["messages"])]}

    async def pay(to: str) -> str:
        """Pay somebody."""
        return cashier.pay(to)

    async def look(to: str) -> str:
        """Look somebody up."""
        # Not before the payment beside it, if nobody is asked about that.
        for _ in range(100):
            await asyncio.sleep(0)
        if to not in failed:
            failed.append(to)
            raise ConnectionError(to)
        return cashier.look(to)

    node = ToolNode([tool(pay), tool(look)], handle_tool_errors=False)
    policy = RetryPolicy(initial_interval=0.01, retry_on=ConnectionError)
    builder = StateGraph(MessagesState).add_node(think).add_edge(START, "think")
    builder.add_node("tools", node, retry_policy=policy).add_edge("tools", "think")
    return (builder.add_conditional_edges("think", tools_condition),)


def asked_in_the_node(cashier: LangGraph) -> tuple[Any, ...]:
    """A node that asks about its model's call: with the answer the model is asked again."""
    chat = CashierModel(cashier=cashier)

    async def think(state: Any) -> Any:
        reply = await chat.ainvoke(state["messages"])
        for call in reply.tool_calls:
            if call["name"] == "pay":
                interrupt({"message": "May it?", "toolCallId": call["id"]})
        return {"messages": [reply]}

    builder = StateGraph(MessagesState).add_node(think).add_edge(START, "think")
    builder.add_node("tools", ToolNode(tools_of(cashier))).add_edge("tools", "think")
    return (builder.add_conditional_edges("think", tools_condition),)


def side_by_side(cashier: LangGraph) -> tuple[Any, ...]:
    """Two agents that work at once, each for somebody of its own."""

    def node(suffix: str) -> tuple[Any, Any]:
        agent = create_agent(CashierModel(cashier=cashier), tools_of(cashier))

        async def work(state: Any) -> Any:
            said = f"{state['messages'][-1].text}{suffix}"
            await agent.ainvoke({"messages": [HumanMessage(said)]})
            return {"messages": [AIMessage("Done.")]}

        return work, agent

    builder, agents = StateGraph(MessagesState), []
    for suffix in ("", "-2"):
        work, agent = node(suffix)
        builder.add_node(f"node{suffix}", work).add_edge(START, f"node{suffix}")
        agents.append(agent)
    return (builder, *agents)


def functional(cashier: LangGraph) -> tuple[Any, ...]:
    """An agent of the functional API, whose tools are tasks."""
    chat = CashierModel(cashier=cashier)
    tools = {one.name: one for one in tools_of(cashier)}

    @task
    async def think(messages: Any) -> Any:
        return await chat.ainvoke(messages)

    @task
    async def act(call: Any) -> Any:
        return await tools[call["name"]].ainvoke({**call, "type": "tool_call"})

    @entrypoint(checkpointer=cashier.saver)
    async def agent(given: Any, *, previous: Any = None) -> Any:
        messages = [*(previous or []), *given["messages"]]
        while True:
            messages.append(reply := await think(messages))
            if not reply.tool_calls:
                return entrypoint.final(value={"messages": messages[-1:]}, save=messages)
            messages += [await act(call) for call in reply.tool_calls]

    return (agent,)


def compiled(make: Made) -> Made:
    def made(cashier: LangGraph) -> tuple[Any, ...]:
        graph, *inner = make(cashier)
        if isinstance(graph, StateGraph):
            graph = graph.compile(checkpointer=cashier.saver)
        return (graph, *inner)

    return made


def from_text(run: Any) -> Any:
    return {"messages": [HumanMessage(run.text)]}


CASES = {
    "in one node": (in_one_node, ["look ann", "looktwice bob", "pay cid", "pay dan", "look eve"]),
    "untold": (untold, ["look ann", "pay bob", "looktwice cid", "paytwice dan"]),
    "tried again": (tried_again, ["look ann", "paylook bob", "paylook cid", "pay dan"]),
    "asked in the node": (asked_in_the_node, ["pay ann", "look bob", "pay cid", "lookpay dan"]),
    "side by side": (side_by_side, ["look ann", "pay bob", "paytwice cid", "looktwice dan"]),
    "functional": (functional, ["look ann", "pay bob", "paytwice cid", "looktwice dan"]),
}


@pytest.mark.parametrize("asks", [True, False], ids=["policy", "free"])
@pytest.mark.parametrize("case", CASES)
async def test_each_call_of_any_graph_runs_once_and_has_its_own_result(
    case: str, asks: bool
) -> None:
    make, said = CASES[case]
    begin = from_text if make is functional else None
    cashier = Handmade(by_place, False, make=compiled(make), begin=begin)
    async with talk(serving(cashier, asks=asks), "cashier") as one:
        for text in said:
            asked = await one.say(text)
            while asked.ending == "interrupt":
                asked = await one.answer(asked, *[YES] * len(asked.asks))
            assert asked.ending == "success"
        told = await told_in(one)
    assert sorted(f"{tool} {to}" for tool, to, _ in told) == sorted(cashier.done)
    results = {"pay": "paid", "look": "saw"}
    assert all(result == f"{results[tool]} {to}" for tool, to, result in told)


def serving(cashier: LangGraph, *, asks: bool) -> Bridge:
    bridge = Bridge("memory:")

    @bridge.policy
    async def policy(call: ProposedCall) -> Verdict:
        must_ask = asks and call.name == "pay" and not call.approved
        return Verdict("ask" if must_ask else "allow")

    bridge.add("cashier", cashier.adapter())
    return bridge


async def told_in(one: Talk) -> list[tuple[str, str, str]]:
    """The calls of a thread: their tools, whom they are for, and their results."""
    messages = await one.messages()
    results = {m["toolCallId"]: m["content"] for m in messages if m["role"] == "tool"}
    calls = [call for message in messages for call in message.get("toolCalls") or ()]
    assert len({call["id"] for call in calls}) == len(calls) == len(results)
    return [
        (
            call["function"]["name"],
            json.loads(call["function"]["arguments"])["to"],
            results[call["id"]],
        )
        for call in calls
    ]


async def test_each_call_that_a_graph_ends_with_has_the_applications_result() -> None:
    def ends(cashier: LangGraph) -> tuple[Any, ...]:
        chat = CashierModel(cashier=cashier)

        async def think(state: Any) -> Any:
            return {"messages": [await chat.ainvoke(state["messages"])]}

        return (StateGraph(MessagesState).add_node(think).add_edge(START, "think"),)

    cashier = Handmade(by_tool, False, make=compiled(ends))
    async with talk(serving(cashier, asks=False), "cashier") as one:
        for to in ("ann", "bob"):
            handed = await one.say(f"paint {to}", tools=[PAINT])
            (call,) = handed.events[-1]["outcome"]["pendingToolCallIds"]
            result = {"role": "tool", "toolCallId": call, "content": f"painted {to}"}
            await one.send([{"id": f"result-{to}", **result}])
        assert [(to, result) for _, to, result in await told_in(one)] == [
            ("ann", "painted ann"),
            ("bob", "painted bob"),
        ]
    heard = [one.text for one in cashier.requests[-1] if one.by == "tool"]
    assert heard == ["painted ann", "painted bob"]


async def test_a_pause_that_an_earlier_version_stored_goes_on() -> None:
    kept = Waiting(calls={"i/0": "call-1"}, judged=["call-2"], asked={"tools:1": ["call-2"]})
    written = kept.to_json()
    del written["told"]
    read = Waiting.from_json(written)
    assert [(one["id"], one["native"], one["task"]) for one in read.told] == [
        ("call-1", "call-1", ""),
        ("call-2", "call-2", "tools:1"),
    ]


async def test_a_call_that_a_stop_left_has_its_own_end_in_the_next_turn() -> None:
    cashier = Handmade(by_place, False, make=plain)
    async with talk(serving(cashier, asks=True), "cashier") as one:
        await one.answer(await one.say("pay ann"), YES)
        await one.say("pay bob")
        await one.stop()
        await one.say("hello")
    heard = [entry.text for entry in cashier.requests[-1] if entry.by == "tool"]
    assert heard[0] == "paid ann"
    assert heard[1] != "paid ann"
    assert cashier.done == ["pay ann"]
