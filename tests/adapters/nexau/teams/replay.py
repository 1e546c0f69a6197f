"""A recorded team, played to the bridge: as NexAU it says what NexAU said, where NexAU said it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from tests.adapters.nexau.recordings import GOLDEN

__all__ = ["TEAM_RECORDINGS", "TeamReplay"]

TEAM_RECORDINGS = GOLDEN / "teams"


class TeamReplay:
    """The server.

    Attributes:
        sent: the requests for a run that came.
        stops: the stops that came.
        at_stop: set once a stream waits for a stop, as it did when it was recorded.
    """

    def __init__(self, path: Path) -> None:
        self._lines: list[dict[str, Any]] = [json.loads(s) for s in path.read_text().splitlines()]
        self._seen = [line for line in self._lines if "look" in line]
        self._stopped = asyncio.Event()
        self.sent: list[dict[str, Any]] = []
        self.stops: list[dict[str, Any]] = []
        self.at_stop = asyncio.Event()
        self.app = Starlette(
            routes=[
                Route("/team/stream", self._stream, methods=["POST"]),
                Route("/team/stop", self._stop, methods=["POST"]),
                Route("/team/status", self._look),
                Route("/team/teammates", self._look),
            ]
        )

    async def _stream(self, request: Request) -> Response:
        self.sent.append(await request.json())
        self._stopped.clear()
        return StreamingResponse(self._frames(len(self.sent)), media_type="text/event-stream")

    async def _frames(self, number: int) -> AsyncIterator[bytes]:
        begun = False
        for line in self._lines:
            begun = begun or line.get("stream") == number
            if "stop" in line and begun:
                self.at_stop.set()
                await self._stopped.wait()
            elif line.get("frame") == number:
                yield line["raw"].encode()
            elif line.get("gone") == number:
                raise ConnectionError("the stream broke here when it was recorded")
            elif line.get("end") == number:
                return

    async def _stop(self, request: Request) -> Response:
        self.stops.append(await request.json())
        self._stopped.set()
        return JSONResponse({"status": "stopped"})

    async def _look(self, request: Request) -> Response:
        path = request.url.path
        left = [line for line in self._seen if line["look"] == path]
        if not left:
            return Response(status_code=404)
        if len(left) > 1:
            # The last answer stands for as long as is asked.
            self._seen.remove(left[0])
        return JSONResponse(left[0]["saw"])
