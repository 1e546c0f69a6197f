"""A stream of server-sent events as a response.

Source: AG-UI 1.0, http-sse.
"""

from __future__ import annotations

import asyncio
from typing import Protocol

from starlette.types import Receive, Scope, Send

from agui_bridge.engine.input.settings import Settings
from agui_bridge.engine.streaming.pipe import Pipe
from agui_bridge.errors import Refused
from agui_bridge.protocol.wire.sse import KEEP_ALIVE

__all__ = ["EventStreamResponse", "Source", "stream_of"]

_HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    # A CDN that compresses a stream on the way would give it out as one lump at its end.
    (b"cache-control", b"no-cache, no-transform"),
    (b"connection", b"keep-alive"),
    # Proxies such as nginx would hold the stream back.
    (b"x-accel-buffering", b"no"),
]


async def stream_of(
    pipe: Pipe, settings: Settings, *, missing: Refused | None = None
) -> EventStreamResponse:
    """The response that sends what a pipe gives.

    Args:
        pipe: what a run, or a reader's stream, writes to.
        settings: keep-alive and stall times.
        missing: raised in place of an empty stream.

    Raises:
        Refused: there is no stream to begin with, but this error.
        StoreUnavailable: the same.
    """
    try:
        first = await pipe.read()
        if not first and missing is not None:
            raise missing
    except BaseException:
        # Also when the host gives up on the request: nobody will read this stream.
        pipe.detach()
        raise
    return EventStreamResponse(pipe, first, settings)


class Source(Protocol):
    """What a stream's bytes come from: a pipe, or what makes other bytes of it."""

    @property
    def ended(self) -> bool:
        """Whether all has been read, and no more comes; perhaps not known before `read` says so."""
        ...

    async def read(self) -> bytes:
        """Wait for bytes; b"" is the end."""
        ...

    def write(self, chunk: bytes) -> None:
        """Add a comment to what is read."""
        ...

    def detach(self) -> None:
        """Stop reading."""
        ...


class EventStreamResponse:
    """Sends what a pipe gives, until its end or the client's.

    Time is watched by one timer for the whole stream, not by a timeout for every event.

    Args:
        pipe: where the run writes.
        first: what was read from it already.
        settings: keep-alive and stall times.
    """

    def __init__(self, pipe: Source, first: bytes, settings: Settings) -> None:
        self._pipe = pipe
        self._first = first
        self._settings = settings
        # From the first: a client that sent several requests and read none holds up the head too.
        self._sending = True
        self._since = 0.0
        self._over = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Stream; a client that goes away, or takes nothing for too long, detaches the pipe."""
        self._loop = loop = asyncio.get_running_loop()
        self._since = loop.time()
        watcher = loop.create_task(_disconnect(receive))
        try:
            # Without a time of its own: it is how a send that hangs is given up.
            async with asyncio.timeout(None) as self._patience:
                watcher.add_done_callback(self._give_up)
                self._look()
                await self._write(send)
        except OSError:
            # The client is gone, one way (`TimeoutError`) or the other.
            pass
        finally:
            # The loop may be about to tell that the client went away with the last byte.
            self._over = True
            self._timer.cancel()
            self._pipe.detach()
            watcher.remove_done_callback(self._give_up)
            watcher.cancel()
            await asyncio.gather(watcher, return_exceptions=True)

    async def _write(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
        now, read = self._loop.time, self._pipe.read
        chunk, self._first = self._first, b""
        while True:
            # The end goes out with the last bytes where it is known by then: each send costs.
            more = bool(chunk) and not self._pipe.ended
            self._sending, self._since = True, now()
            await send({"type": "http.response.body", "body": chunk, "more_body": more})
            if not more:
                return
            self._sending, self._since = False, now()
            chunk = await read()

    def _look(self) -> None:
        """Keep a silent stream alive; give up once the client has taken nothing for too long."""
        now, stall = self._loop.time(), self._settings.stall_timeout
        left = self._since + (stall if self._sending else self._settings.keep_alive) - now
        if left <= 0:
            if self._sending:
                self._give_up()
                return
            self._pipe.write(KEEP_ALIVE)
            self._since, left = now, self._settings.keep_alive
        # No longer than a send, or a silence, that begins meanwhile may last.
        patience = min(left, stall, self._settings.keep_alive)
        self._timer = self._loop.call_later(patience, self._look)

    def _give_up(self, _: object = None) -> None:
        if not self._over:
            self._patience.reschedule(self._loop.time())


async def _disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
