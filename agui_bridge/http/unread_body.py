"""The answer to a request whose body still comes, drop by drop, and that nobody waits for.

A server that closes a connection on which bytes still arrive resets it, and the client may lose
the answer that it has not read yet. So the answer goes out whole, and what still comes is thrown
away for a moment: the client reads the answer, and closes the connection itself.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import Final

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

__all__ = ["UnreadBodyResponse"]

_LINGER: Final = 1.0
"""Seconds for which what still comes is thrown away."""


class UnreadBodyResponse(Response):
    """A JSON answer that reaches a client which is still sending, the last on its connection.

    Args:
        content: the JSON.
        status: the status.
    """

    media_type = "application/json"

    def __init__(self, content: bytes, status: int) -> None:
        super().__init__(content, status, {"Connection": "close"})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the answer, then read on for a moment; the response ends after that."""
        await send({
            "type": "http.response.start", "status": self.status_code, "headers": self.raw_headers
        })  # fmt: skip
        await send({"type": "http.response.body", "body": self.body, "more_body": True})
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LINGER):
                # A disconnect has no `more_body` either.
                while (await receive()).get("more_body", False):
                    pass
        await send({"type": "http.response.body", "body": b"", "more_body": False})
