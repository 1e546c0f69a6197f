"""Stands between the bridge and a real NexAU, and notes what goes through.

A line for each, in the order in which it happened: `stream` (a request, with its number), `frame`
(what NexAU sent on it), `end` (NexAU ended it) or `gone` (the bridge went away, or the stream was
cut), `stop` and `answer`, `look` (a question about a team, with its `saw`); and of the case as a
whole `told` (what the model was told last for a user message) and `work` (how often the tool began
and ended the job).
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
        cut: text after which a stream breaks, "" for none.
    """

    def __init__(self, url: str, on_stop: Callable[[str], None]) -> None:
        self._nexau = httpx.AsyncClient(base_url=url, timeout=httpx.Timeout(60, read=None))
        self._on_stop = on_stop
        self._numbers = itertools.count(1)
        self.lines: list[Line] = []
        self.sent = asyncio.Event()
        self.cut = ""
        self.app = Starlette(
            routes=[
                Route("/stream", self._stream, methods=["POST"]),
                Route("/stop", self._stop, methods=["POST"]),
                Route("/team/stream", self._stream, methods=["POST"]),
                Route("/team/stop", self._stop, methods=["POST"]),
                Route("/team/status", self._look),
                Route("/team/teammates", self._look),
            ]
        )

    async def _stream(self, request: Request) -> Response:
        number, body = next(self._numbers), await request.json()
        self.lines.append({"stream": number, "body": body})
        self.sent.set()
        frames = self._frames(number, request.url.path, body)
        return StreamingResponse(frames, media_type="text/event-stream")

    async def _frames(self, number: int, path: str, body: Any) -> AsyncIterator[bytes]:
        end = "gone"
        try:
            async with self._nexau.stream("POST", path, json=body) as answer:
                async for raw in answer.aiter_text():
                    self.lines.append({"frame": number, "raw": raw})
                    yield raw.encode()
                    if self.cut and self.cut in raw:
                        # As when a connection breaks, once.
                        self.cut = ""
                        raise ConnectionError("the stream is cut here")
            end = "end"
        finally:
            self.lines.append({end: number})

    async def _stop(self, request: Request) -> Response:
        body = await request.json()
        self.lines.append({"stop": body})
        asking = asyncio.create_task(self._nexau.post(request.url.path, json=body))
        # A graceful stop is answered only once the model has said another word.
        await asyncio.wait({asking}, timeout=0.1)
        self._on_stop(body["session_id"])
        answer = (await asking).json()
        self.lines.append({"answer": answer})
        return JSONResponse(answer)

    async def _look(self, request: Request) -> Response:
        path = request.url.path
        answer = (await self._nexau.get(path, params=request.query_params)).json()
        self.lines.append({"look": path, "saw": answer})
        return JSONResponse(answer)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._nexau.aclose()
