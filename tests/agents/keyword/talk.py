"""What the tests of agents that ask in words share."""

from __future__ import annotations

from typing import Any

from agui_bridge import KeywordAdapter
from agui_bridge.adapters import Run, RunItem
from tests.agents.function.harness import items_of
from tests.support.agents import Scripted

CONFIRM = {"confirm": True}


async def said(*items: RunItem, **options: Any) -> list[RunItem]:
    """What the wrapper gives of an agent that gives these items."""
    return await items_of(KeywordAdapter(Scripted(items), **options))


def seen_by(run: Run) -> list[tuple[str, Any]]:
    """Role and content of each message that an agent was given."""
    return [(m.role, m.content) for m in run.messages]
