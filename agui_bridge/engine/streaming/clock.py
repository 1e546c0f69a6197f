"""Time inside the engine: a monotonic clock for waiting, and an estimate of the store's time.

The store's clock decides on leases and expiry. Between two looks at the store the engine adds
what its own monotonic clock has counted since.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Protocol

__all__ = ["Clock", "StoreTime", "SystemClock", "Timer"]


class Timer(Protocol):
    """Something that happens later."""

    def cancel(self) -> object:
        """Have it not happen."""
        ...


class Clock(Protocol):
    """What the engine waits by; tests put a fake one in."""

    def monotonic(self) -> float:
        """Seconds since some fixed moment, never going back."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return after that many seconds."""
        ...

    def call_later(self, seconds: float, callback: Callable[[], None]) -> Timer:
        """Call back after that many seconds: who waits for long needs no task for it."""
        ...


class SystemClock:
    """The machine's monotonic clock. It goes on while the process is stopped (SIGSTOP)."""

    def monotonic(self) -> float:
        """Seconds since some fixed moment, never going back."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Return after that many seconds."""
        await asyncio.sleep(seconds)

    def call_later(self, seconds: float, callback: Callable[[], None]) -> Timer:
        """Call back after that many seconds."""
        return asyncio.get_running_loop().call_later(seconds, callback)


class StoreTime:
    """An estimate of the store's now, from its last answer."""

    def __init__(self, clock: Clock, now: float) -> None:
        self._clock = clock
        self._now = now
        self._seen = clock.monotonic()

    def seen(self, now: float) -> None:
        """Take note of the store's time as it just answered."""
        self._now = now
        self._seen = self._clock.monotonic()

    def now(self) -> float:
        """Seconds since the epoch by the store's clock, as well as it is known."""
        return self._now + self._clock.monotonic() - self._seen
