"""Tools wherever graphs call them: each runs once, and passes the gate."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import interrupt

from agui_bridge import ProposedCall, Verdict
from agui_bridge.testing import talk
from tests.adapters.langgraph.graphs import State, flow, says, serving
from tests.adapters.langgraph.mailer import MODES, Mailer
from tests.adapters.langgraph.model import ScriptedModel, mails
from tests.adapters.mails import YES

pytestmark = pytest.mark.anyio


# --- a node that carries several calls out begins again ---


class Office:
    """A graph of a model and one `ToolNode`, without LangChain's agents."""

    def __init__(self) -> None:
        self.done: list[Any] = []
        self.model = ScriptedModel(steps=self._steps)
        tools = [tool(self.send_email), tool(self.look_up), tool(self.ask_user)]
        builder = StateGraph(MessagesState)
        builder.add_node("model", self._call)
        builder.add_node("tools", ToolNode(tools))
        builder.add_edge(START, "model")
        builder.add_conditional_edges("model", tools_condition)
        builder.add_edge("tools", "model")
        self.graph = builder.compile(checkpointer=InMemorySaver())

    async def _call(self, state: Any) -> State:
        return {"messages": [await self.model.ainvoke(state["messages"])]}

    def _steps(self, verb: str, rest: str) -> list[list[Any]]:
        mail: Any = ("send_email", {"to": rest})
        order = {
            "after": [("look_up", {"name": rest}), mail],
            "before": [mail, ("look_up", {"name": rest})],
        }
        return [order[verb]] if verb in order else mails(verb, rest)

    async def send_email(self, to: str, body: str = "Hi") -> str:
        """Send an email."""
        answer = interrupt({"message": f"Mail {to}?"})
        self.done.append({"to": to, "answer": answer})
        return f"sent to {to}"

    async def look_up(self, name: str) -> str:
        """Look somebody up."""
        self.done.append(f"looked up {name}")
        return f"{name} is known"

    async def ask_user(self, question: str) -> str:
        """Ask the user twice."""
        first = interrupt(f"{question}?")
        second = interrupt(f"{question}, really?")
        self.done.append([question, first, second])
        return f"{question}: {first}, {second}"


@pytest.mark.parametrize("order", ["before", "after"])
async def test_the_neighbour_of_a_tool_that_asks_runs_once(order: str) -> None:
    office = Office()
    async with talk(serving(office.graph), "graph") as one:
        asked = await one.say(f"{order} bob")
        assert office.done == ["looked up bob"]
        answered = await one.answer(asked, "yes")
        results = [
            event["toolCallId"]
            for stream in (asked, answered)
            for event in stream.events
            if event["type"] == "TOOL_CALL_RESULT"
        ]
    assert office.done == ["looked up bob", {"to": "bob", "answer": "yes"}]
    assert len(results) == len(set(results)) == 2
    assert "bob is known" in str(office.model.requests[-1])


async def test_of_two_tools_that_ask_in_one_node_each_runs_once_with_its_own_answer() -> None:
    office = Office()
    async with talk(serving(office.graph), "graph") as one:
        first = await one.say("both bob")
        assert [ask["message"] for ask in first.asks] == ["Mail bob?"]
        second = await one.answer(first, "one")
        assert [ask["message"] for ask in second.asks] == ["Mail second-bob?"]
        assert (await one.answer(second, "two")).ending == "success"
    assert office.done == [{"to": "bob", "answer": "one"}, {"to": "second-bob", "answer": "two"}]


async def test_tools_that_ask_twice_in_one_node_get_their_own_answers() -> None:
    office = Office()
    async with talk(serving(office.graph), "graph") as one:
        stream, told = await one.say("asks red+blue"), []
        while stream.asks:
            (ask,) = stream.asks
            told.append(ask["message"])
            stream = await one.answer(stream, ask["message"].upper())
    assert told == ["red?", "red, really?", "blue?", "blue, really?"]
    assert office.done == [
        ["red", "RED?", "RED, REALLY?"],
        ["blue", "BLUE?", "BLUE, REALLY?"],
    ]


