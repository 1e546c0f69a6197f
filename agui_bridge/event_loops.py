"""What belongs to one event loop, held by what outlives loops.

Connections, locks and tasks can't move to another loop. A bridge can be used in several, one after
the other: in a script that calls `asyncio.run` twice, in a notebook, in Celery's tasks, in tests.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Final, Generic, TypeVar

logger: Final = logging.getLogger("agui_bridge")

T = TypeVar("T")


class PerLoop(Generic[T]):
    """One thing of a kind for each event loop, made when it is first asked for there.

    It is closed in its own loop: at the end of `asyncio.run` at the latest. What a loop leaves
    behind that was closed in another way is let go of, and its sockets with it.
    """

    def __init__(
        self, make: Callable[[], T], close: Callable[[T], Awaitable[object]] | None = None
    ) -> None:
        """Make nothing yet.

        Args:
            make: makes one, in the loop that it is for.
            close: closes one; None where there is nothing to close.
        """
        self._make = make
        self._close = close
        self._made: dict[asyncio.AbstractEventLoop, T] = {}
        self._ends: dict[asyncio.AbstractEventLoop, AsyncGenerator[None, None]] = {}

    def get(self) -> T:
        """The one of the running loop."""
        loop = asyncio.get_running_loop()
        if loop not in self._made:
            for closed in [other for other in self._made if other.is_closed()]:
                del self._made[closed]
                self._ends.pop(closed, None)
            self._made[loop] = self._make()
            if self._close is not None:
                self._ends[loop] = self._until_the_end(loop)
                _begin(self._ends[loop])
        return self._made[loop]

    async def aclose(self) -> None:
        """Close the one of the running loop, if there is one; the next to ask has one made anew."""
        loop = asyncio.get_running_loop()
        end = self._ends.pop(loop, None)
        try:
            await self._close_of(loop)
        finally:
            if end is not None:
                await end.aclose()

    async def _close_of(self, loop: asyncio.AbstractEventLoop) -> None:
        if loop in self._made:
            made = self._made.pop(loop)
            if self._close is not None:
                await self._close(made)

    async def _until_the_end(self, loop: asyncio.AbstractEventLoop) -> AsyncGenerator[None, None]:
        # A loop that ends closes the generators that were begun in it.
        try:
            yield
        finally:
            try:
                await self._close_of(loop)
            except Exception:
                logger.debug("something could not be closed at the end of its loop", exc_info=True)
            self._ends.pop(loop, None)


def _begin(generator: AsyncGenerator[None, None]) -> None:
    """Run a generator up to its first `yield`, before which it awaits nothing."""
    try:
        generator.__anext__().__await__().send(None)
    except StopIteration:
        return
    raise AssertionError("it awaits something")
