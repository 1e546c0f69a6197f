"""Open while a run goes on; once closed, nothing new happens in it and nothing hangs."""

from __future__ import annotations

import asyncio
from typing import NoReturn

__all__ = ["RunLatch"]


class RunLatch:
    """Holds what can only wait for the run's end.

    Attributes:
        closed: whether the run is ending.
    """

    def __init__(self) -> None:
        """Begin open."""
        self.closed: bool = False
        self._parked: set[asyncio.Future[None]] = set()

    def check(self) -> None:
        """Let the caller pass while the run goes on.

        Raises:
            asyncio.CancelledError: the run is ending. Its tasks are being cancelled anyway,
                so this is what a `finally` block that calls `run.*` gets.
        """
        if self.closed:
            raise asyncio.CancelledError("the run is ending")

    async def park(self) -> NoReturn:
        """Wait until the run ends or the caller is cancelled: never returns."""
        self.check()
        future = asyncio.get_running_loop().create_future()
        self._parked.add(future)
        try:
            await future
        finally:
            self._parked.discard(future)
        raise asyncio.CancelledError("the run is ending")

    def close(self) -> None:
        """Close for good and cancel what waits."""
        self.closed = True
        for future in self._parked:
            future.cancel()
