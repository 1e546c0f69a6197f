"""The way from the task that a framework works in to the run that the engine reads.

A framework that is watched while it works, or that calls back, works in a task of its own, and the
adapter's `run` yields what that task writes here. The reader takes all that is ready at once and is
woken once for it: an `asyncio.Queue` costs as much for each token as all of the engine does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from typing import Any

from agui_bridge.adapters import RunItem

__all__ = ["ItemQueue", "join_text"]


class ItemQueue:
    """A bounded queue of one event loop, whose one reader takes everything that is ready.

    Args:
        ahead: items that may wait.

    Attributes:
        full: whether a writer should wait for `drained` before it writes on.
    """

    def __init__(self, ahead: int = 64) -> None:
        self.full: bool = False
        self._ahead = ahead
        self._items: list[Any] = []
        self._closed = False
        self._abandoned = False
        # Whether the reader has something that it has not come back from.
        self._reading = False
        self._readable: asyncio.Future[None] | None = None
        self._writable: list[asyncio.Future[None]] = []
        self._idle: list[asyncio.Future[None]] = []

    # --- the writers' side ---

    def write(self, item: Any) -> None:
        """Add an item without waiting; once nobody reads any more it is dropped."""
        if self._abandoned:
            return
        items = self._items
        items.append(item)
        if len(items) >= self._ahead:
            self.full = True
        if self._readable is not None:
            self._wake_reader()

    async def drained(self) -> None:
        """Wait until there is room, or nobody reads any more."""
        while self.full:
            await _future_in(self._writable)

    async def taken(self) -> None:
        """Wait until the reader has come back for more, and there is nothing more: `ToolGate`'s.

        It never returns once the reader is gone: callers waiting here must not start anything.
        """
        while self._abandoned or self._reading or self._items:
            await _future_in(self._idle)

    def close(self) -> None:
        """End it; what waits can still be taken."""
        self._closed = True
        self._wake_reader()

    # --- the reader's side ---

    async def take(self) -> list[Any]:
        """Wait for something and take all that is ready; nothing is the end."""
        self._reading = False
        if not self._items:
            _wake_all(self._idle)
        while not self._items:
            if self._closed:
                return []
            self._readable = asyncio.get_running_loop().create_future()
            await self._readable
        taken, self._items = self._items, []
        self._reading, self.full = True, False
        _wake_all(self._writable)
        return taken

    def abandon(self) -> None:
        """Stop reading: writers are held up no longer, and what they write is dropped."""
        self._abandoned = True
        self._items, self.full = [], False
        _wake_all(self._writable)

    def _wake_reader(self) -> None:
        if self._readable is not None:
            _wake(self._readable)
            self._readable = None


def join_text(items: Iterable[RunItem]) -> Iterator[RunItem]:
    """Make one of texts that follow each other, as of tokens that came at the same moment.

    Args:
        items: that were taken at once.
    """
    texts: list[str] = []
    for item in items:
        if type(item) is str:
            texts.append(item)
            continue
        if texts:
            yield "".join(texts)
            texts.clear()
        yield item
    if texts:
        yield "".join(texts)


async def _future_in(waiting: list[asyncio.Future[None]]) -> None:
    future = asyncio.get_running_loop().create_future()
    waiting.append(future)
    await future


def _wake_all(waiting: list[asyncio.Future[None]]) -> None:
    while waiting:
        _wake(waiting.pop())


def _wake(future: asyncio.Future[None]) -> None:
    # Whoever waited may have been cancelled.
    if not future.done():
        future.set_result(None)
