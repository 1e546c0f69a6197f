"""A server that answers as the original SuperAgent does, from tests/golden/superagent."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

__all__ = ["RECORDED", "OriginalServer"]

RECORDED = Path(__file__).parents[2] / "golden" / "superagent"


class OriginalServer:
    """The chat API of the original: a session keeps one question, which an answer takes away.

    Attributes:
        pending: the sessions that wait for an answer.
        executed: the inputs that were confirmed, once for each time that the agent acted.
        inputs: the bodies of all answers.
        reply: the file that the next answer is answered with, None for the right one.
        cut: how many bytes of a reply to an answer come before the connection breaks.
    """

    def __init__(self) -> None:
        self.pending: set[str] = set()
        self.executed: list[Any] = []
        self.inputs: list[dict[str, Any]] = []
        self.reply: bytes | Response | None = None
        self.cut: int | None = None
        self.app = Starlette(
            routes=[
                Route("/api/v1/chat/stream", self._stream, methods=["POST"]),
                Route("/api/v1/chat/resume", self._resume, methods=["POST"]),
            ]
        )

    async def _stream(self, request: Request) -> Response:
        body = await request.json()
        if body["agent_id"] != "approval-agent":
            return _error(404, f"agent not found: {body['agent_id']}")
        mode = "a2ui" if request.headers.get("x-a2ui") == "true" else "tokens"
        case = body["message"]
        if case == "interrupt":
            self.pending.add(body["session_id"])
        return self._streamed((RECORDED / f"{mode}-{case}.sse").read_bytes(), None)

    async def _resume(self, request: Request) -> Response:
        body = await request.json()
        self.inputs.append(body["input"])
        if body["session_id"] not in self.pending:
            return _error(409, f"no pending interrupt for session: {body['session_id']}")
        if isinstance(self.reply, Response) and self.reply.status_code == 503:
            return self.reply
        self.pending.remove(body["session_id"])
        yes = body["input"].get("confirm") is True
        if yes:
            self.executed.append(body["input"])
        if isinstance(self.reply, Response):
            return self.reply
        right = (RECORDED / f"tokens-{'approved' if yes else 'declined'}.sse").read_bytes()
        return self._streamed(self.reply or right, self.cut)

    def _streamed(self, body: bytes, cut: int | None) -> Response:
        async def chunks() -> AsyncIterator[bytes]:
            yield body[:cut]
            if cut is not None:
                raise ConnectionResetError("the server is gone")

        return StreamingResponse(chunks(), media_type="text/event-stream")


def _error(status: int, text: str) -> Response:
    return JSONResponse({"error": text}, status)
