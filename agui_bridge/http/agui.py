"""The AG-UI endpoint: `POST /agents/{agent}`, a run as a stream of server-sent events.

Source: AG-UI 1.0, http-sse; docs/contract.md, "What goes on the wire".
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from agui_bridge.engine.call import Call
from agui_bridge.engine.pipe import Pipe
from agui_bridge.engine.settings import Settings
from agui_bridge.http.service import Service, agent_of, principal_of, read_json
from agui_bridge.protocol.dialects import parse_input
from agui_bridge.protocol.sse import KEEP_ALIVE

__all__ = ["EventStreamResponse", "run_agent"]

_HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-cache"),
    (b"connection", b"keep-alive"),
    # Proxies such as nginx would hold the stream back.
    (b"x-accel-buffering", b"no"),
]


async def run_agent(
    service: Service, request: Request
) -> Callable[[Scope, Receive, Send], Awaitable[None]]:
    """Begin a run and answer with its stream."""
    principal = await principal_of(service, request)
    agent = agent_of(service, request)
    parsed = parse_input(await read_json(service, request))
    engine = await service.open()
    call = Call(agent, principal, parsed, on_disconnect=agent.settings.on_disconnect)
    pipe, _ = engine.submit(call)
    # The first piece tells whether there is a stream at all, or an HTTP error.
    try:
        first = await pipe.read()
    except BaseException:
        # Also when the host gives up on the request: nobody will read this stream.
        pipe.detach()
        raise
    return EventStreamResponse(pipe, first, agent.settings)


class EventStreamResponse:
    """Sends what a pipe gives, until its end or the client's.

    Time is watched by one timer for the whole stream, not by a timeout for every event.

    Args:
        pipe: where the run writes.
        first: what was read from it already.
        settings: keep-alive and stall times.
    """

    def __init__(self, pipe: Pipe, first: bytes, settings: Settings) -> None:
        self._pipe = pipe
        self._first = first
        self._settings = settings
        self._sending = False
        self._since = 0.0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Stream; a client that goes away, or takes nothing for too long, detaches the pipe."""
        loop = asyncio.get_running_loop()
        watcher = loop.create_task(self._watch(receive))
        writer = loop.create_task(self._write(send, loop.time))
        timer = loop.create_task(self._time(loop.time))
        try:
            await asyncio.wait({watcher, writer, timer}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._pipe.detach()
            for task in (watcher, writer, timer):
                task.cancel()
            await asyncio.gather(watcher, writer, timer, return_exceptions=True)

    async def _watch(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass

    async def _write(self, send: Send, now: Callable[[], float]) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
        chunk = self._first
        while chunk:
            self._sending, self._since = True, now()
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
            self._sending, self._since = False, now()
            chunk = await self._pipe.read()
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _time(self, now: Callable[[], float]) -> None:
        """Keep a silent stream alive; return once the client has taken nothing for too long."""
        self._since = now()
        while True:
            stall = self._settings.stall_timeout
            left = self._since + (stall if self._sending else self._settings.keep_alive) - now()
            if left > 0:
                # No longer than a send that begins meanwhile may take.
                await asyncio.sleep(min(left, stall))
            elif self._sending:
                return
            else:
                self._pipe.write(KEEP_ALIVE)
                self._since = now()
