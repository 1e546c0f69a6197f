"""Recordings of a real NexAU server, and a server that replays one."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

__all__ = ["GOLDEN", "RECORDINGS", "Exchange", "Recording", "Replay"]

GOLDEN = Path(__file__).parents[2] / "golden" / "nexau"
RECORDINGS = sorted((GOLDEN / "recordings").glob("*.jsonl"))

Line = dict[str, Any]


@dataclass
class Exchange:
    """A `POST /stream`, as it was recorded.

    Attributes:
        what: its name.
        body: what was sent.
        lines: what came, in order; a `send` of a stop that reached the run stands where it was.
    """

    what: str
    body: Line
    lines: list[Line] = field(default_factory=list)

    @property
    def stops(self) -> list[Line]:
        """The stops that were sent while it ran, each with its place."""
        return [line for line in self.lines if line["dir"] == "send"]


class Recording:
    """One recorded case."""

    def __init__(self, path: Path) -> None:
        self.name = path.stem
        self.lines: list[Line] = [json.loads(line) for line in path.read_text().splitlines()]
        self.exchanges: list[Exchange] = []
        self.answers: list[Line] = [
            line
            for line in self.lines
            if line.get("dir") == "recv" and "stop_reason" in line["raw"]
        ]
        if "what" in self.lines[0]:
            self._read_http()
        else:
            self._read_stdio()
        # Those that were refused have no stream.
        self.exchanges = [e for e in self.exchanges if any(map(_is_frame, e.lines))]

    def _read_http(self) -> None:
        running: dict[str, Exchange] = {}
        for line in self.lines:
            what, kind = line["what"], line.get("dir")
            if kind == "send" and line["path"] == "/stream":
                running[what] = Exchange(what, line["body"], [{**line, "dir": "begin"}])
                self.exchanges.append(running[what])
            elif kind == "send" and line["path"] == "/stop":
                self._place_stop(line, running)
            elif what in running and kind == "recv-raw":
                running[what].lines.append(line)
            elif what in running and kind in ("recv-eof", "client-abort"):
                running.pop(what).lines.append(line)

    def _place_stop(self, line: Line, running: dict[str, Exchange]) -> None:
        """A stop belongs to the stream that it reached: one that had begun, and was stopped."""
        answer = next(a for a in self.answers if a["t_ms"] >= line["t_ms"])
        if json.loads(answer["raw"])["status"] != "success":
            return
        for exchange in running.values():
            if any("RUN_STARTED" in seen.get("raw", "") for seen in exchange.lines):
                exchange.lines.append(line)

    def _read_stdio(self) -> None:
        """Events of a stdio transport as frames; its stops never worked."""
        for line in self.lines:
            if line.get("dir") != "stdout":
                if '"agent.stream"' in line.get("raw", ""):
                    sent = json.loads(line["raw"])
                    begin = {"t_ms": line["t_ms"], "dir": "begin"}
                    self.exchanges.append(Exchange(sent["id"], sent["params"], [begin]))
                continue
            said = json.loads(line["raw"])
            exchange = next((e for e in self.exchanges if e.what == said["id"]), None)
            if exchange is None:
                continue
            if "event" in said:
                frame = f"data: {json.dumps(said['event'])}\n\n"
                kind = "recv-raw"
            else:
                data = said.get("error", {}).get("data")
                frame = f"data: {json.dumps(data)}\n\n" if data else ""
                kind = "recv-raw" if frame else "recv-eof"
            exchange.lines.append({"t_ms": line["t_ms"], "dir": kind, "raw": frame})


def _is_frame(line: Line) -> bool:
    return line["dir"] == "recv-raw" and str(line["raw"]).startswith("data:")


class Replay:
    """Serves a recording: in its order, and with its times in proportion.

    Where a stop was recorded, the stream waits for one. A session that the bridge goes on in by
    itself is in no recording, and is not found.

    Attributes:
        sent: the bodies of the streams that were asked for.
        stops: the bodies of the stops.
        at_stop: set while a stream waits for a stop.
        before_stop: text that it had sent by then.
    """

    def __init__(self, recording: Recording, scale: float) -> None:
        self._scale = scale
        self._left = list(recording.exchanges)
        self._answers = list(recording.answers)
        self._stop_came = asyncio.Event()
        self.sent: list[Line] = []
        self.stops: list[Line] = []
        self.at_stop = asyncio.Event()
        self.before_stop = ""
        self.app = Starlette(
            routes=[
                Route("/stream", self._stream, methods=["POST"]),
                Route("/stop", self._stop, methods=["POST"]),
            ]
        )

    async def _stream(self, request: Request) -> Response:
        self.sent.append(await request.json())
        if "~" in str(self.sent[-1]["session_id"]):
            return Response(status_code=404)
        exchange = self._left.pop(0)
        self._stop_came.clear()
        self.at_stop.clear()
        return StreamingResponse(self._frames(exchange), media_type="text/event-stream")

    async def _frames(self, exchange: Exchange) -> AsyncIterator[bytes]:
        before = exchange.lines[0]["t_ms"]
        text, waited = "", False
        for line in exchange.lines[1:]:
            await asyncio.sleep(max(0, line["t_ms"] - before) / 1000 * self._scale)
            before = line["t_ms"]
            if line["dir"] == "send" and not waited:
                waited, self.before_stop = True, text
                self.at_stop.set()
                await self._stop_came.wait()
            elif line["dir"] == "recv-raw":
                if '"TEXT_MESSAGE_CONTENT"' in line["raw"]:
                    text += json.loads(line["raw"][5:])["delta"]
                yield line["raw"].encode()

    async def _stop(self, request: Request) -> Response:
        self.stops.append(await request.json())
        answer = self._answers.pop(0) if self._answers else {"raw": '{"status":"error"}'}
        self._stop_came.set()
        return JSONResponse(json.loads(answer["raw"]))
