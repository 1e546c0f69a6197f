"""The pipe between a run and the connection that reads it.

A run writes encoded chunks; the reader takes everything that is ready in one piece, because one
`send` per drain instead of one per event is what makes a stream fast. The pipe is bounded: a
slow reader holds the run back and never fills the memory. A pipe without a reader swallows.

A run that suspends at every event would wake its reader for each, and pay a system call for each.
So a reader that waits is woken only once the loop has passed a few times without anything new, or
after a few milliseconds: what comes in a burst goes out in one piece, and what comes alone goes
at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from agui_bridge.engine.streaming.clock import Clock

# --- a flag that can be waited for, for as long as a clock says at most ---


class Signal:
    """What `asyncio.Event` is, with a time limit, and small: it takes 1 KB less.

    A run has several of them, on most of which nobody ever waits.
    """

    __slots__ = ("_set", "_waiting")

    def __init__(self) -> None:
        self._set = False
        self._waiting: tuple[asyncio.Future[None], ...] = ()

    def is_set(self) -> bool:
        """Whether it is set."""
        return self._set

    def set(self) -> None:
        """Set it; who waits goes on."""
        self._set = True
        for future in self._waiting:
            _wake(future)

    def clear(self) -> None:
        """Take it back; who was woken goes on all the same."""
        self._set = False

    async def wait(self) -> None:
        """Return once it is set."""
        if not self._set:
            future = self._future()
            try:
                await future
            finally:
                self._forget(future)

    async def wait_until(self, clock: Clock, seconds: float) -> bool:
        """Wait `seconds` at most by `clock`; says whether it is set."""
        if not self._set:
            future = self._future()
            timer = clock.call_later(seconds, lambda: _wake(future))
            try:
                await future
            finally:
                timer.cancel()
                self._forget(future)
        return self._set

    def _future(self) -> asyncio.Future[None]:
        future = asyncio.get_running_loop().create_future()
        self._waiting = (*self._waiting, future)
        return future

    def _forget(self, future: asyncio.Future[None]) -> None:
        self._waiting = tuple(other for other in self._waiting if other is not future)


def _wake(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


# --- the pipe ---

_LONGEST_BURST = 0.004
"""Seconds that the reader is kept waiting while some pass of the loop brings something new."""

_QUIET_PASSES = 3
"""Passes without anything new after which a burst is over.

A run that waits for a future gets to its next event only in the second pass: the first sets the
future, the second wakes the task. And what sets the future may come after us in the first.
"""


class Pipe:
    """A bounded byte pipe with one writer and one reader.

    Args:
        max_chunks: chunks that may wait.
        max_bytes: bytes that may wait; a single chunk may exceed it.

    Attributes:
        full: whether the writer should wait for `drained` before it writes on.
        detached: whether nobody reads any more.
        gone: set then, for who waits for it.
        on_detach: called then.
    """

    __slots__ = (
        "_chunks",
        "_closed",
        "_failure",
        "_gathering",
        "_max_bytes",
        "_max_chunks",
        "_readable",
        "_released",
        "_size",
        "_started",
        "_writable",
        "detached",
        "full",
        "gone",
        "on_detach",
    )

    def __init__(self, max_chunks: int = 1024, max_bytes: int = 256 * 1024) -> None:
        self._chunks: list[bytes] = []
        self._size = 0
        self._max_chunks = max_chunks
        self._max_bytes = max_bytes
        self._readable: asyncio.Future[None] | None = None
        self._writable: asyncio.Future[None] | None = None
        self._gathering = False
        self._started = False
        self._closed = False
        self._released = False
        self._failure: BaseException | None = None
        self.full: bool = False
        self.detached: bool = False
        self.gone: Signal = Signal()
        self.on_detach: Callable[[], None] | None = None

    # --- the writer's side ---

    @property
    def ended(self) -> bool:
        """Whether all has been read, and no more comes."""
        return self._closed and not self._chunks

    @property
    def waiting(self) -> tuple[int, int]:
        """Chunks and bytes that wait to be read."""
        return len(self._chunks), self._size

    def write(self, chunk: bytes) -> None:
        """Add a chunk without waiting; without a reader it is dropped."""
        if self._closed or self.detached:
            return
        self._chunks.append(chunk)
        self._size += len(chunk)
        if self._size >= self._max_bytes or len(self._chunks) >= self._max_chunks:
            self.full = True
        if self._readable is not None and not self._gathering:
            self._rouse(self._readable.get_loop())

    def _rouse(self, loop: asyncio.AbstractEventLoop) -> None:
        if not self._started:
            # Nobody knows yet that the run has begun.
            self._started = True
            self._wake_reader()
        else:
            self._gathering = True
            loop.call_soon(self._gather, 0, 0, loop.time() + _LONGEST_BURST)

    def _gather(self, seen: int, quiet: int, until: float) -> None:
        """Wake the reader unless one of the loop's last passes brought something new."""
        if self._readable is None:
            self._gathering = False
            return
        loop, waiting = self._readable.get_loop(), len(self._chunks)
        quiet = quiet + 1 if waiting == seen else 0
        if quiet == _QUIET_PASSES or self.full or loop.time() >= until:
            self._gathering = False
            self._wake_reader()
        else:
            loop.call_soon(self._gather, waiting, quiet, until)

    async def drained(self) -> None:
        """Wait until there is room, nobody reads any more, or the writer is released."""
        while self.full and not self._released:
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
        self._wake_reader()

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
        self._empty()
        return ready

    def detach(self) -> None:
        """Stop reading: the connection is gone. The run is told and goes on or stops."""
        self.detached = True
        self._empty()
        self.gone.set()
        if self.on_detach is not None:
            self.on_detach()

    def _empty(self) -> None:
        self._chunks.clear()
        self._size, self.full = 0, False
        self._wake_writer()

    def _wake_reader(self) -> None:
        if self._readable is not None:
            _wake(self._readable)
            self._readable = None

    def _wake_writer(self) -> None:
        if self._writable is not None:
            _wake(self._writable)
            self._writable = None
