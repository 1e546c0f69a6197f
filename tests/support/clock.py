"""A clock that stands still until a test moves it."""

import asyncio
from collections.abc import Callable

__all__ = ["FakeClock"]


class FakeClock:
    """Store time, monotonic time and sleep, all moved by `advance` alone.

    `time` is what a store takes as its clock, the whole object what the engine waits by.
    """

    def __init__(self, start: float = 1_700_000_000.0) -> None:
        self._start = start
        self._elapsed = 0.0
        self._sleepers: list[tuple[float, asyncio.Future[None]]] = []

    def time(self) -> float:
        """Seconds since the epoch."""
        return self._start + self._elapsed

    def monotonic(self) -> float:
        """Seconds since the clock was made."""
        return self._elapsed

    def advance(self, seconds: float) -> None:
        """Let time pass; who slept until then wakes at the next turn of the loop."""
        self._elapsed += seconds
        self._sleepers = [sleeper for sleeper in self._sleepers if not sleeper[1].done()]
        due = [sleeper for sleeper in self._sleepers if sleeper[0] <= self._elapsed]
        self._sleepers = [sleeper for sleeper in self._sleepers if sleeper[0] > self._elapsed]
        for _, woken in sorted(due, key=lambda sleeper: sleeper[0]):
            if not woken.done():
                woken.set_result(None)

    async def sleep(self, seconds: float) -> None:
        """Return once that many seconds have been advanced past."""
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        await self._sleeper(seconds)

    def call_later(self, seconds: float, callback: Callable[[], None]) -> asyncio.Future[None]:
        """Call back once that many seconds have been advanced past; can be cancelled."""
        woken = self._sleeper(seconds)
        woken.add_done_callback(lambda _: None if woken.cancelled() else callback())
        if seconds <= 0:
            woken.set_result(None)
        return woken

    def _sleeper(self, seconds: float) -> asyncio.Future[None]:
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._sleepers.append((self._elapsed + seconds, woken))
        return woken

    @property
    def sleepers(self) -> int:
        """How many sleep: a test can wait for this before it advances."""
        return sum(not woken.done() for _, woken in self._sleepers)
