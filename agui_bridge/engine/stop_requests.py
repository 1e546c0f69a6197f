"""Stop requests that other processes took: looked for before every act, on hints, and by polling.

The store says who is to stop. Notifications only say when to look, so that a lost one costs time:
until the next act of the run, or the next poll.

Source: docs/contract.md, "Stop".
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
from typing import Final

from agui_bridge.engine.run.execution import Execution
from agui_bridge.engine.streaming.clock import Clock
from agui_bridge.errors import StoreError
from agui_bridge.stores.base import Store

__all__ = ["StopRequests"]

logger: Final = logging.getLogger("agui_bridge")


class StopRequests:
    """Finds the stop requests for the runs of one process.

    Args:
        store: where they are.
        clock: what the polling waits by.
        poll: seconds between two looks that nothing gave rise to.
    """

    def __init__(self, store: Store, clock: Clock, poll: float) -> None:
        self._store = store
        self._clock = clock
        self._poll = poll
        # By lease token, as the store is asked.
        self._running: dict[str, Execution] = {}
        # Their tokens, until others run: to collect them for each look takes longer than the look
        # itself where thousands of runs say nothing.
        self._tokens: tuple[str, ...] | None = None
        self._wanted: dict[str, Execution] = {}
        self._all_wanted = False
        self._current: asyncio.Task[None] | None = None
        self._following: asyncio.Task[None] | None = None
        self._busy = asyncio.Event()

    def begun(self, run: Execution) -> None:
        """A run is under way: it heeds the requests for it from now on."""
        run.run.check_stop = functools.partial(self._look, run)
        self._running[run.owner.token] = run
        self._tokens = None
        self._busy.set()

    def over(self, run: Execution) -> None:
        """A run has ended."""
        del self._running[run.owner.token]
        self._tokens = None

    async def _look(self, run: Execution | None = None) -> None:
        """Have one run, or all, heed what the store holds for them now.

        Looks that are asked for at once are one read of the store, and one that is under way does
        not count: it may have missed what was stored since. A store that does not answer has
        nothing to say; then the lease ends the run.
        """
        if run is not None:
            self._wanted[run.owner.token] = run
        elif self._running:
            self._all_wanted = True
        else:
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
        tokens = tuple(wanted)
        if self._all_wanted:
            # Whoever looks for a run of its own runs, too.
            self._all_wanted, wanted, tokens = False, self._running, self._all_tokens()
        try:
            for stop in await self._store.stops(tokens):
                if (run := wanted.get(stop.token)) is not None:
                    run.notice_stop(stop)
        except StoreError as error:
            logger.debug("stop requests can't be looked for: %s", error)

    def _all_tokens(self) -> tuple[str, ...]:
        if self._tokens is None:
            self._tokens = tuple(self._running)
        return self._tokens

    async def poll(self) -> None:
        """Look again and again."""
        while True:
            await self._clock.sleep(self._poll)
            await self._look()

    async def listen(self) -> None:
        """Look whenever the store hints at a stop request, while anything runs."""
        async with contextlib.aclosing(self._store.watch_stops()) as hints:
            async for _ in hints:
                if not self._running:
                    self._busy.clear()
                    await self._busy.wait()
                await self._look()
