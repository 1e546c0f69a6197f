"""Tools that the graph's code calls by itself: what is told of the calls that they are for."""

from __future__ import annotations

from contextlib import suppress

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from agui_bridge.protocol.answers.unexecuted import FAILED_AMID, UNREPORTED
from agui_bridge.testing import talk
from tests.adapters.langgraph.graphs import State, flow, serving
from tests.adapters.langgraph.test_told_and_known import Model, call, thread

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]


@pytest.mark.parametrize("fails", [False, True], ids=["ends", "fails"])
@pytest.mark.parametrize("way", ["by its arguments", "in sync", "by its call, and raises"])
async def test_a_call_that_code_carried_out_stays_and_is_not_said_not_to_have_run(
    way: str, fails: bool
) -> None:
    done = list[int]()

    @tool
    def pay(amount: int) -> str:
        """Pay."""
        done.append(amount)
        if "raises" in way:
            raise ValueError("the receipt is lost")
        return "paid"

    asks = AIMessage("", tool_calls=[call("pay", amount=100)])
    model = Model(replies=[asks, AIMessage("Done.")])

    async def node(state: State) -> State:
        (asked,) = (await model.ainvoke(state["messages"])).tool_calls
        with suppress(ValueError):
            if way == "in sync":
                pay.invoke(asked["args"])
            else:
                await pay.ainvoke(asked["args"] if "arguments" in way else asked)
        if fails:
            raise ValueError("no")
        return {"messages": [await model.ainvoke(state["messages"])]}

    async with talk(serving(flow(node)), "graph") as one:
        ended = await one.say("pay")
        said = await thread(one)
        results = [e["content"] for e in ended.events if e["type"] == "TOOL_CALL_RESULT"]
    # By the arguments alone it is known which call it was, if its own task's model asked for it.
    known = ["paid"] if way == "by its arguments" else [FAILED_AMID if fails else UNREPORTED]
    assert (done, results) == ([100], known)
    assert said[1:3] == [("assistant", ["pay"]), ("tool", results[0])]


@pytest.mark.parametrize(("to", "known"), [("ann", ["paid ann"]), ("bob", [UNREPORTED])])
async def test_a_tool_that_a_tool_called_by_arguments_is_the_call_that_is_alike(
    to: str, known: list[str]
) -> None:
    @tool
    def pay(to: str) -> str:
        """Pay."""
        return f"paid {to}"

    asks = AIMessage("", tool_calls=[call("pay", to="ann")])
    inner = Model(replies=[asks])

    @tool
    async def clerk() -> str:
        """Have a clerk do it."""
        await inner.ainvoke([HumanMessage("pay")])
        return str(await pay.ainvoke({"to": to}))

    model = Model(replies=[AIMessage("", tool_calls=[call("clerk", "o1")]), AIMessage("Done.")])
    graph = create_agent(model, [clerk], checkpointer=InMemorySaver())
    async with talk(serving(graph), "graph") as one:
        ended = await one.say("pay")
        told = {
            e["toolCallId"]: e["content"] for e in ended.events if e["type"] == "TOOL_CALL_RESULT"
        }
    assert told.pop("o1") == f"paid {to}"
    assert [*told.values()] == known
