"""Graphs that people write themselves: interrupts anywhere, other states."""

from __future__ import annotations

import operator
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.callbacks import adispatch_custom_event
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_stream_writer
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt
from pydantic import BaseModel, field_validator

from agui_bridge.errors import ConfigurationError
from agui_bridge.testing import talk
from tests.adapters.langgraph.graphs import SCHEMAS, State, flow, says, serving
from tests.adapters.mails import YES
from tests.docs.pages import Conversation

pytestmark = pytest.mark.anyio


# --- interrupts in nodes ---


async def test_a_node_asks_one_question_after_the_other() -> None:
    def form(state: Any) -> State:
        return says(f"{interrupt('Name?')} {interrupt('Town?')}")

    async with talk(serving(flow(form)), "graph") as one:
        first = await one.say("hello")
        second = await one.answer(first, "Ann")
        assert [ask["message"] for ask in (*first.asks, *second.asks)] == ["Name?", "Town?"]
        assert (await one.answer(second, "Rome")).text == "Ann Rome"


async def test_nodes_that_ask_side_by_side_get_their_own_answers_by_id() -> None:
    class Side(MessagesState):
        got: Annotated[list[str], operator.add]

    def left(state: Any) -> State:
        return {"got": [f"left {interrupt('left?')}"]}

    def right(state: Any) -> State:
        return {"got": [f"right {interrupt('right?')}"]}

    builder = StateGraph(Side)
    for node in (left, right):
        builder.add_node(node)
        builder.add_edge(START, node.__name__)
    async with talk(serving(builder.compile(checkpointer=InMemorySaver())), "graph") as one:
        asked = await one.say("hello")
        assert len(asked.asks) == 2
        done = await one.answer(asked, *[ask["message"].upper() for ask in asked.asks])
        shown = [e["snapshot"] for e in done.events if e["type"] == "STATE_SNAPSHOT"]
    assert sorted(shown[-1]["got"]) == ["left LEFT?", "right RIGHT?"]


async def test_a_subgraph_asks_and_what_came_before_it_is_not_begun_again() -> None:
    begun: list[str] = []

    def outer(state: Any) -> State:
        begun.append("outer")
        return says("Before. ")

    def inner(state: Any) -> State:
        begun.append("inner")
        return says(f"Got {interrupt({'message': 'Sub?'})}.")

    builder = StateGraph(MessagesState)
    builder.add_node(outer)
    builder.add_node("sub", flow(inner, checkpointer=None))
    builder.add_edge(START, "outer")
    builder.add_edge("outer", "sub")
    async with talk(serving(builder.compile(checkpointer=InMemorySaver())), "graph") as one:
        asked = await one.say("hello")
        assert (asked.text, asked.asks[0]["message"]) == ("Before. ", "Sub?")
        assert (await one.answer(asked, "it")).text == "Got it."
    assert begun == ["outer", "inner", "inner"]


class Order(BaseModel):
    size: int

    @field_validator("size")
    @classmethod
    def _small(cls, size: int) -> int:
        if size > 3:
            raise ValueError("too large")
        return size


@pytest.mark.skipif(
    not SCHEMAS, reason="only on langgraph 1.2.16 or later, whose interrupt() takes a schema"
)
async def test_a_schema_of_langgraphs_own_checks_and_what_it_refuses_can_be_answered_again() -> (
    None
):
    def form(state: Any) -> State:
        return says(f"size {interrupt('Size?', response_schema=Order).size}")

    async with talk(serving(flow(form)), "graph") as one:
        asked = await one.say("hello")
        assert asked.asks[0]["responseSchema"]["properties"]["size"]["type"] == "integer"
        assert (await one.answer(asked, {"size": "x"})).ending != "success"
        # What only the author's validator knows is found when the graph goes on.
        assert (await one.answer(asked, {"size": 9})).ending == "UPSTREAM_ERROR"
        assert (await one.answer(asked, {"size": 2})).text == "size 2"


async def test_the_keys_of_other_integrations_are_understood() -> None:
    got: list[Any] = []

    def form(state: Any) -> State:
        schema = {"type": "object", "required": ["name"]}
        got.append(
            interrupt({"reason": "input_required", "message": "Who?", "response_schema": schema})
        )
        got.append(interrupt({"question": "Sure?", "options": ["a", "b"]}))
        return says("Done.")

    async with talk(serving(flow(form), cancelled="nobody"), "graph") as one:
        first = await one.say("hello")
        (ask,) = first.asks
        assert (ask["reason"], ask["message"]) == ("input_required", "Who?")
        second = await one.answer(first, {"name": "Ann"})
        (ask,) = second.asks
        assert (ask["reason"], ask["message"]) == ("langgraph:interrupt", "Sure?")
        assert ask["metadata"]["value"] == {"question": "Sure?", "options": ["a", "b"]}
        await one.cancel(second)
    assert got[-2:] == [{"name": "Ann"}, "nobody"]


