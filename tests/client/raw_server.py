"""A server that answers with the bytes that a test wants, over a real socket."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

__all__ = ["RawServer", "asking", "raw_server", "sse"]

Event = Mapping[str, Any]


def sse(*events: Event) -> bytes:
    """Events as a stream's body."""
    return b"".join(f"data: {json.dumps(event)}\n\n".encode() for event in events)


def asking(asks: Sequence[Event], *said: Event) -> bytes:
    """The stream of run `r` of thread `t`, which says something and ends with questions."""
    outcome = {"type": "interrupt", "interrupts": list(asks)}
    return sse(
        {"type": "RUN_STARTED", "threadId": "t", "runId": "r"},
        *said,
        {"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "outcome": outcome},
    )


class RawServer:
    """Gives its answers in turn, the last one again and again.

    Attributes:
        url: where it listens.
        bodies: what was sent to it, parsed.
        left: set once a client closes a connection whose answer does not end.
    """

    def __init__(
        self,
        answers: Sequence[bytes],
        kind: str,
        status: str,
        hold: bool,
        path: str,
        gets: str | None,
    ) -> None:
        self.url = ""
        self.bodies: list[Any] = []
        self.heads: list[str] = []
        self.left = asyncio.Event()
        self._answers = answers
        self._head = f"HTTP/1.1 {status}\r\ncontent-type: {kind}\r\nconnection: close\r\n\r\n"
        self._hold = hold
        self._path = path
        self._gets = gets

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one connection."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        lengths = [
            line.split(":")[1] for line in head.lower().split("\r\n") if "content-length" in line
        ]
        sent = await reader.readexactly(int(lengths[0])) if lengths else b"null"
        self.heads.append(head)
        if head.startswith(f"POST {self._path} "):
            self.bodies.append(json.loads(sent))
            number = min(len(self.bodies), len(self._answers)) - 1
            body = self._answers[number]
            writer.write(body if body.startswith(b"HTTP/") else self._head.encode() + body)
            if self._hold:
                await writer.drain()
                await reader.read()
                self.left.set()
        elif self._gets is not None and head.startswith(f"GET {self._gets}"):
            writer.write(self._head.encode() + self._answers[0])
        else:
            # Else a client sends its next request on a connection that is about to close.
            nothing = "content-length: 0\r\nconnection: close\r\n\r\n"
            writer.write(f"HTTP/1.1 404 Not Found\r\n{nothing}".encode())
        with contextlib.suppress(ConnectionError):
            await writer.drain()
        writer.close()


@contextlib.asynccontextmanager
async def raw_server(
    *answers: bytes,
    kind: str = "text/event-stream",
    status: str = "200 OK",
    hold: bool = False,
    path: str = "/",
    gets: str | None = None,
) -> AsyncIterator[RawServer]:
    """Serve answers.

    Args:
        answers: bodies, one for each POST; or whole answers, from `HTTP/1.1` on.
        kind: their content type.
        status: their status line.
        hold: whether the answer does not end before the client leaves.
        path: that is answered; others are not found.
        gets: where a GET is answered, with the first of the answers.
    """
    site = RawServer(answers, kind, status, hold, path, gets)
    server = await asyncio.start_server(site.answer, "127.0.0.1", 0)
    site.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    async with server:
        yield site
