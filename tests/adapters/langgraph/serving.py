"""The agent behind a bridge, and somebody who talks to it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from agui_bridge import Bridge
from agui_bridge.testing import Talk, talk
from agui_bridge_langgraph import LangGraphAdapter
from tests.adapters.langgraph.mailer import Mailer
from tests.docs.pages import Conversation

__all__ = ["YES", "conversing", "serving", "talking"]

YES = {"approved": True}


def serving(mailer: Mailer, store: str = "memory:", **options: Any) -> Bridge:
    bridge = Bridge(store)
    bridge.add("mailer", LangGraphAdapter(mailer.graph, **options))
    return bridge


@asynccontextmanager
async def talking(mailer: Mailer, **options: Any) -> AsyncIterator[Talk]:
    async with talk(serving(mailer, **options), "mailer") as one:
        yield one


@asynccontextmanager
async def conversing(bridge: Bridge, **options: Any) -> AsyncIterator[Conversation]:
    async with bridge.lifespan():
        yield Conversation(bridge, "mailer", **options)
