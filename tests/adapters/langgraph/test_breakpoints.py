"""Breakpoints that are compiled into a graph: before tools they are the approval of the calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

from agui_bridge import ApprovalRule, Bridge
from agui_bridge.approvals import Match, Question, RuleList
from agui_bridge.protocol.threads.approval_rule import Remember
from agui_bridge.testing import talk
from agui_bridge_langgraph import LangGraphAdapter
from tests.adapters.langgraph.graphs import State, flow, says, serving
from tests.adapters.langgraph.mailer import MODES, Mailer
from tests.docs.pages import Conversation

YES, NO = {"approved": True}, {"approved": False, "reason": "too late"}
TABLES = ["users", "logs"]


class Dropping:
    """A model that calls `drop_table` for some tables, and a graph that stands before its tools."""

    def __init__(
        self, node: Callable[[Dropping], Any], when: str = "interrupt_before", tables: Any = TABLES
    ) -> None:
        self.tables = tables
        self.dropped: list[str] = []
        self.read: list[str] = []
        builder = StateGraph(MessagesState)
        builder.add_node("model", self._model)
        builder.add_node("tools", node(self))
        builder.add_edge(START, "model")
        builder.add_conditional_edges("model", tools_condition)
        builder.add_edge("tools", "model")
        at: Any = ["tools"] if when == "interrupt_before" else ["model"]
        self.graph = builder.compile(checkpointer=InMemorySaver(), **{when: at})

    def drop_table(self, table: str) -> str:
        """Drop a table."""
        self.dropped.append(table)
        return f"{table} dropped"

    def _model(self, state: Any) -> State:
        said = state["messages"]
        if isinstance(said[-1], ToolMessage):
            self.read = [m.text for m in said[-len(self.tables) :]]
            return says("Done.")
        turn = len(said)
        calls = [
            {"id": f"c{turn}-{n}", "name": "drop_table", "args": {"table": table}}
            for n, table in enumerate(self.tables)
        ]
        return {"messages": [AIMessage("", tool_calls=calls)]}


def tool_node(dropping: Dropping) -> Any:
    return ToolNode([tool(dropping.drop_table)])


def own_node(dropping: Dropping) -> Any:
    """Carries calls out where nothing of LangChain's or the bridge's can stand before them."""

    def tools(state: Any) -> State:
        calls = state["messages"][-1].tool_calls
        made = [(call["id"], dropping.drop_table(**call["args"])) for call in calls]
        return {"messages": [ToolMessage(text, tool_call_id=call) for call, text in made]}

    return tools


NODES = {"a ToolNode": tool_node, "a node of one's own": own_node}
nodes = pytest.mark.parametrize("node", NODES.values(), ids=NODES)


def talking(dropping: Dropping, rule: Any = None, **settings: Any) -> Conversation:
    bridge = Bridge("memory:")
    bridge.add("graph", LangGraphAdapter(dropping.graph), **settings)
    if rule is not None:
        bridge.approvals(rule)
    return Conversation(bridge, "graph", keeps_list=True)


@nodes
@pytest.mark.parametrize("when", ["interrupt_before", "interrupt_after"])
async def test_a_breakpoint_before_tools_keeps_to_the_rules_of_their_calls(
    node: Any, when: str
) -> None:
    asked: list[Question] = []
    rules = RuleList([(Match(tool="drop_*"), ApprovalRule("dba", approvers=("dba",)))])

    def approvals(question: Question) -> ApprovalRule | None:
        asked.append(question)
        return rules(question)

    dropping = Dropping(node, when)
    one = talking(dropping, approvals)
    async with one._bridge.lifespan():
        await one.say("go")
        assert [(q.reason, q.tool, q.args) for q in asked] == [
            ("tool_call", "drop_table", {"table": table}) for table in TABLES
        ]
        await one.answer(YES, YES)
        assert one.events[-1]["code"] == "NOT_AN_APPROVER"
    assert dropping.dropped == []


@nodes
async def test_no_words_let_a_graph_go_on_before_its_tools(node: Any) -> None:
    dropping = Dropping(node, tables=["users"])
    one = talking(dropping, auto_resume="on")
    async with one._bridge.lifespan():
        await one.say("go")
        await one.say("yes")
        assert one.asks[0]["message"].startswith("A tool call is approved or declined explicitly")
    assert dropping.dropped == []


DECISIONS: dict[str, tuple[Any, Any, list[str]]] = {
    "all approved": (YES, YES, TABLES),
    "one declined": (YES, NO, ["users"]),
    "one cancelled": (None, YES, ["logs"]),
    "none approved": (NO, None, []),
}
"""What is decided on the two calls, and the tables that a `ToolNode` drops."""
decisions = pytest.mark.parametrize(
    ("first", "second", "dropped"), DECISIONS.values(), ids=DECISIONS
)


@decisions
async def test_before_a_tool_node_each_call_is_decided_on_by_itself(
    first: Any, second: Any, dropped: list[str]
) -> None:
    dropping = Dropping(tool_node)
    one = talking(dropping)
    async with one._bridge.lifespan():
        await one.say("go")
        assert await one.answer(first, second) == "Done."
    assert sorted(dropping.dropped) == sorted(dropped)
    assert [f"{table} dropped" in dropping.read for table in TABLES] == [
        table in dropped for table in TABLES
    ]
    assert any("too late" in text for text in dropping.read) is (NO in (first, second))


@decisions
async def test_a_node_of_ones_own_begins_where_all_calls_are_approved(
    first: Any, second: Any, dropped: list[str]
) -> None:
    goes_on = dropped == TABLES
    dropping = Dropping(own_node)
    one = talking(dropping)
    async with one._bridge.lifespan():
        await one.say("go")
        assert await one.answer(first, second) == ("Done." if goes_on else "")
        assert one.events[-1]["outcome"]["type"] == "success"
        told = [e["content"] for e in one.events if e["type"] == "TOOL_CALL_RESULT"]
        assert all(("dropped" in text) is goes_on for text in told)
        assert len(told) == 2
        await one.say("again")
        assert len(one.asks) == 2, "what stood there is over"
        assert await one.answer(YES, YES) == "Done."
    assert dropping.dropped == (TABLES * 2 if goes_on else TABLES)


@pytest.mark.parametrize("mode", MODES)
async def test_what_was_declined_at_a_breakpoint_is_not_asked_about_behind_it(mode: str) -> None:
    mailer = Mailer(mode=mode, interrupt_before=["tools"])
    bridge = Bridge("memory:")
    bridge.add("graph", LangGraphAdapter(mailer.graph))
    one = Conversation(bridge, "graph", keeps_list=True)
    async with bridge.lifespan():
        await one.say("send bob")
        while one.asks[0].get("message") != "Go on with tools?":
            await one.answer(YES)
        assert await one.answer(NO) == "Done with 1 calls."
    assert mailer.done == []
    (told,) = mailer.results("send_email")
    assert "too late" in told


@nodes
async def test_a_breakpoint_offers_no_edits(node: Any) -> None:
    one = talking(Dropping(node, tables=["users"]))
    async with one._bridge.lifespan():
        await one.say("go")
        assert one.asks[0]["responseSchema"]["properties"].keys() == {"approved", "reason"}


@nodes
async def test_a_breakpoint_is_passed_by_an_approval_that_is_remembered(node: Any) -> None:
    rule = ApprovalRule("drops", remember=(Remember("thread"),))
    dropping = Dropping(node, tables=["users"])
    one = talking(dropping, RuleList([(Match(tool="drop_table"), rule)]))
    async with one._bridge.lifespan():
        await one.say("go")
        assert await one.answer({**YES, "remember": "thread"}) == "Done."
        assert await one.say("again") == "Done."
    assert dropping.dropped == ["users", "users"]


@pytest.mark.parametrize("when", ["interrupt_before", "interrupt_after"])
async def test_a_breakpoint_without_calls_is_a_confirmation(when: str) -> None:
    begun: list[str] = []

    def first(state: Any) -> State:
        begun.append("first")
        return says("First. ")

    def second(state: Any) -> State:
        begun.append("second")
        return says("Second.")

    at = ["second"] if when == "interrupt_before" else ["first"]
    graph = flow(first, second, **{when: at})
    async with talk(serving(graph), "graph") as one:
        asked = await one.say("hello")
        assert (asked.asks[0]["reason"], begun) == ("confirmation", ["first"])
        assert (await one.answer(asked, {"confirm": True})).text == "Second."
        again = await one.say("again")
        refused = await one.answer(again, {"confirm": False})
        assert (refused.ending, refused.text) == ("success", "")
        assert (await one.say("and again")).asks != []
    assert begun == ["first", "second", "first", "first"]
