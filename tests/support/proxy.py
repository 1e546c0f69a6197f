"""A TCP proxy that loses requests or replies, stalls, or is down, as a test says."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Literal

__all__ = ["Proxy", "proxy_in_a_thread", "proxy_to"]

Fault = Literal["lose request", "lose reply"]


class Proxy:
    """Passes on what comes, until it is told otherwise.

    Attributes:
        port: where it listens.
        fault: what happens to the next bytes; the connection is cut with it.
        times: to how many connections it happens.
        marker: it happens only to requests that hold these bytes, or to their replies.
        lost: how many connections a fault has cut.
        requests: how often a client has sent something.
        delay: seconds that everything is late, in each direction.
        down: whether new connections are closed at once.
        target: the port where new connections lead.
    """

    def __init__(self, target: int) -> None:
        self.port = 0
        self.fault: Fault | None = None
        self.times = 1
        self.marker = b""
        self.lost = 0
        self.requests = 0
        self.delay = 0.0
        self.down = False
        self.target = target
        self._flows = asyncio.Event()
        self._flows.set()
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    def stall(self) -> None:
        """Hold back everything, in both directions."""
        self._flows.clear()

    def go_on(self) -> None:
        """Pass on what was held back, and what comes."""
        self._flows.set()

    def cut(self) -> None:
        """Cut every connection."""
        for writer in self._writers:
            writer.transport.abort()

    def take_down(self) -> None:
        """Cut every connection and let none in."""
        self.down = True
        self.cut()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Join one client with the server."""
        if self.down:
            writer.transport.abort()
            return
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            there, back = await asyncio.open_connection("127.0.0.1", self.target)
        except OSError:
            # The server is down, and so is the way to it.
            self._tasks.discard(task)
            writer.transport.abort()
            return
        ends = {writer, back}
        self._writers |= ends
        marked = asyncio.Event()
        ways = [
            asyncio.ensure_future(self._pass(reader, back, marked, "lose request")),
            asyncio.ensure_future(self._pass(there, writer, marked, "lose reply")),
        ]
        try:
            # One direction ends with the other.
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            # By `aclose` alone. asyncio would log it of a connection that is still there.
            pass
        finally:
            for way in ways:
                way.cancel()
            for end in ends:
                end.transport.abort()
            await asyncio.gather(*ways, return_exceptions=True)
            self._writers -= ends
            self._tasks.discard(task)

    async def _pass(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        marked: asyncio.Event,
        fault: Fault,
    ) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                await asyncio.sleep(self.delay)
                await self._flows.wait()
                if fault == "lose request":
                    self.requests += 1
                    if self.fault is not None and self.marker in data:
                        marked.set()
                if self.fault == fault and (marked.is_set() or not self.marker):
                    self.lost += 1
                    self.times -= 1
                    if self.times < 1:
                        self.fault, self.times = None, 1
                    return
                writer.write(data)
                await writer.drain()

    async def aclose(self) -> None:
        """Cut everything and wait for it."""
        self.down = True
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


@asynccontextmanager
async def proxy_to(port: int) -> AsyncIterator[Proxy]:
    """Run a proxy for as long as the block lasts."""
    proxy = Proxy(port)
    listener = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    proxy.port = listener.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        listener.close()
        await proxy.aclose()
        await listener.wait_closed()


@contextmanager
def proxy_in_a_thread(port: int) -> Iterator[tuple[Proxy, Callable[[Callable[[], None]], None]]]:
    """The same for plain code: the proxy, and what calls one of its methods in its own thread.

    Attributes may be set from anywhere.
    """
    ready = threading.Event()
    found: list[tuple[Proxy, asyncio.AbstractEventLoop, asyncio.Event]] = []

    async def run() -> None:
        async with proxy_to(port) as proxy:
            over = asyncio.Event()
            found.append((proxy, asyncio.get_running_loop(), over))
            ready.set()
            await over.wait()

    thread = threading.Thread(target=asyncio.run, args=(run(),))
    thread.start()
    assert ready.wait(10), "the proxy does not start"
    proxy, loop, over = found[0]

    def call(method: Callable[[], None]) -> None:
        done = threading.Event()

        def work() -> None:
            method()
            done.set()

        loop.call_soon_threadsafe(work)
        assert done.wait(10), "the proxy is stuck"

    try:
        yield proxy, call
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join(10)
