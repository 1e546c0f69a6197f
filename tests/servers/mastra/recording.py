"""What a real Mastra server was asked and said, as a file, and a server made of it.

A recording is JSON: `server` has the versions of what said it, `exchanges` each request with the
bytes of its answer, in the pieces that the stream's own separators make. `ended` is false of an
answer that the asker left before its end.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any, Final

import httpx

from tests.support.mastra import FOLDER

__all__ = ["RECORDINGS", "Recorder", "Replay", "versions"]

RECORDINGS: Final = Path(__file__).parent.parent.parent / "golden" / "mastra"
_PACKAGES: Final = ("@mastra/core", "@mastra/hono", "@mastra/libsql", "@mastra/memory")
_SEPARATORS: Final = re.compile(r"(?<=\n\n)|(?<=\x1e)")
_RUN_IN_PATH: Final = re.compile(r"(?<=runId=)[^&]+|(?<=/runs/)[^/?]+")
_PIECE: Final = 97


def versions() -> dict[str, str]:
    """The versions of Mastra's packages that the server is built from."""
    wanted = json.loads((FOLDER / "package.json").read_text(encoding="utf-8"))["dependencies"]
    return {name: wanted[name] for name in _PACKAGES}


class Recorder(httpx.AsyncBaseTransport):
    """Passes requests on to a real server, and notes both sides.

    Attributes:
        exchanges: what was asked and said, in order.
    """

    def __init__(self) -> None:
        self._real = httpx.AsyncHTTPTransport()
        self.exchanges: list[dict[str, Any]] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        response = await self._real.handle_async_request(request)
        kind = response.headers.get("content-type", "")
        exchange: dict[str, Any] = {
            "method": request.method,
            "path": request.url.raw_path.decode(),
            "body": json.loads(request.content) if request.content else None,
            "status": response.status_code,
            "contentType": kind,
            "ended": False,
        }
        self.exchanges.append(exchange)
        return httpx.Response(
            response.status_code, headers={"content-type": kind}, stream=_Noted(response, exchange)
        )

    async def aclose(self) -> None:
        await self._real.aclose()

    def write(self, name: str) -> None:
        """Keep what was noted, without what tells of this machine."""
        kept = json.dumps({"server": versions(), "exchanges": self.exchanges}, indent=1)
        kept = kept.replace(str(FOLDER), "/srv/mastra")
        (RECORDINGS / f"{name}.json").write_text(kept + "\n", encoding="utf-8")


class _Noted(httpx.AsyncByteStream):
    def __init__(self, response: httpx.Response, exchange: dict[str, Any]) -> None:
        self._response, self._exchange, self._seen = response, exchange, b""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        assert isinstance(self._response.stream, httpx.AsyncByteStream)
        async for part in self._response.stream:
            self._seen += part
            yield part
        self._exchange["ended"] = True

    async def aclose(self) -> None:
        text = self._seen.decode()
        self._exchange["said"] = [part for part in _SEPARATORS.split(text) if part]
        await self._response.aclose()


class Replay(httpx.AsyncBaseTransport):
    """A server that says again what a recording has, and insists on being asked the same.

    Ids of runs are the asker's: they may differ, and come back as they were sent.

    Args:
        name: of the recording.
    """

    def __init__(self, name: str) -> None:
        kept = json.loads((RECORDINGS / f"{name}.json").read_text(encoding="utf-8"))
        self.server: dict[str, str] = kept["server"]
        self._left: list[dict[str, Any]] = kept["exchanges"]
        self._runs: dict[str, str] = {}

    @property
    def used_up(self) -> bool:
        """Whether everything has been asked for."""
        return not self._left

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        path = request.url.raw_path.decode()
        body = json.loads(request.content) if request.content else None
        assert self._left, f"one request too many: {request.method} {path} {body}"
        exchange = self._left.pop(0)
        self._note(_runs_of(exchange["path"], exchange["body"]), _runs_of(path, body))
        wanted = [exchange["method"], exchange["path"], exchange["body"]]
        assert [request.method, path, body] == json.loads(self._renamed(json.dumps(wanted)))
        said = self._renamed("".join(exchange["said"])).encode()
        headers = {"content-type": exchange["contentType"]}
        content = _in_pieces(said, ended=exchange["ended"])
        return httpx.Response(exchange["status"], headers=headers, content=content)

    def _note(self, recorded: list[str], asked: list[str]) -> None:
        for old, new in zip(recorded, asked, strict=True):
            self._runs.setdefault(old, new)

    def _renamed(self, text: str) -> str:
        for old, new in self._runs.items():
            text = text.replace(old, new)
        return text


def _runs_of(path: str, body: Mapping[str, Any] | None) -> list[str]:
    """The ids of runs that a request names."""
    named = [body["runId"]] if body and "runId" in body else []
    return [*_RUN_IN_PATH.findall(path), *named]


async def _in_pieces(content: bytes, *, ended: bool) -> AsyncIterator[bytes]:
    """The bytes in pieces that fall where they like; the last is the end, or is waited for."""
    for start in range(0, len(content), _PIECE):
        yield content[start : start + _PIECE]
    if not ended:
        await asyncio.Event().wait()
