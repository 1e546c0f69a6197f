"""The agent: writes a file in each step, and never one that the conversation has already."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator

from ag_ui.core import ToolMessage

from agui_bridge import Bridge, EndReason, FunctionRun, Settings
from agui_bridge.adapters import Run

logger = logging.getLogger("coder")

bridge = Bridge(
    "sqlite:///stop_and_continue.db",
    # A thread whose server was killed is free again after three seconds.
    settings=Settings(flush_interval=0.05, lease_seconds=3.0),
)

FILES = [f"part_{number}.py" for number in range(1, 9)]


async def write_file(name: str) -> str:
    """Pretend to write a file."""
    await asyncio.sleep(0.3)
    return f"wrote {name}"


@bridge.agent("coder")
async def coder(run: FunctionRun) -> AsyncIterator[str]:
    """Writes a program of eight files."""
    results = [str(m.content) for m in run.messages if isinstance(m, ToolMessage)]
    left = [name for name in FILES if f"wrote {name}" not in results]
    yield f"On it: {run.text}. {len(FILES) - len(left)} files are there. "
    for number, name in enumerate(left, 1):
        run.iteration = number
        yield f"Next is {name}. "
        await run.call("write_file", {"name": name}, write_file)
        await asyncio.sleep(0.1)
    yield "All files are there."


@bridge.on_run_end
def told(run: Run, reason: EndReason) -> None:
    logger.info("run %s of %s ended: %s", run.run_id, run.thread_id, reason)
