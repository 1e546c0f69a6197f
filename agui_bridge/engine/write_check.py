"""Whether the store takes writes: remembered from the last one, and tried now and then.

A database that only reads or whose disk is full answers every read. What needs a write is refused
at once while that is known, and readiness tells of it.
"""

from __future__ import annotations

import asyncio
import math
from typing import Final

from agui_bridge.engine.streaming.clock import Clock
from agui_bridge.errors import WritesRefused
from agui_bridge.protocol.contract.transitions import Change
from agui_bridge.protocol.threads.records import ThreadKey
from agui_bridge.stores.base import Committed, Expected, Store

__all__ = ["LOOK_SECONDS", "WriteCheck"]

LOOK_SECONDS: Final = 1.0
"""Seconds between two looks at least: a look writes, and anybody may ask for readiness."""


class WriteCheck:
    """What one process knows of its store's willingness to write."""

    def __init__(self, store: Store, clock: Clock) -> None:
        """Suppose that it takes writes.

        Args:
            store: is looked at with `Store.ping`.
            clock: what to measure by.
        """
        self._store = store
        self._clock = clock
        self._refusal: str | None = None
        self._looked_at = -math.inf
        self._looking = asyncio.Lock()

    async def look(self) -> None:
        """Learn whether the store answers and takes writes; of a recent look it is remembered.

        Raises:
            WritesRefused: it takes none.
            StoreUnavailable: it does not answer.
        """
        async with self._looking:
            if self._clock.monotonic() >= self._looked_at + LOOK_SECONDS:
                try:
                    await self._store.ping()
                except WritesRefused as error:
                    self._note(str(error))
                else:
                    self._note(None)
        if self._refusal is not None:
            raise WritesRefused(self._refusal)

    async def let_write(self) -> None:
        """Pass at once, unless it is known that writes fail.

        Raises:
            WritesRefused: they do.
            StoreUnavailable: the store does not even answer any more.
        """
        if self._refusal is not None:
            await self.look()

    async def commit(
        self, key: ThreadKey, change: Change, expected: Expected, write_id: str
    ) -> Committed:
        """Commit (see `Store.commit`), and remember what it tells.

        Args:
            key: the thread.
            change: what to write.
            expected: the guard.
            write_id: random, of this change alone.

        Raises:
            Conflict: the guard does not hold.
            StoreUnavailable: whether the change arrived is unknown.
        """
        try:
            committed = await self._store.commit(key, change, expected, write_id)
        except WritesRefused as error:
            self._note(str(error))
            raise
        self._refusal = None
        return committed

    def _note(self, refusal: str | None) -> None:
        self._refusal = refusal
        self._looked_at = self._clock.monotonic()
