"""Stands between the bridge and a real NexAU, and notes what goes through.

A line for each, in the order in which it happened: `stream` (a request, with its number), `frame`
(what NexAU sent on it), `end` (NexAU ended it) or `gone` (the bridge went away), `stop` and
`answer`; and of the case as a whole `told` (what the model was told last for a user message) and
`work` (how often the tool began and ended the job).
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

__all__ = ["Recorder"]

Line = dict[str, Any]


class Recorder:
    """The server between them.

    Args:
        url: of NexAU.
        on_stop: called with the session's id once a stop has reached NexAU, or was about to.

    Attributes:
        lines: what was noted.
        sent: set once a run has been asked for.
    """

    def __init__(self, url: str, on_stop: Callable[[str], None]) -> None:
        self._nexau = httpx.AsyncClient(base_url=url, timeout=httpx.Timeout(60, read=None))
        self._on_stop = on_stop
        self._numbers = itertools.count(1)
        self.lines: list[Line] = []
        self.sent = asyncio.Event()
        self.app = Starlette(
            routes=[
                Route("/stream", self._stream, methods=["POST"]),
                Route("/stop", self._stop, methods=["POST"]),
            ]
        )

    async def _stream(self, request: Request) -> Response:
        number, body = next(self._numbers), await request.json()
        self.lines.append({"stream": number, "body": body})
        self.sent.set()
        return StreamingResponse(self._frames(number, body), media_type="text/event-stream")

    async def _frames(self, number: int, body: Any) -> AsyncIterator[bytes]:
        end = "gone"
        try:
            async with self._nexau.stream("POST", "/stream", json=body) as answer:
                async for raw in answer.aiter_text():
                    self.lines.append({"frame": number, "raw": raw})
                    yield raw.encode()
            end = "end"
        finally:
            self.lines.append({end: number})

    async def _stop(self, request: Request) -> Response:
        body = await request.json()
        self.lines.append({"stop": body})
        asking = asyncio.create_task(self._nexau.post("/stop", json=body))
        # A graceful stop is answered only once the model has said another word.
        await asyncio.wait({asking}, timeout=0.1)
        self._on_stop(body["session_id"])
        answer = (await asking).json()
        self.lines.append({"answer": answer})
        return JSONResponse(answer)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._nexau.aclose()
