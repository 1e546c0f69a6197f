"""Bridges with the mailer, and conversations with it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from agui_bridge import Bridge
from agui_bridge.testing import Talk, talk
from agui_bridge_adk import AdkAdapter
from tests.docs.pages import Conversation

__all__ = ["YES", "conversing", "names_of", "serving", "talking"]

YES = {"approved": True}


def serving(agent: Any, store: str = "memory:", **options: Any) -> Bridge:
    """A bridge with the agent, not yet begun."""
    bridge = Bridge(store)
    bridge.add("mailer", AdkAdapter(agent, **options))
    return bridge


@asynccontextmanager
async def talking(agent: Any, **options: Any) -> AsyncIterator[Talk]:
    """A conversation through `agui_bridge.testing`."""
    async with talk(serving(agent, **options), "mailer") as one:
        yield one


@asynccontextmanager
async def conversing(bridge: Bridge) -> AsyncIterator[Conversation]:
    """A conversation whose inputs a test writes itself."""
    async with bridge.lifespan():
        yield Conversation(bridge, "mailer")


def names_of(events: list[Any], kind: str, member: str) -> list[Any]:
    """A member of all events of a type."""
    return [event[member] for event in events if event["type"] == kind]
