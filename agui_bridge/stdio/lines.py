"""Lines on file descriptors: read and written by threads, so that any kind of file will do.

The loop's own pipe transports take no regular files, and a terminal or a file must work as well
as a pipe. Both threads are daemons: one that waits for a peer never keeps the process.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import queue
import signal
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from dataclasses import dataclass
from typing import Any, Final

from agui_bridge.engine.engine import Engine
from agui_bridge.engine.input.submission import Submission
from agui_bridge.engine.streaming.event_stream import EventStream
from agui_bridge.engine.streaming.pipe import Pipe

# --- what a process over pipes has under way, and how it comes to its end ---

logger: Final = logging.getLogger("agui_bridge")

_POLL: Final = 0.05
_LAST_SECONDS: Final = 5.0


class Running:
    """A run whose events go to one request.

    Attributes:
        key: the thread that it is for.
        begun: set once its first event was read, or it has ended without one.
    """

    def __init__(self, engine: Engine, submission: Submission) -> None:
        self._engine = engine
        self.key = submission.key
        self.pipe: Pipe
        self.stream: EventStream
        self.pipe, self.stream = engine.submit(submission)
        self.begun = asyncio.Event()

    async def leave(self, patience: float, force: asyncio.Event) -> None:
        """Stop it, within some seconds; what was approved is carried out before."""
        await self.begun.wait()
        until = asyncio.get_running_loop().time() + patience
        while (execution := self._engine.running.get(self.key)) is not None:
            late = force.is_set() or asyncio.get_running_loop().time() >= until
            if execution.stream is not self.stream:
                break
            if late or not execution.approved_calls:
                execution.request_stop(force=late, timeout=patience)
                if late:
                    return
            await asyncio.sleep(_POLL)
        if self.stream.terminal is None:
            # It waits for a run of another request.
            self.pipe.detach()


@contextlib.contextmanager
def ending_signals(told: Callable[[], object]) -> Iterator[None]:
    """Tell of SIGTERM and SIGINT as long as the context lasts.

    Args:
        told: is called at each.
    """
    loop = asyncio.get_running_loop()
    taken = []
    for number in (signal.SIGTERM, signal.SIGINT):
        # Other platforms, and loops beside the main thread, have none.
        with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
            loop.add_signal_handler(number, told)
            taken.append(number)
    try:
        yield
    finally:
        for number in taken:
            loop.remove_signal_handler(number)


class Ending:
    """How a process over pipes comes to its end: something it does is over, or a signal comes.

    Attributes:
        begun: set once it ends.
        forced: set by a second signal.
    """

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.forced = asyncio.Event()

    async def wait_for(
        self, *ways: Coroutine[Any, Any, object], then: Callable[[], Awaitable[None]]
    ) -> None:
        """Go all the ways at once until the end, and wind down; what one raised is raised then.

        Args:
            ways: what is done; the first that is over ends them all.
            then: winds down. A second signal may come meanwhile.
        """
        tasks = [asyncio.ensure_future(way) for way in (*ways, self.begun.wait())]
        with ending_signals(self._signalled):
            try:
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in tasks:
                    task.cancel()
                ended = await asyncio.gather(*tasks, return_exceptions=True)
                await then()
        for error in ended:
            if isinstance(error, Exception):
                raise error

    def _signalled(self) -> None:
        if self.begun.is_set():
            self.forced.set()
        self.begun.set()


@contextlib.contextmanager
def leaving_threads_behind() -> Iterator[None]:
    """Let the process end soon after the context, whatever threads it has."""
    try:
        yield
    finally:
        # Everything is stored and answered. A tool's thread that never ends can't be cancelled,
        # and Python would wait for it.
        last = threading.Timer(_LAST_SECONDS, _leave_threads_behind)
        last.daemon = True
        last.start()


def _leave_threads_behind() -> None:
    logger.warning("a tool's thread does not end; it is left behind")
    logging.shutdown()
    sys.stderr.flush()
    os._exit(0)


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
