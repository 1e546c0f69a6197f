"""Time inside the engine: a monotonic clock for waiting, and an estimate of the store's time.

The store's clock decides on leases and expiry. Between two looks at the store the engine adds
what its own monotonic clock has counted since.
"""

from __future__ import annotations

import asyncio
import time
from typing import Protocol

__all__ = ["Clock", "StoreTime", "SystemClock", "wait_until"]


class Clock(Protocol):
    """What the engine waits by; tests put a fake one in."""

    def monotonic(self) -> float:
        """Seconds since some fixed moment, never going back."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return after that many seconds."""
        ...


class SystemClock:
    """The machine's monotonic clock. It goes on while the process is stopped (SIGSTOP)."""

    def monotonic(self) -> float:
        """Seconds since some fixed moment, never going back."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Return after that many seconds."""
        await asyncio.sleep(seconds)


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


async def wait_until(clock: Clock, event: asyncio.Event, seconds: float) -> bool:
    """Wait for an event, `seconds` at most by `clock`; says whether it is set."""
    if event.is_set():
        return True
    waiting = asyncio.ensure_future(event.wait())
    timer = asyncio.ensure_future(clock.sleep(seconds))
    try:
        await asyncio.wait({waiting, timer}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        waiting.cancel()
        timer.cancel()
    return event.is_set()
