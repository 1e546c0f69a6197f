"""A bridge before Mastra whose process dies once it has told of a background task.

python -m tests.e2e.mastra_dying MASTRA_URL STORE THREAD TEXT
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator

from ag_ui.core import ActivitySnapshotEvent

from agui_bridge import Bridge, Settings
from agui_bridge.adapters import Run, RunItem
from agui_bridge_mastra import MastraAdapter
from tests.e2e.mastra import Talk

__all__ = ["LEASE"]

LEASE = 8.0
"""Seconds; on a busy machine a shorter one is over before the task is told of."""


class Dying(MastraAdapter):
    """An adapter that ends its process right after a task was told, while its run goes on."""

    async def run(self, run: Run) -> AsyncIterator[RunItem]:
        """Carry out one run, as far as it comes."""
        async for item in super().run(run):
            yield item
            if isinstance(item, ActivitySnapshotEvent):
                os.kill(os.getpid(), signal.SIGKILL)


async def _talk(url: str, store: str, thread: str, text: str) -> None:
    bridge = Bridge(store, settings=Settings(lease_seconds=LEASE))
    bridge.add("work", Dying(url, "background-supervisor"))
    async with bridge.lifespan():
        await Talk(bridge, "work", thread).say(text)


def main() -> None:
    """Talk until the end."""
    url, store, thread, text = sys.argv[1:]
    asyncio.run(_talk(url, store, thread, text))


if __name__ == "__main__":
    main()
