"""Serving a bridge by itself, with uvicorn, so that a shutdown ends the streams gracefully.

uvicorn runs the lifespan's shutdown only once every connection has closed. A stream would go on
until it is cut off, without its last event, so the bridge is drained as soon as a signal comes.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import socket
import sys
from types import FrameType
from typing import Any, Protocol

import uvicorn
from starlette.types import ASGIApp

from agui_bridge.engine.settings import Settings

__all__ = ["Served", "serve"]

_STARTUP_FAILED = 3
_FLUSH_SECONDS = 5


class Served(Protocol):
    """The bridge, as its server sees it."""

    @property
    def settings(self) -> Settings:
        """The defaults of every agent."""
        ...

    def app(self) -> ASGIApp:
        """What to serve."""
        ...

    async def check_store(self) -> None:
        """Raise what is wrong with the store."""
        ...

    async def drain(self) -> None:
        """Take no new runs, and end those that run."""
        ...


def serve(bridge: Served, host: str = "127.0.0.1", port: int = 8787, **options: Any) -> None:
    """Serve a bridge until SIGINT or SIGTERM, which let its streams end with their last event.

    Runs go on for `shutdown_grace` at most, then they are stopped. A second SIGINT ends at once.

    Args:
        bridge: the bridge.
        host: address to bind to.
        port: port to bind to.
        **options: of `uvicorn.Config`; there is one process, and no reloading.

    Raises:
        ConfigurationError: the store's address is wrong.
        StoreUnavailable: the store can't be reached.
        SchemaMismatch: the database is newer or older than this version.
    """
    asyncio.run(bridge.check_store())
    config = uvicorn.Config(
        bridge.app(), host=host, port=port, **{**_timeout(bridge.settings), **options}
    )
    server = _Server(config, bridge)
    with contextlib.suppress(KeyboardInterrupt):
        server.run()
    if not server.started:
        sys.exit(_STARTUP_FAILED)


def _timeout(settings: Settings) -> dict[str, int]:
    """Longer than draining takes, so that only what hangs is cut off."""
    seconds = settings.shutdown_grace + 2 * settings.cancel_grace + _FLUSH_SECONDS
    return {"timeout_graceful_shutdown": math.ceil(seconds)}


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, bridge: Served) -> None:
        super().__init__(config)
        self._bridge = bridge
        self._loop: asyncio.AbstractEventLoop | None = None
        self._draining: asyncio.Task[None] | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        await super().startup(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        super().handle_exit(sig, frame)
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._drain)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        # Besides signals there are other ends, such as limit_max_requests.
        self._drain()
        await super().shutdown(sockets)

    def _drain(self) -> None:
        if self._draining is None:
            self._draining = asyncio.ensure_future(self._bridge.drain())
