"""What frameworks ask about tool calls: rules by tool cover it, and hear of the arguments."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import pytest
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from strands.hooks import BeforeToolCallEvent, BeforeToolsEvent

from agui_bridge import Adapter, Answer, ApprovalRule, Bridge
from agui_bridge.approvals import Match, Question, RuleList
from agui_bridge.protocol.threads.records import ToolCall
from agui_bridge_adk import AdkAdapter
from agui_bridge_agent_framework import AgentFrameworkAdapter
from agui_bridge_agno import AgnoAdapter
from agui_bridge_langgraph import LangGraphAdapter
from agui_bridge_mastra import MastraAdapter
from agui_bridge_nexau.pauses import ask_of
from agui_bridge_nexau.reader import CallSeen
from agui_bridge_pydantic_ai import PydanticAIAdapter
from agui_bridge_strands import StrandsAdapter
from tests.adapters.adk.mailer import Mailer as AdkMailer
from tests.adapters.agent_framework.mailer import Mailer as AgentFrameworkMailer
from tests.adapters.agno.mailer import Mailer as AgnoMailer
from tests.adapters.langgraph.mailer import Mailer as LangGraphMailer
from tests.adapters.mastra.replay import Server
from tests.adapters.mastra.scripted import SUSPENDED, stream
from tests.adapters.pydantic_ai.mailer import Mailer as PydanticAIMailer
from tests.adapters.strands.mailer import Mailer as StrandsMailer
from tests.docs.pages import Conversation

FRIDAY: Final = {"day": "friday"}
COLOUR: Final = {"question": "colour"}
BOB: Final = {"name": "bob"}
MAIL: Final = {"to": "bob", "body": "original"}
RED: Final = {"answer": "red"}
YES: Final = {"approved": True}


@dataclass(frozen=True)
class Case:
    """What is asked about a call.

    Attributes:
        adapter: of an agent that asks.
        say: what makes it ask.
        tool: the call's.
        args: the call's.
        answer: one that fits.
        lets_run: whether the answer lets the tool run.
        beside: the other calls that the same question is about: arguments by tool.
    """

    adapter: Callable[[], Adapter]
    say: str
    tool: str
    args: Mapping[str, Any]
    answer: Any = "y"
    lets_run: bool = False
    beside: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def calls(self) -> dict[str, Mapping[str, Any]]:
        return {self.tool: self.args, **self.beside}


def hooked(event: Any, *, inside: bool = False) -> Adapter:
    """An agent of Strands with a hook that asks before tools, as its documentation has it.

    Args:
        event: before which.
        inside: whether the hook is that of the agent inside its tool.
    """
    mailer = StrandsMailer(gated=())
    reason = {"question": "Go?", "schema": {"type": "boolean"}}

    def confirm(before: Any) -> None:
        before.interrupt("sure", reason=reason)

    (mailer.helper if inside else mailer.agent).hooks.add_callback(event, confirm)
    return StrandsAdapter(mailer.agent)


def standing() -> Adapter:
    """A graph that stands before its tools."""

    def look_up(name: str) -> str:
        """Look somebody up."""
        raise AssertionError("nobody has approved it")

    def model(state: Any) -> Any:
        call = {"id": "c1", "name": "look_up", "args": dict(BOB)}
        return {"messages": [AIMessage("", tool_calls=[call])]}

    builder = StateGraph(MessagesState)
    builder.add_node("model", model)
    builder.add_node("tools", ToolNode([tool(look_up)]))
    builder.add_edge(START, "model")
    builder.add_edge("model", "tools")
    return LangGraphAdapter(
        builder.compile(checkpointer=InMemorySaver(), interrupt_before=["tools"])
    )


def suspended() -> Adapter:
    """An agent of a Mastra server with a tool that suspends."""
    server = Server(stream(SUSPENDED))
    return MastraAdapter("http://mastra.test", "agent", client=server.client())


CASES: Final[Mapping[str, Case]] = {
    "ADK's confirmation with a payload": Case(
        lambda: AdkAdapter(AdkMailer().agent), "book friday", "book", FRIDAY, lets_run=True
    ),
    "ADK's long-running tool": Case(
        lambda: AdkAdapter(AdkMailer().agent), "fetch it", "fetch", {"key": "it"}
    ),
    "Agent Framework's tool without a function": Case(
        lambda: AgentFrameworkAdapter(AgentFrameworkMailer().agent),
        "ask colour",
        "ask_user",
        COLOUR,
        RED,
    ),
    "Agno's user input": Case(
        lambda: AgnoAdapter(AgnoMailer().agent),
        "book friday",
        "book",
        FRIDAY,
        {"hour": 5, "note": ""},
    ),
    "Agno's external execution": Case(
        lambda: AgnoAdapter(AgnoMailer().agent), "fetch it", "fetch", {"key": "it"}
    ),
    "LangGraph's interrupt in a tool": Case(
        lambda: LangGraphAdapter(LangGraphMailer().graph), "ask colour", "ask_user", COLOUR, RED
    ),
    "LangGraph's breakpoint before tools": Case(standing, "go", "look_up", BOB, YES, lets_run=True),
    "Mastra's tool that suspends": Case(suspended, "go", "ask", {"topic": "red"}, RED),
    "Pydantic AI's deferred call": Case(
        lambda: PydanticAIAdapter(PydanticAIMailer().agent), "ask colour", "ask_user", COLOUR, RED
    ),
    "Strands' interrupt in a tool": Case(
        lambda: StrandsAdapter(StrandsMailer().agent), "book friday", "book", FRIDAY
    ),
    "Strands' hook before a tool": Case(
        lambda: hooked(BeforeToolCallEvent), "look bob", "look_up", BOB, True, lets_run=True
    ),
    "Strands' hook before all tools": Case(
        lambda: hooked(BeforeToolsEvent), "look bob", "look_up", BOB, True, lets_run=True
    ),
    "Strands' hook before several tools": Case(
        lambda: hooked(BeforeToolsEvent),
        *("mixed bob", "look_up", BOB, True),
        lets_run=True,
        beside={"send_email": MAIL},
    ),
    "Strands' hook before the tools of an agent in a tool": Case(
        lambda: hooked(BeforeToolsEvent, inside=True),
        *("mixedinside bob", "look_up", BOB, True),
        lets_run=True,
        beside={"send_email": MAIL},
    ),
}
LETTING: Final = {name: case for name, case in CASES.items() if case.lets_run}


def asking(case: Case, approvals: Any = None) -> Conversation:
    """A conversation in which words are taken for an answer wherever one may be."""
    bridge = Bridge("memory:")
    if approvals is not None:
        bridge.approvals(approvals)
    bridge.add("agent", case.adapter(), auto_resume="on", extract=lambda reply: Answer(case.answer))
    return Conversation(bridge, "agent", keeps_list=True)


@pytest.mark.parametrize(
    ("case", "called"),
    [
        pytest.param(case, called, id=f"{name}: {called}")
        for name, case in CASES.items()
        for called in case.calls
    ],
)
async def test_a_rule_by_tool_covers_what_is_asked_about_its_calls(case: Case, called: str) -> None:
    heard: list[Question] = []
    rules = RuleList([(Match(tool=called), ApprovalRule("owner", approvers=("owner",)))])

    def approvals(question: Question) -> ApprovalRule | None:
        heard.append(question)
        return rules(question)

    talk = asking(case, approvals)
    async with talk._bridge.lifespan():
        await talk.say(case.say)
        assert {q.tool: q.args for q in heard} == case.calls
        assert len(heard) == len(case.calls)
        (ask,) = talk.asks
        if case.beside:
            shown = [f"{name} {json.dumps(args)}" for name, args in case.calls.items()]
            assert all(one in ask["message"] for one in shown)
        await talk.say("yes")
        assert [one["id"] for one in talk.asks] == [ask["id"]], "the words are no answer"
        await talk.answer(case.answer)
        assert talk.events[-1]["code"] == "NOT_AN_APPROVER"


@pytest.mark.parametrize("case", LETTING.values(), ids=LETTING)
async def test_no_words_are_an_answer_that_lets_a_tool_run(case: Case) -> None:
    talk = asking(case)
    async with talk._bridge.lifespan():
        await talk.say(case.say)
        (ask,) = talk.asks
        await talk.say("yes")
        assert [one["id"] for one in talk.asks] == [ask["id"]]
        assert "approved or declined explicitly" in talk.asks[0]["message"]


def test_a_question_of_nexaus_names_its_call() -> None:
    ask = ask_of(CallSeen("c1", "ask_user", '{"question": "Which?"}'))
    assert ask.about == ToolCall("c1", "ask_user", {"question": "Which?"})
