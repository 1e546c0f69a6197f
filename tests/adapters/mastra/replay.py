"""A Mastra server made of recordings of a real one, in order, which checks what it is asked."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import httpx

__all__ = ["Server", "recorded"]

RECORDINGS = Path(__file__).parent / "recordings"
_TYPES = {".sse": "text/event-stream", ".json": "application/json"}

Answer = Callable[[httpx.Request], httpx.Response]


class Server:
    """Gives one answer after the other.

    Attributes:
        requests: path and body of what was asked.
    """

    def __init__(self, *answers: str | Answer) -> None:
        self._answers = [recorded(a) if isinstance(a, str) else a for a in answers]
        self.requests: list[tuple[str, Any]] = []
        self.headers: list[httpx.Headers] = []

    def client(self) -> httpx.AsyncClient:
        """A client that reaches nothing else."""
        return httpx.AsyncClient(transport=httpx.MockTransport(self._answer))

    @property
    def used_up(self) -> bool:
        """Whether everything has been asked for."""
        return not self._answers

    def _answer(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content) if request.content else None
        self.requests.append((request.url.path, body))
        self.headers.append(request.headers)
        assert self._answers, f"one request too many: {request.url.path} {body}"
        return self._answers.pop(0)(request)


def recorded(name: str) -> Answer:
    """The answer of a recording, to the request that it was the answer to."""
    (file,) = [p for p in RECORDINGS.glob(f"{name}-*") if not p.name.endswith(".request.json")]
    asked = json.loads(file.with_name(f"{file.stem}.request.json").read_text())

    def answer(request: httpx.Request) -> httpx.Response:
        assert request.method == asked["method"]
        assert request.url.path == asked["path"].partition("?")[0]
        body = json.loads(request.content) if request.content else {}
        # Run ids are ours; what Mastra named itself must come back as it was.
        for member in ("toolCallId", "resumeData", "step", "inputData", "reason"):
            assert body.get(member) == (asked.get("body") or {}).get(member), member
        return httpx.Response(
            asked["status"],
            content=in_pieces(file.read_bytes()),
            headers={"content-type": _TYPES[file.suffix]},
        )

    return answer


async def in_pieces(content: bytes) -> AsyncIterator[bytes]:
    """The bytes in pieces that fall where they like."""
    size = 97
    for start in range(0, len(content), size):
        yield content[start : start + size]
