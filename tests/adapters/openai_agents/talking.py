"""Bridges with the mailer, and conversations with it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from agui_bridge import Bridge
from agui_bridge.testing import Talk, talk
from agui_bridge_openai_agents import OpenAIAgentsAdapter
from tests.adapters.openai_agents.mailer import Mailer
from tests.docs.pages import Conversation

__all__ = ["YES", "conversing", "serving", "talking"]

YES = {"approved": True}


def serving(mailer: Mailer, store: str = "memory:", **options: Any) -> Bridge:
    """A bridge with the agent, not yet begun."""
    bridge = Bridge(store)
    bridge.add("mailer", OpenAIAgentsAdapter(mailer.agent, **options))
    return bridge


@asynccontextmanager
async def talking(mailer: Mailer, **options: Any) -> AsyncIterator[Talk]:
    """A conversation through `agui_bridge.testing`."""
    async with talk(serving(mailer, **options), "mailer") as one:
        yield one


@asynccontextmanager
async def conversing(bridge: Bridge) -> AsyncIterator[Conversation]:
    """A conversation whose inputs a test writes itself."""
    async with bridge.lifespan():
        yield Conversation(bridge, "mailer")
