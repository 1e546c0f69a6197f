"""A stop reaches the remote agent, which goes on without a reader until it is told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from agui_bridge import Bridge
from agui_bridge.testing import talk
from agui_bridge_superagent import SuperAgentAdapter
from tests.support.agents import eventually
from tests.support.server import serve

pytestmark = pytest.mark.anyio


class Worker:
    """A server whose agent takes steps until it is told to end.

    Attributes:
        aborts: the bodies of what told it.
        steps: how many it has taken.
        working: whether it still does.
    """

    def __init__(self, *, aborts: bool) -> None:
        self.aborts: list[Any] = []
        self.steps = 0
        self._told = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        routes = [Route("/api/v1/chat/stream", self._stream, methods=["POST"])]
        if aborts:
            routes.append(Route("/api/v1/chat/abort", self._abort, methods=["POST"]))
        self.app = Starlette(routes=routes)

    @property
    def working(self) -> bool:
        return any(not task.done() for task in self._tasks)

    def end(self) -> None:
        self._told.set()

    async def _stream(self, request: Request) -> Response:
        self._tasks.add(asyncio.create_task(self._work()))

        async def chunks() -> AsyncIterator[bytes]:
            yield b"event: message\ndata: Working.\n\n"
            await self._told.wait()

        return StreamingResponse(chunks(), media_type="text/event-stream")

    async def _work(self) -> None:
        while not self._told.is_set():
            self.steps += 1
            await asyncio.sleep(0.01)

    async def _abort(self, request: Request) -> Response:
        self.aborts.append(await request.json())
        self._told.set()
        return JSONResponse({"status": "ok"})


@pytest.mark.parametrize("force", [False, True], ids=["gently", "by force"])
async def test_a_stop_ends_the_remote_agents_work(force: bool) -> None:
    server = Worker(aborts=True)
    bridge = Bridge("memory:")
    async with serve(server.app) as url:
        bridge.add("remote", SuperAgentAdapter(url, "worker"))
        async with talk(bridge, "remote") as one:
            stream = one.begin("go")
            assert await stream.until("TEXT_MESSAGE_CONTENT")
            assert server.working
            await one.stop(force=force)
            assert (await stream.rest()).ending == "cancelled"
            await eventually(lambda: not server.working)
        assert server.aborts == [{"agent_id": "worker", "session_id": "test"}]


async def test_a_server_without_that_route_is_let_be() -> None:
    server = Worker(aborts=False)
    bridge = Bridge("memory:")
    async with serve(server.app) as url:
        bridge.add("remote", SuperAgentAdapter(url, "worker"))
        async with talk(bridge, "remote") as one:
            stream = one.begin("go")
            assert await stream.until("TEXT_MESSAGE_CONTENT")
            await one.stop()
            assert (await stream.rest()).ending == "cancelled"
        server.end()
