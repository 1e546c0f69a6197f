"""One stream of a Mastra server, which a run may leave before its end.

It is read by a task of its own, so that a run that ends or is cancelled does not break it off: a
network's client that goes away ends the whole Mastra process.

Source: observed of `@mastra/core` 1.71.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Final

from agui_bridge.adapters import StopSignal
from agui_bridge_mastra.http_client import Chunk

Stream = Callable[[Callable[[], None]], AsyncGenerator[Chunk, None]]

_WAITING: Final = 64
"""Chunks that wait for the run at most; a slow client holds Mastra back."""


class Exchange:
    """A request's answer, chunk by chunk.

    Args:
        stream: sends the request and gives the answer; it calls what it is given once the server
            has taken the request.
        stop: ends the waiting for a chunk.

    Attributes:
        heard: whether the server has taken the request.
        over: whether the server has ended the stream, or it broke.
    """

    def __init__(self, stream: Stream, stop: StopSignal) -> None:
        self.heard: bool = False
        self.over: bool = False
        self._stop = stop
        self._arrived: deque[Chunk] = deque()
        self._news, self._room = asyncio.Event(), asyncio.Event()
        self._deserted = False
        self._failure: Exception | None = None
        self._reader = asyncio.create_task(self._read(stream(self._hear)))
        self._waker = asyncio.create_task(self._wake())

    async def take(
        self, may_leave: Callable[[], bool], patience: float | None = None
    ) -> Chunk | None:
        """Take the next chunk; None at the end of the stream, or once a stop is asked for.

        Args:
            may_leave: whether a stop ends the waiting now. What has arrived by then is given all
                the same: it tells what the server has begun.
            patience: seconds to wait for a chunk, None for as long as the server may be silent.

        Raises:
            TimeoutError: none came in these seconds.
            NotDelivered: the server was not reached.
            UpstreamError: it refused, or the stream broke.
        """
        while not self._arrived:
            if self._failure is not None:
                raise self._failure
            if self.over or (self._stop.requested and may_leave()):
                return None
            self._news.clear()
            async with asyncio.timeout(patience):
                await self._news.wait()
        self._room.set()
        return self._arrived.popleft()

    async def close(self) -> None:
        """Close the connection."""
        self._reader.cancel()
        self._waker.cancel()
        await asyncio.gather(self._reader, self._waker, return_exceptions=True)

    async def read_on(self) -> None:
        """Read what is left and drop it, for as long as the server goes on."""
        self._deserted = True
        self._arrived.clear()
        self._room.set()
        try:
            await asyncio.wait({self._reader})
        finally:
            await self.close()

    async def _read(self, chunks: AsyncGenerator[Chunk, None]) -> None:
        try:
            async with aclosing(chunks):
                async for chunk in chunks:
                    await self._put(chunk)
        except Exception as error:
            self._failure = error
        finally:
            self.over = True
            self._news.set()

    async def _put(self, chunk: Chunk) -> None:
        while len(self._arrived) >= _WAITING and not self._deserted:
            self._room.clear()
            await self._room.wait()
        if not self._deserted:
            self._arrived.append(chunk)
            self._news.set()

    def _hear(self) -> None:
        self.heard = True
        self._news.set()

    async def _wake(self) -> None:
        await self._stop
        self._news.set()
