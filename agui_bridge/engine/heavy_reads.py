"""Threads that are loaded whole only to be shown: few of a scope at once, long ones in turns.

How long a thread is, is known once it is here. So the number of a scope's is bounded before, and
what is made of one takes turns with other heavy work.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Final
from weakref import WeakValueDictionary

from agui_bridge.engine.heavy_turns import HeavyTurns
from agui_bridge.engine.long_threads import LongThreads
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.records import ThreadKey
from agui_bridge.stores.base import Store

__all__ = ["HeavyReads"]

_AT_ONCE: Final = 2
"""At most two per scope: one in work, one in the store."""


class HeavyReads:
    """Loads threads for readers.

    Args:
        store: where they are.
        turns: gives what is made of a long one its turns.
        store_turns: gives loads their turns, of threads that are known to be long.
        long: knows those.
    """

    def __init__(
        self, store: Store, turns: HeavyTurns, store_turns: HeavyTurns, long: LongThreads
    ) -> None:
        self._store = store
        self._turns = turns
        self._store_turns = store_turns
        self._long = long
        # A scope's stands here for as long as somebody reads, or waits to.
        self._scopes: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    @contextlib.asynccontextmanager
    async def whole(self, key: ThreadKey) -> AsyncIterator[Loaded]:
        """Load a thread with its messages, and have it in hand for the length of a block.

        The block is one stretch of work, without waiting for anything in it.

        Raises:
            StoreUnavailable: the store did not answer.
        """
        free = self._scopes.setdefault(key.scope, asyncio.Semaphore(_AT_ONCE))
        async with free:
            while True:
                async with self._long.hold(key):
                    async with self._store_turns.turn(key.scope, key in self._long):
                        loaded = await self._store.load(key, messages=True)
                    if self._long.note(key, loaded):
                        del loaded
                        continue
                    async with self._turns.turn(key.scope, key in self._long):
                        yield loaded
                        return
