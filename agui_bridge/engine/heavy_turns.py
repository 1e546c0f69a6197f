"""Heavy work in turns: one stretch of it at a time, and everything else between two of them.

A stretch is what one input does at a go: its JSON is read, or validated, or compared with what is
stored, on the loop; or the store loads or writes its thread. The limits bound how long one takes
(docs/security.md); what many inputs do together is bounded here. Otherwise whoever has thirty of
them ready would have them done one after the other, while leases run out and nobody else is
answered.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import math
from collections import OrderedDict, deque
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from typing import Final

__all__ = ["HeavyTurns"]

_SHORT: Final = 0.002
"""Seconds of a stretch that nobody notices: the next one follows at once."""

_LONGEST_REST: Final = 0.25
"""Seconds; up to these, heavy work has half of the time at most."""

_LONG: Final = 0.05
"""Seconds of a rest that needs all its rounds."""

_ROUNDS: Final = 8
"""Rounds of the loop in a long rest: a request takes four from its connection to its answer.

On a busy machine the time of a rest may be over before the loop has looked at anything.
"""


class _AtOnce:
    """The turn of what is not heavy."""

    async def __aenter__(self) -> None:
        pass

    async def __aexit__(self, *_: object) -> None:
        pass


_AT_ONCE: Final = _AtOnce()


class HeavyTurns:
    """Gives heavy work its turns: round robin over scopes, and a rest after each.

    The rest is as long as the stretch was, within bounds.
    """

    def __init__(self) -> None:
        self._waiting: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()
        self._taken = False
        self._rests_until = 0.0
        self._rounds = 0
        self._timer: asyncio.Handle | None = None

    def turn(self, scope: str, heavy: bool) -> AbstractAsyncContextManager[None]:
        """Wait for a turn, and have it for the length of a block.

        What is not heavy has it at once, and without a hop; so has what is, if nothing heavy was
        done just before.

        Args:
            scope: whose work it is.
            heavy: whether it may take noticeable time.
        """
        return self._turn(scope) if heavy else _AT_ONCE

    @contextlib.asynccontextmanager
    async def _turn(self, scope: str) -> AsyncIterator[None]:
        loop = asyncio.get_running_loop()
        if self._taken or self._waiting or loop.time() < self._rests_until:
            await self._wait(loop, scope)
        self._taken = True
        began, collecting = loop.time(), gc.isenabled()
        # What a stretch makes is no garbage before its end, and to look through it, as the
        # collector would several times, takes longer than the stretch.
        gc.disable()
        try:
            yield
        finally:
            if collecting:
                gc.enable()
            self._rest(loop, loop.time() - began)

    async def _wait(self, loop: asyncio.AbstractEventLoop, scope: str) -> None:
        mine: asyncio.Future[None] = loop.create_future()
        self._waiting.setdefault(scope, deque()).append(mine)
        if self._timer is None and not self._taken:
            self._begin_rest(loop)
        try:
            await mine
        except asyncio.CancelledError:
            # One that waited is passed over; one that was given its turn hands it on.
            if not mine.cancelled():
                self._rest(loop, 0.0)
            raise

    def _rest(self, loop: asyncio.AbstractEventLoop, took: float) -> None:
        """Let everything else have its time, after a turn."""
        self._taken = False
        rest = min(took, _LONGEST_REST) if took > _SHORT else 0.0
        self._rests_until = loop.time() + rest
        self._rounds = math.ceil(_ROUNDS * min(1.0, rest / _LONG))
        if self._waiting:
            self._begin_rest(loop)

    def _begin_rest(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = loop.call_at(self._rests_until, self._look_round, loop, self._rounds)

    def _look_round(self, loop: asyncio.AbstractEventLoop, rounds: int) -> None:
        """Let the loop go round some times, then give the next turn."""
        if rounds > 0:
            self._timer = loop.call_soon(self._look_round, loop, rounds - 1)
            return
        self._timer = None
        while self._waiting and not self._taken:
            # The scope that has waited longest for one; with more to do it waits again.
            scope, queue = self._waiting.popitem(last=False)
            mine = queue.popleft()
            if queue:
                self._waiting[scope] = queue
            if not mine.cancelled():
                mine.set_result(None)
                self._taken = True
