"""Benches whose agent is a NexAU server's."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Sequence
from typing import Any

from starlette.applications import Starlette
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from agui_bridge_nexau import NexauAdapter
from tests.adapters.nexau.simulator import Nexau
from tests.support.agents import Bench
from tests.support.server import serve


class NexauBench(Bench):
    """A bench whose agent is a server's.

    Attributes:
        base: the server's address.
    """

    def __init__(self, adapter: NexauAdapter, base: str, **settings: Any) -> None:
        super().__init__(adapter, **settings)
        self.base = base


@contextlib.asynccontextmanager
async def bench_of(server: Nexau, **options: Any) -> AsyncIterator[NexauBench]:
    """A bench whose agent is the server's."""
    settings = {k: options.pop(k) for k in ("on_run_end", "store", "lease_seconds") if k in options}
    async with serve(server.app, lifespan="off") as base:
        adapter = NexauAdapter(base, **{"drain_timeout": 5.0, **options})
        try:
            yield NexauBench(adapter, base, **settings)
        finally:
            server.go.set()
            await adapter.aclose()


FINISHED = '{"type":"RUN_STARTED"}', '{"type":"RUN_FINISHED"}'


@contextlib.asynccontextmanager
async def saying(*frames: str, **options: Any) -> AsyncIterator[Bench]:
    async with answering(frames, **options) as bench:
        yield bench


@contextlib.asynccontextmanager
async def answering(*replies: Sequence[str] | int, **options: Any) -> AsyncIterator[Bench]:
    """A bench whose server gives one reply after the other, the last one again and again.

    A reply is the frames of a stream, which ends after them, or a status.
    """
    left = list(replies)

    async def stream(_: Any) -> Response:
        reply = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(reply, int):
            return Response("secret", reply)
        body = "".join(f"data: {frame}\n\n" for frame in reply)
        return StreamingResponse(iter([body]), media_type="text/event-stream")

    app = Starlette(routes=[Route("/stream", stream, methods=["POST"])])
    async with serve(app, lifespan="off") as base:
        adapter = NexauAdapter(base)
        yield Bench(adapter, **options)
        await adapter.aclose()
