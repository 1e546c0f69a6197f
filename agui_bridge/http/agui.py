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
    first = await pipe.read()
    return EventStreamResponse(pipe, first, agent.settings)


class EventStreamResponse:
    """Sends what a pipe gives, until its end or the client's.

    Args:
        pipe: where the run writes.
        first: what was read from it already.
        settings: keep-alive and stall times.
    """

    def __init__(self, pipe: Pipe, first: bytes, settings: Settings) -> None:
        self._pipe = pipe
        self._first = first
        self._settings = settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Stream; a client that goes away, or takes nothing for too long, detaches the pipe."""
        watcher = asyncio.ensure_future(self._watch(receive))
        writer = asyncio.ensure_future(self._write(send))
        try:
            await asyncio.wait({watcher, writer}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._pipe.detach()
            watcher.cancel()
            writer.cancel()
            await asyncio.gather(watcher, writer, return_exceptions=True)

    async def _watch(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass

    async def _write(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
        chunk = self._first
        while chunk:
            async with asyncio.timeout(self._settings.stall_timeout):
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
            chunk = await self._next()
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _next(self) -> bytes:
        try:
            async with asyncio.timeout(self._settings.keep_alive):
                return await self._pipe.read()
        except TimeoutError:
            return KEEP_ALIVE
