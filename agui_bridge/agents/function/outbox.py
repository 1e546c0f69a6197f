"""What an agent has emitted and nobody has read yet: a bounded list, one wake per drain."""

from __future__ import annotations

import asyncio

from ag_ui.core import BaseEvent

__all__ = ["LIMIT", "Outbox"]

LIMIT = 128
"""Items that wait at most; as many again can be in the reader's hands."""


class Outbox:
    """Carries items from the agent's tasks to one reader.

    A queue would wake the reader for every item; here it is woken once and takes all.

    Attributes:
        items: what waits, oldest first.
    """

    def __init__(self) -> None:
        """Begin empty."""
        self.items: list[BaseEvent | str] = []
        self._reader: asyncio.Future[None] | None = None
        self._writers: list[asyncio.Future[None]] = []
        # How many items were ever put, were taken, and were dealt with by the reader.
        self._put = self._taken = self._read = 0

    def put(self, item: BaseEvent | str) -> None:
        """Add an item. Never blocks: writers of many items await `room` in between."""
        self.items.append(item)
        self._put += 1
        if self._reader is not None:
            self.wake()

    @property
    def unused(self) -> bool:
        """Whether nothing was ever put."""
        return not self._put

    @property
    def full(self) -> bool:
        """Whether writers should await `room`."""
        return len(self.items) >= LIMIT

    async def room(self) -> None:
        """Return once the reader has taken what waits."""
        while self.full:
            await self._progress()

    async def read(self) -> None:
        """Return once the reader has dealt with all that was put until now, and wants more."""
        put = self._put
        while self._read < put:
            await self._progress()

    def take(self) -> list[BaseEvent | str]:
        """Take all that waits and let writers go on; what was taken before is dealt with."""
        taken, self.items = self.items, []
        self._read = self._taken
        self._taken += len(taken)
        self._go_on()
        return taken

    def wake(self) -> None:
        """Let the reader look again."""
        reader, self._reader = self._reader, None
        if reader is not None and not reader.done():
            reader.set_result(None)

    async def wait(self) -> None:
        """Return at the next `put` or `wake`; for the one reader."""
        self._read = self._taken
        self._go_on()
        self._reader = asyncio.get_running_loop().create_future()
        await self._reader

    async def _progress(self) -> None:
        writer = asyncio.get_running_loop().create_future()
        self._writers.append(writer)
        await writer

    def _go_on(self) -> None:
        for writer in self._writers:
            if not writer.done():
                writer.set_result(None)
        self._writers.clear()
