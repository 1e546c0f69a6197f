"""A real uvicorn around an ASGI app, and a client that keeps what it was sent, byte by byte."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any, Literal

import httpx
import uvicorn
from starlette.types import ASGIApp

from agui_bridge.http.request_heads import BoundedRequests
from agui_bridge.protocol.wire.sse import Decoder
from tests.support.shapes import check_response
from tests.support.streams import check_stream
from tests.support.waiting import PATIENCE

__all__ = [
    "PATIENCE",
    "Streamed",
    "client",
    "open_stream",
    "open_stream_at",
    "post",
    "run_input",
    "serve",
]

Event = dict[str, Any]


@contextlib.asynccontextmanager
async def serve(app: ASGIApp, *, lifespan: Literal["on", "off"] = "on") -> AsyncIterator[str]:
    """Serve an app on a free port of 127.0.0.1; gives the base URL."""
    # Named as TCP: for others asyncio does not switch Nagle's algorithm off.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    config = uvicorn.Config(
        app,
        http=BoundedRequests,
        lifespan=lifespan,
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=5,
        # As `serve` has it. A client that keeps connections as long as uvicorn does by itself
        # sends now and then on one that is being closed.
        timeout_keep_alive=75,
    )
    server = uvicorn.Server(config)
    # The parts of `serve`, which besides takes the process's signals and wakes all the time.
    config.load()
    server.lifespan = config.lifespan_class(config)
    try:
        async with asyncio.timeout(PATIENCE):
            await server.startup(sockets=[listener])
        assert server.started, "the server did not start"
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        async with asyncio.timeout(PATIENCE):
            await _shut_down(server, listener)
        listener.close()


async def _shut_down(server: uvicorn.Server, listener: socket.socket) -> None:
    """As uvicorn does, which sleeps for 0.1 s even when no client is left."""
    # What clients have closed is noticed within a few turns.
    for _ in range(20):
        await asyncio.sleep(0.001 if server.server_state.connections else 0)
    if server.server_state.connections or server.server_state.tasks:
        await server.shutdown(sockets=[listener])
        return
    for listening in server.servers:
        listening.close()
        await listening.wait_closed()
    await server.lifespan.shutdown()


def client(base: str) -> httpx.AsyncClient:
    """A client that keeps no connection longer than the test, and knows what may be answered."""
    return httpx.AsyncClient(
        base_url=base,
        timeout=PATIENCE,
        verify=False,
        trust_env=False,
        event_hooks={"response": [check_response]},
    )


def run_input(
    text: str | None = "hello",
    *,
    thread: str = "t",
    run: str = "r",
    version: str | None = "1.0",
    **members: Any,
) -> dict[str, Any]:
    """A RunAgentInput with one user message (or none)."""
    messages = [] if text is None else [{"id": f"u-{text}", "role": "user", "content": text}]
    body = {"threadId": thread, "runId": run, "messages": messages, "tools": [], "context": []}
    if version is not None:
        body["protocolVersion"] = version
    return {**body, "forwardedProps": {}, **members}


@dataclass
class Streamed:
    """A stream while it is read, or what was read of it.

    Attributes:
        raw: every byte of the body so far.
        events: the events in it.
    """

    response: httpx.Response
    raw: bytearray = field(default_factory=bytearray)
    events: list[Event] = field(default_factory=list)
    _decoder: Decoder = field(default_factory=Decoder)
    _chunks: AsyncIterator[bytes] | None = None

    async def step(self) -> bool:
        """Read what comes next; False at the end of the body."""
        if self._chunks is None:
            self._chunks = self.response.aiter_raw()
        async with asyncio.timeout(PATIENCE):
            chunk = await anext(self._chunks, None)
        if chunk is None:
            return False
        self.raw += chunk
        self.events += [json.loads(frame.data) for frame in self._decoder.feed(chunk)]
        return True

    async def until(self, kind: str, count: int = 1) -> Event:
        """Read until there are `count` events of a type; gives the last of them."""
        while len(found := [e for e in self.events if e["type"] == kind]) < count:
            assert await self.step(), f"the stream ended without {kind}: {self.kinds}"
        return found[count - 1]

    async def rest(self) -> list[Event]:
        """Read to the end, which must be a valid one; gives all events."""
        while await self.step():
            pass
        assert not self._decoder.close(), "the stream broke off within a frame"
        check_stream(self.events, self.kinds[-2:] == ["RUN_FINISHED", "RUN_ERROR"])
        return self.events

    @property
    def kinds(self) -> list[str]:
        """The types of the events."""
        return [event["type"] for event in self.events]


@contextlib.asynccontextmanager
async def open_stream(
    base: str, agent: str = "agent", *, prefix: str = "", **body: Any
) -> AsyncIterator[Streamed]:
    """Begin a run; leaving the block closes the connection, whatever is still to come."""
    async with open_stream_at(base, f"{prefix}/agents/{agent}", body) as stream:
        yield stream


@contextlib.asynccontextmanager
async def open_stream_at(
    base: str, path: str, body: Any = None, **request: Any
) -> AsyncIterator[Streamed]:
    """The same at any path that answers with a stream; it is read where there is no body."""
    method = "GET" if body is None else "POST"
    async with (
        client(base) as session,
        session.stream(method, path, json=body, **request) as response,
    ):
        assert response.status_code == 200, (await response.aread()).decode()
        yield Streamed(response)


async def post(base: str, agent: str = "agent", *, prefix: str = "", **body: Any) -> Streamed:
    """Carry out a run and read its stream to the end."""
    async with open_stream(base, agent, prefix=prefix, **body) as stream:
        await stream.rest()
    return stream
