"""How much of one scope is in hand at once: what comes beyond that waits."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Final

__all__ = ["ScopeQueue"]

_NOTHING: Final = contextlib.nullcontext()


@dataclass(slots=True)
class _InHand:
    """What is in hand of one scope.

    Attributes:
        held: how much that is.
        waiting: the sizes of those that wait, first come first served.
    """

    held: int = 0
    waiting: deque[tuple[int, asyncio.Future[None]]] = field(default_factory=deque)


class ScopeQueue:
    """Counts what is in hand, by scope.

    Args:
        limit: how much may be of one scope; what is larger is taken when nothing else is in hand.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._scopes: dict[str, _InHand] = {}

    def hold(self, scope: str, size: int) -> AbstractAsyncContextManager[None]:
        """Hold something for the length of a block, once there is room for it.

        Args:
            scope: whose.
            size: how much it is; nothing never waits.
        """
        return self._hold(scope, size) if size else _NOTHING

    @contextlib.asynccontextmanager
    async def _hold(self, scope: str, size: int) -> AsyncIterator[None]:
        ours = self._scopes.setdefault(scope, _InHand())
        await self._take(scope, ours, size)
        try:
            yield
        finally:
            ours.held -= size
            self._let_in(scope, ours)

    async def _take(self, scope: str, ours: _InHand, size: int) -> None:
        mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        ours.waiting.append((size, mine))
        self._let_in(scope, ours)
        if mine.done():
            return
        try:
            await mine
        except asyncio.CancelledError:
            if mine.cancelled():
                ours.waiting.remove((size, mine))
            else:
                ours.held -= size
            self._let_in(scope, ours)
            raise

    def _let_in(self, scope: str, ours: _InHand) -> None:
        while ours.waiting:
            size, first = ours.waiting[0]
            if first.cancelled():
                # It removes itself, and lets in who is behind it.
                break
            if ours.held and ours.held + size > self._limit:
                break
            ours.waiting.popleft()
            ours.held += size
            first.set_result(None)
        if not ours.held and not ours.waiting:
            # Scopes come and go: a name that is not in use takes no memory.
            self._scopes.pop(scope, None)
