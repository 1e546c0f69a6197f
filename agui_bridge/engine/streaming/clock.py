"""Time inside the engine: a monotonic clock for waiting, and an estimate of the store's time.

The store's clock decides on leases and expiry. Between two looks at the store the engine adds
what its own monotonic clock has counted since.
"""

from __future__ import annotations

import asyncio
import contextvars
import math
import time
from collections.abc import Callable
from typing import Protocol


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


# --- one timer for many that wait for long, in place of one for each ---
#
# Most streams and runs say nothing most of the time. A timer for each wakes the loop for each, and
# to look at all of them every so often touches memory that nobody has touched for long: with
# thousands of them that costs more than what is done. So they are sorted by when they are to be
# looked at, and only those whose time has come are touched.


class Turned(Protocol):
    """What is looked at."""

    place: set[Turned]
    """Where the wheel has it."""

    def look(self, now: float) -> float:
        """Do what is due by now, on the monotonic clock; gives seconds until the next look."""
        ...


class Wheel:
    """Looks at each of its members when it asked for it, or up to `interval` seconds later.

    Args:
        clock: what to wait by.
        interval: seconds between two turns.
    """

    def __init__(self, clock: Clock, interval: float) -> None:
        self._clock = clock
        self._interval = interval
        self._count = 0
        # By the number of the turn, as the clock counts them: turns that the process missed,
        # because it stood still, are made up for.
        self._places: dict[int, set[Turned]] = {}
        self._timer: Timer | None = None

    def add(self, member: Turned, seconds: float) -> None:
        """Look at it that much later, and then as it says."""
        self._put(member, self._clock.monotonic() + seconds)
        self._count += 1
        if self._timer is None:
            # Not in the context of this member: the timer is that of all.
            contextvars.Context().run(self._wait, self._turn_at(self._clock.monotonic()))

    def discard(self, member: Turned) -> None:
        """Look at a member no more."""
        member.place.discard(member)
        self._count -= 1
        if not self._count and self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self._places.clear()

    def _put(self, member: Turned, at: float) -> None:
        member.place = self._places.setdefault(math.ceil(at / self._interval), set())
        member.place.add(member)

    def _turn_at(self, now: float) -> int:
        # A timer may go off a moment too early.
        return round(now / self._interval)

    def _wait(self, turn: int) -> None:
        left = (turn + 1) * self._interval - self._clock.monotonic()
        self._timer = self._clock.call_later(left, self._turn)

    def _turn(self) -> None:
        now = self._clock.monotonic()
        present = self._turn_at(now)
        # First: whatever fails below, the others are looked at next time.
        self._wait(present)
        for turn in [turn for turn in self._places if turn <= present]:
            due = self._places[turn]
            while due:
                member, seconds = due.pop(), self._interval
                try:
                    seconds = max(self._interval, member.look(now))
                finally:
                    # Also where its look fails: a lease must not go unwatched.
                    self._put(member, now + seconds)
            del self._places[turn]


class Wheels:
    """The wheels of a process, by their intervals.

    Args:
        clock: what they wait by.

    Attributes:
        clock: the same.
    """

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self._by_interval: dict[float, Wheel] = {}

    def of(self, interval: float) -> Wheel:
        """The one with this interval."""
        if interval not in self._by_interval:
            self._by_interval[interval] = Wheel(self.clock, interval)
        return self._by_interval[interval]
