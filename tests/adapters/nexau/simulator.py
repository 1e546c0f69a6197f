"""A small server that behaves like NexAU where a client can go wrong.

What it does is what recordings of the real one show: sessions are locked while they run, whoever
listens; a stop finds a run only after a while, and is lost in between; a stopped run ends as if it
had finished; a client that goes away stops nothing.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

__all__ = ["Nexau", "Run"]

Event = dict[str, Any]


@dataclass
class Run:
    """A run on the server.

    Attributes:
        body: of its request.
        headers: of its request.
        stopped: set by a stop that reached it.
        force: whether that was by force: nothing of what it says is kept then.
        over: set once it has ended, whoever listens.
        closed: whether its client went away before its end.
    """

    body: Event
    headers: dict[str, str]
    registered: bool = False
    stopped: asyncio.Event = field(default_factory=asyncio.Event)
    force: bool = False
    over: asyncio.Event = field(default_factory=asyncio.Event)
    closed: bool = False


class Nexau:
    """The server.

    Args:
        words: what the model says, one word after the other; it waits for `go` before the last.
        unregistered: how many stops find no running agent though it has begun.
        nulls: whether absent members are null.

    Attributes:
        runs: every run.
        stops: the body of every stop, and whether the session's stream was open by then.
        log: what happened, in order.
        go: lets the model say its last word.
        begin: lets runs begin.
        leaked: sessions that stay locked though nothing runs in them.
    """

    def __init__(
        self, words: Sequence[str] = ("one ", "two "), *, unregistered: int = 0, nulls: bool = False
    ) -> None:
        self._words = words
        self._unregistered = unregistered
        self._nulls = nulls
        self._locked: dict[tuple[str, str], Run] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self.runs: list[Run] = []
        self.stops: list[Event] = []
        self.log: list[str] = []
        self.go, self.begin = asyncio.Event(), asyncio.Event()
        self.begin.set()
        self.leaked: set[str] = set()
        self.history: dict[tuple[str, str], list[str]] = {}
        self.app = Starlette(
            routes=[
                Route("/stream", self._stream, methods=["POST"]),
                Route("/stop", self._stop, methods=["POST"]),
            ]
        )

    async def _stream(self, request: Request) -> Response:
        body = await request.json()
        key = (body["user_id"], body["session_id"])
        run = Run(body, dict(request.headers))
        self.runs.append(run)
        events: asyncio.Queue[Event | None] = asyncio.Queue()
        if key in self._locked or key[1] in self.leaked:
            self.log.append("locked")
            error = {"type": "TRANSPORT_ERROR", "timestamp": 1795224861}
            message = f"Agent agent_1 in session {key[1]} is already locked (holder: 1:2)"
            events.put_nowait({**error, "message": message})
            events.put_nowait(None)
        else:
            self._locked[key] = run
            task = asyncio.create_task(self._work(key, run, events))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return StreamingResponse(self._frames(run, events), media_type="text/event-stream")

    async def _frames(self, run: Run, events: asyncio.Queue[Event | None]) -> AsyncIterator[bytes]:
        try:
            while (event := await events.get()) is not None:
                if self._nulls:
                    event = {"raw_event": None, "metadata": None, **event}
                yield f"data: {json.dumps(event)}\n\n".encode()
        finally:
            if not run.over.is_set():
                run.closed = True
                self.log.append("client gone")

    async def _work(
        self, key: tuple[str, str], run: Run, events: asyncio.Queue[Event | None]
    ) -> None:
        history = self.history.setdefault(key, [])
        number = len(self.runs)
        try:
            await self.begin.wait()
            history += [m["content"][0]["text"] for m in run.body["messages"]]
            ids = {"thread_id": key[1], "run_id": f"run_{number}"}
            self.log.append("started")
            events.put_nowait({"type": "RUN_STARTED", **ids})
            run.registered = True
            said = await self._say(run, events, f"m{number}")
            if said:
                history.append(said)
            events.put_nowait({"type": "RUN_FINISHED", **ids, "result": said})
        finally:
            self.log.append("ended")
            del self._locked[key]
            run.over.set()
            events.put_nowait(None)

    async def _say(self, run: Run, events: asyncio.Queue[Event | None], message: str) -> str:
        said = ""
        events.put_nowait({"type": "TEXT_MESSAGE_START", "message_id": message})
        for word in self._words[:-1]:
            said += word
            content = {"type": "TEXT_MESSAGE_CONTENT", "message_id": message, "delta": word}
            events.put_nowait(content)
        ways = [asyncio.create_task(event.wait()) for event in (self.go, run.stopped)]
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        for way in ways:
            way.cancel()
        if run.stopped.is_set():
            # The message is left open, and nothing tells that it was stopped.
            return "" if run.force else said
        last = {"type": "TEXT_MESSAGE_CONTENT", "message_id": message, "delta": self._words[-1]}
        events.put_nowait(last)
        events.put_nowait({"type": "TEXT_MESSAGE_END", "message_id": message})
        return said + self._words[-1]

    async def _stop(self, request: Request) -> Response:
        body = await request.json()
        run = self._locked.get((body["user_id"], body["session_id"]))
        self.stops.append(body)
        self.log.append("stop")
        if run is None or not run.registered or self._unregistered > 0:
            self._unregistered -= 1
            error = (
                f"No running agent found for user_id={body['user_id']}, "
                f"session_id={body['session_id']}, agent_id=any"
            )
            return JSONResponse(
                {"status": "error", "stop_reason": None, "message_count": 0, "error": error}
            )
        run.force = body["force"]
        run.stopped.set()
        await run.over.wait()
        return JSONResponse(
            {
                "status": "success",
                "stop_reason": "USER_INTERRUPTED",
                "message_count": 3,
                "error": None,
            }
        )
