"""An agent that goes on while nobody listens: `python -m tests.e2e.browser.steady_server PORT`."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from typing import Final

from agui_bridge import Bridge, FunctionRun
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


if __name__ == "__main__":
    serve(bridge, "127.0.0.1", int(sys.argv[1]), log_level="warning")
