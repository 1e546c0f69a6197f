"""A stream of server-sent events as a response.

Source: AG-UI 1.0, http-sse.
"""

from __future__ import annotations

import asyncio
import contextvars
from typing import Protocol

from starlette.types import Receive, Scope, Send

from agui_bridge.engine.input.settings import Settings
from agui_bridge.engine.streaming.clock import Turned, Wheels
from agui_bridge.engine.streaming.pipe import Pipe
from agui_bridge.errors import Refused
from agui_bridge.protocol.wire.sse import KEEP_ALIVE

_HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    # A CDN that compresses a stream on the way would give it out as one lump at its end.
    (b"cache-control", b"no-cache, no-transform"),
    (b"connection", b"keep-alive"),
    # Proxies such as nginx would hold the stream back.
    (b"x-accel-buffering", b"no"),
]

_LOOKS = 20
"""Checks per keep-alive or stall interval; timing is off by at most one check."""


async def stream_of(
    pipe: Pipe, settings: Settings, wheels: Wheels, *, missing: Refused | None = None
) -> EventStreamResponse:
    """The response that sends what a pipe gives.

    Args:
        pipe: what a run, or a reader's stream, writes to.
        settings: keep-alive and stall times.
        wheels: those of the engine.
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
    return EventStreamResponse(pipe, first, settings, wheels)


class Source(Protocol):
    """What a stream's bytes come from: a pipe, or what makes other bytes of it."""

    @property
    def ended(self) -> bool:
        """Whether all has been read, and no more comes; perhaps not known before `read` says so."""
        ...

    async def read(self) -> bytes:
        """Wait for bytes; b"" is the end."""
        ...

    def detach(self) -> None:
        """Stop reading."""
        ...


class EventStreamResponse:
    """Sends what a pipe gives, until its end or the client's.

    Time is watched for all streams together, not by a timeout for every event. A comment that
    keeps a silent stream alive goes out beside what waits for the pipe.

    Args:
        pipe: where the run writes.
        first: what was read from it already.
        settings: keep-alive and stall times.
        wheels: look at the stream, with all others.
    """

    __slots__ = (
        "__weakref__",
        "_clock",
        "_comment",
        "_context",
        "_first",
        "_interval",
        "_over",
        "_patience",
        "_pipe",
        "_send",
        "_sending",
        "_silence",
        "_since",
        "_stall",
        "_wheel",
        "place",
    )

    place: set[Turned]

    def __init__(self, pipe: Source, first: bytes, settings: Settings, wheels: Wheels) -> None:
        self._pipe = pipe
        self._first = first
        self._stall = settings.stall_timeout
        self._interval = min(settings.stall_timeout, settings.keep_alive) / _LOOKS
        self._silence = settings.keep_alive - self._interval
        self._clock = wheels.clock
        self._wheel = wheels.of(self._interval)
        # From the first: a client that sent several requests and read none holds up the head too.
        self._sending = True
        self._since = 0.0
        self._over = False
        self._comment: asyncio.Task[None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Stream; a client that goes away, or takes nothing for too long, detaches the pipe."""
        self._send = send
        self._context = contextvars.copy_context()
        self._since = self._clock.monotonic()
        watcher = asyncio.get_running_loop().create_task(_disconnect(receive))
        try:
            # Without a time of its own: it is how a send that hangs is given up.
            async with asyncio.timeout(None) as self._patience:
                watcher.add_done_callback(self._give_up)
                self._wheel.add(self, min(self._stall, self._silence))
                await self._write(send)
        except OSError:
            # The client is gone, one way (`TimeoutError`) or the other.
            pass
        finally:
            # The loop may be about to tell that the client went away with the last byte.
            self._over = True
            self._wheel.discard(self)
            self._pipe.detach()
            watcher.remove_done_callback(self._give_up)
            beside = [watcher] if self._comment is None else [watcher, self._comment]
            for task in beside:
                task.cancel()
            await asyncio.gather(*beside, return_exceptions=True)

    async def _write(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
        now, read = self._clock.monotonic, self._pipe.read
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
            if self._comment is not None:
                # One after the other, whatever stands between us and the server.
                await self._comment

    def look(self, now: float) -> float:
        """Keep a silent stream alive; give up once the client has taken nothing for too long."""
        left = self._since + (self._stall if self._sending else self._silence) - now
        if left <= 0:
            if self._sending:
                self._give_up()
            else:
                self._sending, self._since = True, now
                # A task of its own: nobody else waits for a client that does not take it.
                loop = asyncio.get_running_loop()
                self._comment = loop.create_task(self._keep_alive(), context=self._context)
            left = self._silence
        # No longer than a send, or a silence, that begins meanwhile may last.
        return min(left, self._stall, self._silence)

    async def _keep_alive(self) -> None:
        try:
            await self._send({"type": "http.response.body", "body": KEEP_ALIVE, "more_body": True})
            self._sending, self._since = False, self._clock.monotonic()
        except BaseException as error:
            self._give_up()
            if not isinstance(error, OSError):
                raise
        finally:
            self._comment = None

    def _give_up(self, _: object = None) -> None:
        if not self._over:
            self._over = True
            self._patience.reschedule(asyncio.get_running_loop().time())


async def _disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
