"""A recorded case, played to the bridge: as NexAU it says what NexAU said, where NexAU said it."""

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

__all__ = ["PHASE_RECORDINGS", "Replay", "recording_of"]

PHASE_RECORDINGS = GOLDEN / "phases"


def recording_of(phase: str, *, force: bool) -> Path:
    """Where a case is recorded."""
    return PHASE_RECORDINGS / f"{phase}_{'force' if force else 'graceful'}.jsonl"


class Replay:
    """The server.

    A stream waits for a stop where one came while it was recorded, and does not end where it did
    not end then.

    Attributes:
        lines: of the recording.
        sent: the requests that came, as far as they are not by chance, beside the recorded ones.
        ended: whether NexAU ended the first stream.
        at_stop: set once the first stream has said all that it said before it was stopped.
        told: what the model was told last, by user message.
        begun: how often the tool began each job.
        done: how often it ended each.
    """

    def __init__(self, path: Path) -> None:
        self.lines: list[dict[str, Any]] = [json.loads(s) for s in path.read_text().splitlines()]
        self.sent: list[tuple[Any, Any]] = []
        self.at_stop = asyncio.Event()
        self.told = {line["told"]: [line["messages"]] for line in self.lines if "told" in line}
        (work,) = (line for line in self.lines if "work" in line)
        self.job: str = work["work"]
        self.ended = any(line.get("end") == 1 for line in self.lines)
        self.begun, self.done = {self.job: work["begun"]}, {self.job: work["done"]}
        self._stopped = asyncio.Event()
        self.app = Starlette(
            routes=[
                Route("/stream", self._stream, methods=["POST"]),
                Route("/stop", self._stop, methods=["POST"]),
            ]
        )

    async def _stream(self, request: Request) -> Response:
        number = len(self.sent) + 1
        recorded = next((line for line in self.lines if line.get("stream") == number), None)
        self.sent.append((_certain(await request.json()), recorded and _certain(recorded["body"])))
        return StreamingResponse(self._frames(number), media_type="text/event-stream")

    async def _frames(self, number: int) -> AsyncIterator[bytes]:
        seen = False
        for line in self.lines:
            seen = seen or line.get("stream") == number
            if "stop" in line and seen:
                self.at_stop.set()
                await self._stopped.wait()
            elif line.get("frame") == number:
                yield line["raw"].encode()
            elif line.get("gone") == number:
                self.at_stop.set()
                await asyncio.Event().wait()
            elif line.get("end") == number:
                self.at_stop.set()
                return

    async def _stop(self, request: Request) -> Response:
        await request.json()
        self._stopped.set()
        answers = [line["answer"] for line in self.lines if "answer" in line]
        if not answers:
            await asyncio.Event().wait()
        return JSONResponse(answers[0])


def _certain(body: dict[str, Any]) -> Any:
    """A request without what is made anew each time: the end of a new session's id."""
    session, _, new = body["session_id"].partition("~")
    return {**body, "session_id": f"{session}~" if new else session}