# --- the Agent Inbox ---


def inbox(**config: bool) -> dict[str, Any]:
    allowed = {f"allow_{name}": False for name in ("ignore", "respond", "edit", "accept")}
    return {
        "action_request": {"action": "book", "args": {"to": "Rome"}},
        "config": {**allowed, **{f"allow_{name}": on for name, on in config.items()}},
        "description": "Book it?",
    }


EVERYTHING = {"accept": True, "edit": True, "respond": True, "ignore": True}


@pytest.mark.parametrize(
    ("config", "payload", "response"),
    [
        (EVERYTHING, YES, {"type": "accept", "args": None}),
        (
            EVERYTHING,
            {**YES, "editedArgs": {"to": "Oslo"}},
            {"type": "edit", "args": {"action": "book", "args": {"to": "Oslo"}}},
        ),
        (EVERYTHING, None, {"type": "ignore", "args": None}),
        ({"accept": True, "ignore": True}, {"approved": False}, {"type": "ignore", "args": None}),
        (
            EVERYTHING,
            {"approved": False, "respond": "Done by hand."},
            {"type": "response", "args": "Done by hand."},
        ),
        ({"respond": True}, "Not now.", {"type": "response", "args": "Not now."}),
        (
            {"edit": True},
            YES,
            {"type": "edit", "args": {"action": "book", "args": {"to": "Rome"}}},
        ),
    ],
)
async def test_requests_of_the_agent_inbox(config: Any, payload: Any, response: Any) -> None:
    got: list[Any] = []

    def ask(state: Any) -> State:
        got.append(interrupt([inbox(**config)]))
        return says("Done.")

    bridge = serving(flow(ask))
    async with bridge.lifespan():
        one = Conversation(bridge, "graph")
        await one.say("hello")
        assert one.asks[0]["message"] == "Book it?"
        await one.answer(payload)
        assert one.events[-1]["outcome"]["type"] == "success"
    assert got == [[response]]


# --- what else a graph tells ---


async def test_what_an_author_writes_to_the_stream_is_passed_on() -> None:
    async def report(state: Any) -> State:
        get_stream_writer()({"progress": 1})
        await adispatch_custom_event("chart", {"points": [1, 2]})
        return says("Done.")

    async with talk(serving(flow(report)), "graph") as one:
        stream = await one.say("hello")
    told = [(e["name"], e["value"]) for e in stream.events if e["type"] == "CUSTOM"]
    assert sorted(told) == [("chart", {"points": [1, 2]}), ("langgraph", {"progress": 1})]


async def test_a_graph_of_another_state_is_told_what_it_begins_with() -> None:
    class Topic(TypedDict):
        topic: str
        joke: str

    def tell(state: Any) -> State:
        return {"joke": f"A joke of {state['topic']}."}

    graph = flow(tell, schema=Topic)
    with pytest.raises(ConfigurationError, match="input="):
        serving(graph)
    async with talk(serving(graph, input=lambda run: {"topic": run.text}), "graph") as one:
        stream = await one.say("cats")
        shown = [e["snapshot"] for e in stream.events if e["type"] == "STATE_SNAPSHOT"]
    assert shown[-1] == {"topic": "cats", "joke": "A joke of cats."}


async def test_a_graph_that_binds_the_applications_tools_itself_hands_their_calls_over() -> None:
    class Copilot(MessagesState):
        copilotkit: dict[str, Any]

    offered: list[Any] = []

    def chat(state: Any) -> State:
        offered.append(state["copilotkit"]["actions"])
        last = state["messages"][-1]
        if last.type == "tool":
            return says(f"It is {last.text}.")
        call = {"name": "set_colour", "args": {"colour": "red"}, "id": "call-1"}
        return {"messages": [AIMessage("", tool_calls=[call])]}

    tools = [{"name": "set_colour", "description": "", "parameters": {"type": "object"}}]
    bridge = serving(flow(chat, schema=Copilot))
    async with bridge.lifespan():
        one = Conversation(bridge, "graph")
        await one.say("colour red", tools=tools)
        assert await one.hand_back("red") == "It is red."
        await one.say("colour red", tools=tools)
    assert offered[0][0]["name"] == "set_colour"
