"""What LangChain's middleware writes of a call by itself is not told as the agent's own words."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langgraph.checkpoint.memory import InMemorySaver

from agui_bridge import Bridge
from agui_bridge_langgraph import LangGraphAdapter
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