async def test_a_policy_may_ask_of_each_call_of_one_node() -> None:
    office, seen = Office(), list[tuple[str, bool]]()

    def policy(call: ProposedCall) -> Verdict:
        seen.append((call.args.get("to", ""), call.approved))
        return Verdict("allow") if call.approved else Verdict("ask", f"{call.args['to']}?")

    bridge = serving(office.graph)
    bridge.policy(policy)
    async with talk(bridge, "graph") as one:
        stream, told = await one.say("both bob"), []
        while stream.asks:
            (ask,) = stream.asks
            told.append(ask["message"])
            gated = ask["reason"] == "tool_call"
            stream = await one.answer(stream, YES if gated else told[-1].upper())
    assert told == ["bob?", "Mail bob?", "second-bob?", "Mail second-bob?"]
    assert office.done == [
        {"to": "bob", "answer": "MAIL BOB?"},
        {"to": "second-bob", "answer": "MAIL SECOND-BOB?"},
    ]


# --- tools that no ToolNode carries out ---


@tool
async def pay(amount: int) -> str:
    """Pay."""
    PAID.append(amount)
    return f"paid {amount}"


@tool
def pay_in_sync(amount: int) -> str:
    """Pay, without a loop."""
    PAID.append(amount)
    return f"paid {amount}"


PAID: list[int] = []


async def _by_a_node(state: Any) -> State:
    call = {"name": "pay", "args": {"amount": 3}, "id": "call-a", "type": "tool_call"}
    result = await pay.ainvoke(call)
    return says(f"{result.content}.")


def _by_a_sync_node(state: Any) -> State:
    return says(f"{pay_in_sync.invoke({'amount': 3})}.")


@pytest.mark.parametrize("node", [_by_a_node, _by_a_sync_node])
async def test_a_tool_that_a_node_calls_itself_passes_the_policy(node: Any) -> None:
    PAID.clear()
    allowed = serving(flow(node))
    allowed.policy(lambda call: Verdict("allow"))
    async with talk(allowed, "graph") as one:
        assert (await one.say("hello")).text == "paid 3."
    denied, seen = serving(flow(node)), list[Any]()

    def policy(call: ProposedCall) -> Verdict:
        seen.append(dict(call.args))
        return Verdict("deny", "too much")

    denied.policy(policy)
    async with talk(denied, "graph") as one:
        assert (await one.say("hello")).ending == "AGENT_ERROR"
    assert (PAID, seen) == ([3], [{"amount": 3}])


async def test_a_policy_may_ask_about_a_tool_that_a_node_calls_itself() -> None:
    PAID.clear()
    bridge = serving(flow(_by_a_node))
    bridge.policy(lambda call: Verdict("allow" if call.approved else "ask", "Pay?", editable=True))
    async with talk(bridge, "graph") as one:
        asked = await one.say("hello")
        assert (asked.asks[0]["message"], PAID) == ("Pay?", [])
        assert "editedArgs" not in asked.asks[0]["responseSchema"]["properties"]
        assert (await one.answer(asked, YES)).text == "paid 3."
    assert PAID == [3]


# --- agents that tools call ---


def _delegating(mailer: Mailer) -> Any:
    inner = create_agent(mailer.model, mailer.tools, middleware=mailer.middleware, name="secretary")

    @tool
    async def delegate(task: str) -> str:
        """Have a secretary do something."""
        answer = await inner.ainvoke({"messages": [HumanMessage(task)]})
        return str(answer["messages"][-1].text)

    def steps(verb: str, rest: str) -> list[list[Any]]:
        return [[("delegate", {"task": rest})]] if verb == "delegate" else []

    graph = create_agent(ScriptedModel(steps=steps), [delegate], checkpointer=InMemorySaver())
    return graph, inner


@pytest.mark.parametrize("mode", MODES)
async def test_an_agent_in_a_tool_asks_and_its_tool_runs_once(mode: str) -> None:
    mailer = Mailer(mode=mode)
    graph, _ = _delegating(mailer)
    async with talk(serving(graph), "graph") as one:
        asked = await one.say("delegate send bob")
        (ask,) = asked.asks
        assert ask["toolCallId"]
        assert mailer.done == []
        done = await one.answer(asked, YES)
        assert done.ending == "success"
    assert mailer.done == [{"to": "bob", "body": "original"}]


