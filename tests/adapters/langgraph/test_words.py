"""The application's words stand in requests that have what the person said, and in no others."""

from __future__ import annotations

import asyncio
from contextvars import copy_context
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from agui_bridge import Bridge
from agui_bridge.testing import talk
from agui_bridge_langgraph import LangGraphAdapter
from tests.adapters.cashiers import by_place
from tests.adapters.cashiers.langgraph import CashierModel, LangGraph

CONTEXT = [{"description": "The open invoice", "value": "INV-1"}]


def asked(cashier: LangGraph, place: int) -> list[bool]:
    """Which of the people's messages of a request have the words."""
    return ["INV-1" in one.text for one in cashier.requests[place] if one.by == "user"]


@pytest.mark.parametrize(
    ("request_of", "words"),
    [
        # What the person said stands before an example that is alike.
        (lambda said: [said, AIMessage("Hm."), HumanMessage("look bob")], [True, False]),
        # The graph has said it anew, after an example.
        (lambda said: [HumanMessage("look bob"), HumanMessage(said.text)], [False, True]),
        # What is alike is not what was said last.
        (lambda said: [HumanMessage(said.text), HumanMessage("Translate it.")], [False, False]),
    ],
    ids=["an example after it", "an example before it", "an example alone"],
)
async def test_the_words_stand_before_what_the_person_said(
    request_of: Any, words: list[bool]
) -> None:
    cashier = LangGraph(by_place)
    model = CashierModel(cashier=cashier)

    async def think(state: Any) -> Any:
        return {"messages": [await model.ainvoke(request_of(state["messages"][-1]))]}

    builder = StateGraph(MessagesState).add_node("think", think).add_edge(START, "think")
    bridge = Bridge("memory:")
    bridge.add("graph", LangGraphAdapter(builder.compile(checkpointer=InMemorySaver())))
    async with talk(bridge, "graph") as one:
        one.context = CONTEXT
        await one.say("look bob")
    assert asked(cashier, 0) == words


async def test_what_a_run_has_left_behind_tells_its_words_to_nobody() -> None:
    cashier = LangGraph(by_place)
    model = CashierModel(cashier=cashier)
    contexts: list[Any] = []

    async def think(state: Any) -> Any:
        contexts.append(copy_context())
        return {"messages": [await model.ainvoke(state["messages"])]}

    builder = StateGraph(MessagesState).add_node("think", think).add_edge(START, "think")
    bridge = Bridge("memory:")
    bridge.add("graph", LangGraphAdapter(builder.compile(checkpointer=InMemorySaver())))
    async with talk(bridge, "graph") as one:
        one.context = CONTEXT
        await one.say("hello")
        assert asked(cashier, 0) == [True]

        async def work() -> None:
            await model.ainvoke([HumanMessage("hello")])

        await asyncio.get_running_loop().create_task(work(), context=contexts[0])
    assert asked(cashier, 1) == [False]
