"""What a real peer was asked and said, as a file, and an endpoint made of it."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

__all__ = ["RECORDINGS", "Endpoint", "Recorder", "Replay"]

RECORDINGS: Final = Path(__file__).parents[2] / "golden" / "peers"
_EVENTS: Final = "text/event-stream"
_READ: Final = frozenset({"TOOL_CALL_START", "CUSTOM"})
"""Events whose `rawEvent` is read; ag-ui-langgraph sends much with all of them, and in RAW events,
of which only the signature is kept."""


class Endpoint:
    """Takes runs at /agent."""

    def app(self) -> Starlette:
        """As an application."""
        return Starlette(routes=[Route("/agent", self._take, methods=["POST"])])

    async def _take(self, request: Request) -> Response:
        said = await self.answer(await request.json())
        return Response(said, media_type=_EVENTS)

    async def answer(self, body: dict[str, Any]) -> str:
        """The stream that answers an input."""
        raise NotImplementedError


class Recorder(Endpoint):
    """Passes inputs on to a real peer, and notes both sides."""

    def __init__(self, url: str) -> None:
        self._url = url
        self.exchanges: list[dict[str, Any]] = []

    async def answer(self, body: dict[str, Any]) -> str:
        async with httpx.AsyncClient(trust_env=False, timeout=60) as client:
            answer = await client.post(self._url, json=body, headers={"Accept": _EVENTS})
        answer.raise_for_status()
        said = [_read(line) for line in answer.text.splitlines() if line.startswith("data: ")]
        self.exchanges.append({"body": body, "said": said})
        return answer.text

    def write(self, name: str, measured: str, executed: list[str]) -> None:
        """Keep what was noted, with who said it and what was executed."""
        kept = {"measured": measured, "executed": executed, "exchanges": self.exchanges}
        (RECORDINGS / f"{name}.json").write_text(json.dumps(kept, indent=1) + "\n")


class Replay(Endpoint):
    """Says again what a recording has, and insists on being asked the same but for ids.

    Attributes:
        measured: what said it.
        executed: to whom the peer's tool wrote.
        left: how much has not been asked for.
    """

    def __init__(self, name: str) -> None:
        kept = json.loads((RECORDINGS / f"{name}.json").read_text(encoding="utf-8"))
        self.measured: str = kept["measured"]
        self.executed: list[str] = kept["executed"]
        self._exchanges: list[dict[str, Any]] = kept["exchanges"]
        self.faults: list[str] = []

    @property
    def left(self) -> int:
        return len(self._exchanges)

    async def answer(self, body: dict[str, Any]) -> str:
        exchange = self._exchanges.pop(0)
        asked, wanted = _nameless(body), _nameless(exchange["body"])
        if asked != wanted:
            self.faults.append(f"asked {asked}, not {wanted}")
        return "".join(f"data: {json.dumps(_open(event))}\n\n" for event in exchange["said"])


def _read(line: str) -> dict[str, Any]:
    event: dict[str, Any] = json.loads(line.removeprefix("data: "))
    if event["type"] == "RAW":
        event["event"] = {}
    elif event["type"] not in _READ:
        event.pop("rawEvent", None)
    elif isinstance(data := (event.get("rawEvent") or {}).get("data"), dict):
        event["rawEvent"] = {
            "event": event["rawEvent"]["event"],
            "data": {key: data[key] for key in data if key == "chunk"},
        }
    return event


def _open(event: dict[str, Any]) -> dict[str, Any]:
    """An event whose questions, if it has some that expire, are open for an hour from now."""
    until = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    outcome = event.get("outcome") or {}
    interrupts = [
        {**each, "expiresAt": until} if "expiresAt" in each else each
        for each in outcome.get("interrupts", ())
    ]
    return {**event, "outcome": {**outcome, "interrupts": interrupts}} if interrupts else event


def _nameless(body: dict[str, Any]) -> dict[str, Any]:
    """An input without what is new each time: the ids of the run and of messages made here."""
    messages = [
        {key: message[key] for key in message if key not in ("id", "metadata")}
        for message in body["messages"]
    ]
    return {**body, "runId": "", "messages": messages}
