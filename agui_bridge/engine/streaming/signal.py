"""A flag that can be waited for, for as long as a clock says at most."""

from __future__ import annotations

import asyncio

from agui_bridge.engine.streaming.clock import Clock

__all__ = ["Signal"]


class Signal:
    """What `asyncio.Event` is, with a time limit, and small: it takes 1 KB less.

    A run has several of them, on most of which nobody ever waits.
    """

    __slots__ = ("_set", "_waiting")

    def __init__(self) -> None:
        self._set = False
        self._waiting: tuple[asyncio.Future[None], ...] = ()

    def is_set(self) -> bool:
        """Whether it is set."""
        return self._set

    def set(self) -> None:
        """Set it; who waits goes on."""
        self._set = True
        for future in self._waiting:
            _wake(future)

    def clear(self) -> None:
        """Take it back; who was woken goes on all the same."""
        self._set = False

    async def wait(self) -> None:
        """Return once it is set."""
        if not self._set:
            future = self._future()
            try:
                await future
            finally:
                self._forget(future)

    async def wait_until(self, clock: Clock, seconds: float) -> bool:
        """Wait `seconds` at most by `clock`; says whether it is set."""
        if not self._set:
            future = self._future()
            timer = clock.call_later(seconds, lambda: _wake(future))
            try:
                await future
            finally:
                timer.cancel()
                self._forget(future)
        return self._set

    def _future(self) -> asyncio.Future[None]:
        future = asyncio.get_running_loop().create_future()
        self._waiting = (*self._waiting, future)
        return future

    def _forget(self, future: asyncio.Future[None]) -> None:
        self._waiting = tuple(other for other in self._waiting if other is not future)


def _wake(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