async def test_an_agent_in_a_tool_is_a_sub_agent_which_is_suspended_and_goes_on() -> None:
    mailer = Mailer()
    graph, _ = _delegating(mailer)
    async with talk(serving(graph), "graph") as one:
        asked = await one.say("delegate send bob")
        (begun,) = (e for e in asked.events if e["type"] == "SUBAGENT_STARTED")
        assert begun["name"] == "secretary"
        (call,) = (e for e in asked.events if e.get("toolCallName") == "delegate")
        assert begun["parentToolCallId"] == call["toolCallId"]
        (ask,) = asked.asks
        assert ask["subagentRunId"] == begun["subagentRunId"]
        done = await one.answer(asked, YES)
    told = [e for e in done.events if e.get("subagentRunId") == begun["subagentRunId"]]
    kinds = [e["type"] for e in told]
    assert kinds[:2] == ["SUBAGENT_STARTED", "TOOL_CALL_RESULT"]
    assert kinds[-1] == "SUBAGENT_FINISHED"
    own = [e for e in done.events if e["type"] == "TEXT_MESSAGE_CONTENT" and e not in told]
    assert [e["delta"] for e in own] == ["Done with 1 calls."]


async def test_agents_within_agents_name_the_one_above() -> None:
    mailer = Mailer()
    _, secretary = _delegating(mailer)

    @tool
    async def dictate(task: str) -> str:
        """Have the secretary's assistant do it."""
        answer = await secretary.ainvoke({"messages": [HumanMessage(task)]})
        return str(answer["messages"][-1].text)

    def dictates(verb: str, rest: str) -> list[list[Any]]:
        return [[("dictate", {"task": rest})]] if verb == "dictate" else []

    middle = create_agent(ScriptedModel(steps=dictates), [dictate], name="manager")

    @tool
    async def order(task: str) -> str:
        """Have the manager do it."""
        answer = await middle.ainvoke({"messages": [HumanMessage(task)]})
        return str(answer["messages"][-1].text)

    def orders(verb: str, rest: str) -> list[list[Any]]:
        return [[("order", {"task": rest})]] if verb == "order" else []

    graph = create_agent(ScriptedModel(steps=orders), [order], checkpointer=InMemorySaver())
    async with talk(serving(graph), "graph") as one:
        asked = await one.say("order dictate send bob")
        begun = [e for e in asked.events if e["type"] == "SUBAGENT_STARTED"]
        assert [e["name"] for e in begun] == ["manager", "secretary"]
        assert begun[1]["parentSubagentRunId"] == begun[0]["subagentRunId"]
        done = await one.answer(asked, YES)
    assert done.ending == "success"
    again = [e for e in done.events if e["type"] == "SUBAGENT_STARTED"]
    assert [e["subagentRunId"] for e in again] == [e["subagentRunId"] for e in begun]
    assert mailer.done == [{"to": "bob", "body": "original"}]


async def test_agents_of_one_task_with_several_calls_speak_for_the_graph() -> None:
    mailer = Mailer()
    secretary = create_agent(mailer.model, mailer.tools, name="secretary")

    @tool
    async def delegate(task: str) -> str:
        """Have a secretary do something."""
        answer = await secretary.ainvoke({"messages": [HumanMessage(task)]})
        return str(answer["messages"][-1].text)

    def steps(verb: str, rest: str) -> list[list[Any]]:
        return [[("delegate", {"task": f"look {name}"}) for name in rest.split("+")]]

    model = ScriptedModel(steps=steps)

    async def call(state: MessagesState) -> Any:
        return {"messages": [await model.ainvoke(state["messages"])]}

    builder = StateGraph(MessagesState)
    builder.add_node("model", call)
    builder.add_node("tools", ToolNode([delegate]))
    builder.add_edge(START, "model")
    builder.add_conditional_edges("model", tools_condition)
    builder.add_edge("tools", "model")
    graph = builder.compile(checkpointer=InMemorySaver())
    async with talk(serving(graph), "graph") as one:
        done = await one.say("delegate bob+ann")
    assert done.ending == "success"
    assert {e.get("subagentRunId") for e in done.events} == {None}
    assert sorted(mailer.done) == ["looked up ann", "looked up bob"]


async def test_tools_of_an_agent_in_a_tool_are_refused_in_words_if_it_is_named() -> None:
    mailer = Mailer()
    graph, inner = _delegating(mailer)
    bridge = serving(graph, inner=[inner])
    bridge.policy(
        lambda call: Verdict("deny", "no") if call.name == "look_up" else Verdict("allow")
    )
    async with talk(bridge, "graph") as one:
        assert (await one.say("delegate look bob")).ending == "success"
    assert mailer.done == []
    assert "The policy denied this tool call" in mailer.results("look_up")[0]
