"""`python -m tests.e2e.browser.steady_server PORT`: agents of their own for a few tests.

One goes on while nobody listens, two people must agree with another, and one says little of what it
asks.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from typing import Final

from agui_bridge import ApprovalRule, Bridge, FunctionRun
from agui_bridge.approvals import Question
from agui_bridge.http.server import serve

LOOPBACK: Final = r"http://127\.0\.0\.1(:\d+)?"
WORDS: Final = 80
SECONDS: Final = 0.05

bridge = Bridge("memory:", cors_origin_regex=LOOPBACK)


@bridge.agent("steady", on_disconnect="continue")
async def steady(run: FunctionRun) -> AsyncIterator[str]:
    """Counts, keeps the count in the state, and asks at the end."""
    for number in range(WORDS):
        await asyncio.sleep(SECONDS)
        yield f"{number} "
    run.state["counted"] = WORDS
    yield "Confirmed." if await run.confirm(f"Was {WORDS} enough?") else "Not confirmed."


@bridge.approvals
async def two_agree(question: Question) -> ApprovalRule | None:
    """Whoever they are: here nobody says who asks, so they are one, and never enough."""
    return ApprovalRule("two", quorum=2) if question.tool == "publish" else None


@bridge.agent("careful")
async def careful(run: FunctionRun) -> AsyncIterator[str]:
    """Publishes nothing before two have agreed."""
    approval = await run.approve("publish", {"page": "news"}, message="Publish the news?")
    yield "Published." if approval.approved else "Not published."


@bridge.agent("timed")
async def timed(run: FunctionRun) -> AsyncIterator[str]:
    """Waits five minutes for an answer."""
    yield "Confirmed." if await run.confirm("Go on?", expires_in=300) else "Not confirmed."


@bridge.agent("terse")
async def terse(run: FunctionRun) -> AsyncIterator[str]:
    """Says nothing of the change that it is about to make."""
    schema = {
        "type": "object",
        "required": ["approved"],
        "properties": {"approved": {"type": "boolean"}},
    }
    await run.ask("Change the database?", reason="database_modification", schema=schema)
    yield "Changed."


if __name__ == "__main__":
    serve(bridge, "127.0.0.1", int(sys.argv[1]), log_level="warning")
