"""What LangChain's middleware writes of a call by itself is not told as the agent's own words."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import interrupt

from agui_bridge import Bridge
from agui_bridge.testing import talk
from agui_bridge_langgraph import LangGraphAdapter
from tests.adapters.langgraph.graphs import State, flow, says, serving
from tests.adapters.langgraph.model import ScriptedModel, mails
from tests.docs.pages import Conversation


def send_email(to: str, body: str) -> str:
    """Send an email."""
    return f"sent to {to}"


@pytest.mark.parametrize(
    ("options", "decisions", "told"),
    [
        ({}, True, None),
        ({"description_prefix": "Look twice."}, True, "Look twice."),
        ({}, {"allowed_decisions": ["approve"], "description": "To all!"}, "To all!"),
    ],
    ids=["by default", "a prefix", "a description"],
)
async def test_the_middlewares_text_repeats_no_arguments(
    options: dict[str, Any], decisions: Any, told: str | None
) -> None:
    gate = HumanInTheLoopMiddleware({"send_email": decisions}, **options)
    graph = create_agent(
        ScriptedModel(steps=mails), [send_email], middleware=[gate], checkpointer=InMemorySaver()
    )
    bridge = Bridge("memory:")
    bridge.add("graph", LangGraphAdapter(graph))
    one = Conversation(bridge, "graph", keeps_list=True)
    async with bridge.lifespan():
        await one.say("send bob")
        (ask,) = one.asks
    assert ask.get("message") == told


@pytest.mark.parametrize(
    ("asked", "shown"),
    [("Which name?", "Which name?"), ({"action": "Approve", "args": {"x": 1}}, "Approve")],
    ids=["a message", "an action"],
)
async def test_what_copilotkits_interrupt_asks_is_the_questions_message(
    asked: Any, shown: str
) -> None:
    def ask(_: State) -> State:
        # As `copilotkit_interrupt` does.
        said = [AIMessage("Which name?")]
        value = {"__copilotkit_interrupt_value__": asked, "__copilotkit_messages__": said}
        return says(f"You are {interrupt(value)}.")

    async with talk(serving(flow(ask)), "graph") as one:
        question = await one.say("go")
        assert [one["message"] for one in question.asks] == [shown]
        assert (await one.answer(question, "Bob")).text == "You are Bob."
