"""The wake-ups behind `Store.watch`: at once within this process, by polling across processes."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Hashable

from agui_bridge.errors import StoreUnavailable

LONGEST_SILENCE = 1.0
"""An item comes at least this often, in seconds."""

ANY_STOP = "stop"
"""What is watched for stop requests, whichever thread they are for."""

QUIET = object()
"""What a look gives while it need not be repeated before the next item: a change would be told."""

FIRST_PAUSE = 0.05
LONGEST_PAUSE = 0.5

Look = Callable[[], Awaitable[object]]
"""Reads something that differs whenever the thread has changed."""


class Wakeups:
    """Who waits for which thread in this process.

    Waiting is by real time, whatever clock the store has: it is a hint and decides nothing.
    """

    def __init__(self) -> None:
        """Start with nobody waiting."""
        self._waiting: dict[Hashable, set[asyncio.Event]] = {}

    def notify(self, key: Hashable) -> None:
        """Wake those who watch a thread; to be called on the event loop."""
        for event in self._waiting.get(key, ()):
            event.set()

    def is_watched(self, key: Hashable) -> bool:
        """Whether anybody watches a thread."""
        return key in self._waiting

    async def watch(
        self,
        key: Hashable,
        look: Look | None = None,
        pauses: tuple[float, float] = (FIRST_PAUSE, LONGEST_PAUSE),
    ) -> AsyncGenerator[None, None]:
        """Yield at once, on every `notify`, when `look` differs, and once a second.

        Args:
            key: the thread, or what stands for it.
            look: polled ever more slowly; None where every change happens in this process. A
                look that fails counts as a change: who watches reads again and sees for itself.
            pauses: seconds between two looks, at first and at most.
        """
        event = asyncio.Event()
        self._waiting.setdefault(key, set()).add(event)
        try:
            seen = await _seen(look)
            while True:
                event.clear()
                yield
                seen = await _changed(event, look, seen, pauses)
        finally:
            self._forget(key, event)

    def _forget(self, key: Hashable, event: asyncio.Event) -> None:
        events = self._waiting[key]
        events.discard(event)
        if not events:
            del self._waiting[key]


async def _changed(
    event: asyncio.Event, look: Look | None, seen: object, pauses: tuple[float, float]
) -> object:
    """Return what is seen once it may differ, or once it has been silent long enough."""
    until = time.monotonic() + LONGEST_SILENCE
    pause, longest = pauses
    while (left := until - time.monotonic()) > 0:
        # Python 3.11's `wait_for` loses a cancellation that comes together with a hint.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(min(pause, left) if look else left):
                await event.wait()
        latest = await _seen(look)
        if event.is_set() or latest != seen:
            return latest
        pause = LONGEST_SILENCE if latest is QUIET else min(pause * 2, longest)
    return seen


async def _seen(look: Look | None) -> object:
    try:
        return await look() if look else None
    except StoreUnavailable:
        return object()
