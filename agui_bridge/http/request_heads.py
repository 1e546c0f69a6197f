"""Heads of requests within bounds, before the caller is known.

uvicorn with httptools takes a head of any length, for any time, and copies it again with every
piece that comes: a header of 150 MB keeps the process busy for a minute. Here a connection is
ended as soon as it sends more, or more slowly, than any client does.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

__all__ = [
    "HEAD_SECONDS",
    "MAX_HEADERS",
    "MAX_HEAD_BYTES",
    "MAX_PIPELINED",
    "BoundedRequests",
]

MAX_HEAD_BYTES: Final = 64 * 1024
"""Bytes of a request's first line and headers; also of what stands around the pieces of a chunked
body and behind them, less a sixteenth of the body."""

MAX_HEADERS: Final = 100
"""Headers of a request, the trailers of its body included."""

MAX_PIPELINED: Final = 16
"""Requests on one connection that wait until the one before them is answered."""

HEAD_SECONDS: Final = 10.0
"""From the first byte of a head to its last one."""

_PIECE: Final = 8 * 1024
"""What is given to the parser at once: what is counted is exact to this."""

_TOO_LARGE: Final = ("431 Request Header Fields Too Large", "The head of the request is too large.")
_TOO_SLOW: Final = ("408 Request Timeout", "The head of the request took too long.")
_TOO_MANY: Final = ("400 Bad Request", "Too many requests wait on this connection.")


class BoundedRequests(HttpToolsProtocol):
    """uvicorn's protocol, which ends a connection whose head is too large, or too slow."""

    head_seconds = HEAD_SECONDS
    _beside_body = 0
    _in_message = False
    _headers = 0
    _timer: asyncio.TimerHandle | None = None
    _refusal: tuple[str, str] | None = None

    # asyncio names a wider transport than it gives to a protocol of streams, as uvicorn does too.
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first request, not for ever."""
        super().connection_made(transport)
        self._timer = self.loop.call_later(self.timeout_keep_alive, self._give_up)

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse what came, piece by piece, for as long as it is within bounds."""
        if not self._in_message and not self._beside_body:
            self._wait()
        for start in range(0, len(data), _PIECE):
            if self.transport.is_closing() or self.transport.get_protocol() is not self:
                return
            piece = data[start : start + _PIECE]
            self._beside_body += len(piece)
            super().data_received(piece)
            if self._beside_body > MAX_HEAD_BYTES:
                self._refuse(_TOO_LARGE)

    def on_message_begin(self) -> None:
        """Count its headers."""
        self._headers = 0
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header, or a trailer."""
        self._headers += 1
        if self._headers > MAX_HEADERS:
            raise self._refused(_TOO_LARGE)
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """The head is here: from now on the application bounds what comes, and for how long."""
        if len(self.pipeline) >= MAX_PIPELINED:
            raise self._refused(_TOO_MANY)
        self._stop_waiting()
        self._beside_body = 0
        self._in_message = True
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """A piece of the body; one of a few bytes costs as much as one of thousands."""
        self._beside_body = max(0, self._beside_body - len(body) - len(body) // 16)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """What comes next is another head."""
        self._beside_body = 0
        self._in_message = False
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Of a body that nobody reads any more the rest is not waited for as long as it takes."""
        super().on_response_complete()
        if self._in_message and not self.pipeline:
            self._wait()

    def send_400_response(self, msg: str) -> None:
        """Answer what could not be parsed, or was refused while it was."""
        if self._refusal is None:
            super().send_400_response(msg)
        else:
            self._refuse(self._refusal)

    def _wait(self) -> None:
        self._stop_waiting()
        self._timer = self.loop.call_later(self.head_seconds, self._give_up)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self) -> None:
        if self._is_answering():
            # While an answer goes out, requests behind it may not be read.
            self._wait()
        else:
            self._refuse(_TOO_SLOW)

    def _is_answering(self) -> bool:
        cycle: Any = self.cycle  # None before the first request
        return cycle is not None and not cycle.response_complete

    def _refused(self, refusal: tuple[str, str]) -> ValueError:
        """What stops the parser; what it then calls is `send_400_response`."""
        self._refusal = refusal
        return ValueError(refusal[1])

    def _refuse(self, refusal: tuple[str, str]) -> None:
        if self.transport.is_closing():
            return
        # In the middle of an answer no other can be said.
        if not self._is_answering() and self._beside_body:
            status, text = refusal
            head: dict[str, Any] = {
                "content-type": "text/plain; charset=utf-8",
                "content-length": len(text),
                "connection": "close",
            }
            lines = [f"HTTP/1.1 {status}", *(f"{name}: {head[name]}" for name in head), "", text]
            self.transport.write("\r\n".join(lines).encode("ascii"))
        self.transport.close()
