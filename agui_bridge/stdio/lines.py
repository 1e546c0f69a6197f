"""Lines on file descriptors: read and written by threads, so that any kind of file will do.

The loop's own pipe transports take no regular files, and a terminal or a file must work as well
as a pipe. Both threads are daemons: one that waits for a peer never keeps the process.
"""

from __future__ import annotations

import asyncio
import os
import queue
import threading
from collections.abc import AsyncIterator
from dataclasses import dataclass

__all__ = ["LineReader", "LineTooLong", "LineWriter", "Pipes", "take_over_pipes"]

_PIECE = 64 * 1024


@dataclass(frozen=True, slots=True)
class Pipes:
    """The descriptors that the protocol has for itself."""

    stdin: int
    stdout: int


def take_over_pipes() -> Pipes:
    """Keep standard input and output for the protocol alone.

    What else is printed goes to standard error from now on, and nobody else reads the input:
    neither an agent's `print` nor a tool's subprocess can break the stream.
    """
    pipes = Pipes(os.dup(0), os.dup(1))
    # Some parents hand over pipes that do not block; the threads here wait.
    os.set_blocking(pipes.stdin, True)
    os.set_blocking(pipes.stdout, True)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return pipes


class LineTooLong(ValueError):
    """A line exceeds the limit; it was skipped to its end."""


class LineReader:
    """Reads lines.

    Args:
        descriptor: where from.
        longest: bytes of a line at most.
    """

    def __init__(self, descriptor: int, longest: int) -> None:
        self._descriptor = descriptor
        self._longest = longest
        self._pieces: asyncio.Queue[bytes] = asyncio.Queue()
        # The peer is held back while nobody takes what it sends.
        self._taken = threading.Semaphore(1)

    async def lines(self) -> AsyncIterator[bytes | LineTooLong]:
        """Give every line without its end, to the end of the file."""
        loop = asyncio.get_running_loop()
        threading.Thread(
            target=self._read, args=(loop,), name="agui-bridge-stdin", daemon=True
        ).start()
        line, skipping = bytearray(), False
        while piece := await self._pieces.get():
            *ended, rest = piece.split(b"\n")
            for part in ended:
                line += part
                if skipping or len(line) > self._longest:
                    yield LineTooLong(f"a line exceeds {self._longest} bytes")
                elif line.strip():
                    yield bytes(line)
                line, skipping = bytearray(), False
            line += rest
            if len(line) > self._longest:
                line, skipping = bytearray(), True
            self._taken.release()
        # A last line without an end was cut off, or was written so: it is judged as any other.
        if skipping:
            yield LineTooLong(f"a line exceeds {self._longest} bytes")
        elif line.strip():
            yield bytes(line)

    def _read(self, loop: asyncio.AbstractEventLoop) -> None:
        piece = b"-"
        while piece:
            self._taken.acquire()
            try:
                piece = os.read(self._descriptor, _PIECE)
            except OSError:
                piece = b""
            try:
                loop.call_soon_threadsafe(self._pieces.put_nowait, piece)
            except RuntimeError:
                # The loop is closed: the process ends.
                return


class LineWriter:
    """Writes lines, one after the other.

    Args:
        descriptor: where to.
        stall: seconds after which a peer that takes nothing counts as gone.

    Attributes:
        gone: set once nobody reads any more.
    """

    def __init__(self, descriptor: int, stall: float) -> None:
        self._descriptor = descriptor
        self._stall = stall
        self._lock = asyncio.Lock()
        self._jobs: queue.SimpleQueue[tuple[bytes, asyncio.Future[bool]]] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self.gone: asyncio.Event = asyncio.Event()

    async def write(self, lines: bytes) -> None:
        """Write whole lines; what nobody reads is dropped."""
        async with self._lock:
            if self.gone.is_set() or not lines:
                return
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._work, name="agui-bridge-stdout", daemon=True
                )
                self._thread.start()
            written: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
            self._jobs.put((lines, written))
            try:
                # Shielded: half a line would spoil the next one.
                async with asyncio.timeout(self._stall):
                    taken = await asyncio.shield(written)
            except TimeoutError:
                taken = False
            if not taken:
                self.gone.set()

    def _work(self) -> None:
        while True:
            lines, written = self._jobs.get()
            left = memoryview(lines)
            try:
                while left:
                    left = left[os.write(self._descriptor, left) :]
            except OSError:
                pass
            try:
                written.get_loop().call_soon_threadsafe(_settle, written, not left)
            except RuntimeError:
                return


def _settle(future: asyncio.Future[bool], value: bool) -> None:
    if not future.done():
        future.set_result(value)
