"""The pipe between a run and the connection that reads it.

A run writes encoded chunks; the reader takes everything that is ready in one piece, because one
`send` per drain instead of one per event is what makes a stream fast. The pipe is bounded: a
slow reader holds the run back and never fills the memory. A pipe without a reader swallows.
"""

from __future__ import annotations

import asyncio

__all__ = ["Pipe"]


class Pipe:
    """A bounded byte pipe with one writer and one reader.

    Args:
        max_chunks: chunks that may wait.
        max_bytes: bytes that may wait; a single chunk may exceed it.

    Attributes:
        gone: set once nobody reads any more.
    """

    __slots__ = (
        "_chunks",
        "_closed",
        "_failure",
        "_max_bytes",
        "_max_chunks",
        "_readable",
        "_released",
        "_size",
        "_writable",
        "gone",
    )

    def __init__(self, max_chunks: int = 1024, max_bytes: int = 256 * 1024) -> None:
        self._chunks: list[bytes] = []
        self._size = 0
        self._max_chunks = max_chunks
        self._max_bytes = max_bytes
        self._readable: asyncio.Future[None] | None = None
        self._writable: asyncio.Future[None] | None = None
        self._closed = False
        self._released = False
        self._failure: BaseException | None = None
        self.gone = asyncio.Event()

    # --- the writer's side ---

    @property
    def full(self) -> bool:
        """Whether the writer should wait for `drained` before it writes on."""
        return self._size >= self._max_bytes or len(self._chunks) >= self._max_chunks

    @property
    def waiting(self) -> int:
        """Chunks that wait to be read."""
        return len(self._chunks)

    @property
    def detached(self) -> bool:
        """Whether nobody reads any more."""
        return self.gone.is_set()

    def write(self, chunk: bytes) -> None:
        """Add a chunk without waiting; without a reader it is dropped."""
        if self._closed or self.gone.is_set():
            return
        self._chunks.append(chunk)
        self._size += len(chunk)
        if self._readable is not None:
            _wake(self._readable)
            self._readable = None

    async def drained(self) -> None:
        """Wait until there is room, nobody reads any more, or the writer is released."""
        while self.full and not self.gone.is_set() and not self._released:
            if self._writable is None:
                self._writable = asyncio.get_running_loop().create_future()
            await self._writable

    def release(self) -> None:
        """Hold the writer back no longer: it is about to end, and must not wait for a reader."""
        self._released = True
        self._wake_writer()

    def close(self) -> None:
        """End the stream; what waits can still be read."""
        self._closed = True
        if self._readable is not None:
            _wake(self._readable)
            self._readable = None

    def fail(self, error: BaseException) -> None:
        """End a stream to which nothing was written: the reader's `read` raises `error`."""
        self._failure = error
        self.close()

    # --- the reader's side ---

    async def read(self) -> bytes:
        """Wait for something and take all that is ready, as one piece; b"" is the end.

        Raises:
            BaseException: what `fail` was given.
        """
        while not self._chunks:
            if self._failure is not None:
                raise self._failure
            if self._closed:
                return b""
            self._readable = asyncio.get_running_loop().create_future()
            await self._readable
        ready = b"".join(self._chunks) if len(self._chunks) > 1 else self._chunks[0]
        self._chunks.clear()
        self._size = 0
        self._wake_writer()
        return ready

    def detach(self) -> None:
        """Stop reading: the connection is gone. The run is told and goes on or stops."""
        self.gone.set()
        self._chunks.clear()
        self._size = 0
        self._wake_writer()

    def _wake_writer(self) -> None:
        if self._writable is not None:
            _wake(self._writable)
            self._writable = None


def _wake(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
