"""Stop requests that other processes took: looked for before every act, on hints, and by polling.

The store says who is to stop. Notifications only say when to look, so that a lost one costs time:
until the next act of the run, or the next poll.

Source: docs/contract.md, "Stop".
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Mapping
from typing import Final

from agui_bridge.engine.run.execution import Execution
from agui_bridge.engine.streaming.clock import Clock
from agui_bridge.errors import StoreError
from agui_bridge.protocol.threads.records import ThreadKey
from agui_bridge.stores.base import Store

__all__ = ["StopRequests"]

logger: Final = logging.getLogger("agui_bridge")


class StopRequests:
    """Finds the stop requests for the runs of one process.

    Args:
        store: where they are.
        clock: what the polling waits by.
        running: the runs of this process.
        poll: seconds between two looks that nothing gave rise to.
    """

    def __init__(
        self, store: Store, clock: Clock, running: Mapping[ThreadKey, Execution], poll: float
    ) -> None:
        self._store = store
        self._clock = clock
        self._running = running
        self._poll = poll
        self._wanted: dict[str, Execution] = {}
        self._current: asyncio.Task[None] | None = None
        self._following: asyncio.Task[None] | None = None
        self._busy = asyncio.Event()

    def begun(self) -> None:
        """A run is under way: hints are heeded from now on."""
        self._busy.set()

    async def look(self, *runs: Execution) -> None:
        """Have these runs heed what the store holds for them now.

        Looks that are asked for at once are one read of the store, and one that is under way does
        not count: it may have missed what was stored since. A store that does not answer has
        nothing to say; then the lease ends the run.
        """
        self._wanted |= {run.owner.token: run for run in runs if not run.run.stop.force}
        if not self._wanted:
            return
        if self._following is None:
            self._following = asyncio.create_task(self._read(after=self._current))
        # Whoever asked first may be cancelled, and the others still wait.
        await asyncio.shield(self._following)

    async def _read(self, after: asyncio.Task[None] | None) -> None:
        if after is not None:
            await asyncio.wait({after})
        self._current, self._following = self._following, None
        wanted, self._wanted = self._wanted, {}
        try:
            for stop in await self._store.stops(tuple(wanted)):
                wanted[stop.token].notice_stop(stop)
        except StoreError as error:
            logger.debug("stop requests can't be looked for: %s", error)

    async def poll(self) -> None:
        """Look again and again."""
        while True:
            await self._clock.sleep(self._poll)
            await self.look(*self._running.values())

    async def listen(self) -> None:
        """Look whenever the store hints at a stop request, while anything runs."""
        async with contextlib.aclosing(self._store.watch_stops()) as hints:
            async for _ in hints:
                if not self._running:
                    self._busy.clear()
                    await self._busy.wait()
                await self.look(*self._running.values())
