"""Serving a bridge by itself, with uvicorn, so that a shutdown ends the streams gracefully.

uvicorn runs the lifespan's shutdown only once every connection has closed. A stream would go on
until it is cut off, without its last event, so the bridge is drained as soon as a signal comes.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import math
import socket
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, Protocol

import uvicorn
from starlette.types import ASGIApp

from agui_bridge.engine.input.settings import Settings
from agui_bridge.errors import ConfigurationError
from agui_bridge.http.hosts import is_loopback, names_of_address
from agui_bridge.http.service import Authenticate
from agui_bridge.http.serving.access_log import keep_links_out
from agui_bridge.http.serving.last_requests import LastRequests
from agui_bridge.http.serving.listening import begin_no_more, listen, take_connections
from agui_bridge.protocol.argument_types import checked_arguments

__all__ = ["Served", "app_of", "serve"]

_STARTUP_FAILED = 3
_FLUSH_SECONDS = 5
_KEEP_ALIVE_SECONDS = 75
"""An idle connection outlives those of nginx and load balancers (60 s), which would else send a
request on one that is being closed, and may not send a POST again."""

_HANDSHAKE_SECONDS = 0.1
"""For which connections that the system has begun to make are waited for."""


class Served(Protocol):
    """The bridge, as its server sees it."""

    @property
    def settings(self) -> Settings:
        """The defaults of every agent."""
        ...

    @property
    def authenticate(self) -> Authenticate | None:
        """The hook that identifies the caller."""
        ...

    allowed_hosts: tuple[str, ...]
    """The hosts that requests may name."""

    def app(self, *, anonymous: bool = False) -> ASGIApp:
        """What to serve; with `anonymous` also where nobody says who asks."""
        ...

    async def check_store(self) -> None:
        """Raise what is wrong with the store."""
        ...

    async def drain(self) -> None:
        """Take no new runs, and end those that run."""
        ...


@checked_arguments("serve")
def serve(
    bridge: Served,
    host: str = "127.0.0.1",
    port: int = 8787,
    *,
    anonymous: bool = False,
    on_start: Callable[[int], None] | None = None,
    **options: Any,
) -> None:
    """Serve a bridge until SIGINT or SIGTERM, which let its streams end with their last event.

    Runs go on for `shutdown_grace` at most, then they are stopped. A second SIGINT ends at once.
    Heads of requests are bounded in size and time (docs/security.md), and at the end idle
    connections are kept for what is on its way, unless `http` names another protocol of uvicorn's.

    Args:
        bridge: the bridge.
        host: address to bind to. Without `authenticate` only a loopback address will do, unless
            `anonymous` is set; requests may name that address besides `allowed_hosts`.
        port: port to bind to; 0 takes a free one.
        anonymous: let everybody in who reaches the address, as the same principal.
        on_start: called with the port once requests are answered.
        **options: of `uvicorn.Config`; there is one process, and no reloading.

    Raises:
        ConfigurationError: anybody could reach the agents; the store's address is wrong; the
            port is in use or not allowed.
        StoreUnavailable: the store can't be reached.
        SchemaMismatch: the database is newer or older than this version.
    """
    # Where a socket that was opened elsewhere is bound, nobody knows here.
    app = app_of(bridge, host if options.get("fd") is None else "0.0.0.0", anonymous)
    asyncio.run(bridge.check_store())
    defaults = {"http": LastRequests, **_timeouts(bridge.settings)}
    config = uvicorn.Config(app, host=host, port=port, **{**defaults, **options})
    keep_links_out()
    # uvicorn would log why it can't bind, and exit by itself.
    elsewhere = any(options.get(name) is not None for name in ("uds", "fd"))
    sockets = None if elsewhere else listen(host, port)
    if sockets:
        port = sockets[0].getsockname()[1]
    server = _Server(config, bridge, on_start and functools.partial(on_start, port))
    with contextlib.suppress(KeyboardInterrupt):
        server.run(sockets)
    if not server.started:
        sys.exit(_STARTUP_FAILED)


def app_of(bridge: Served, host: str, anonymous: bool) -> ASGIApp:
    """What is served at an address.

    Args:
        bridge: the bridge.
        host: the address that is bound.
        anonymous: whether everybody is let in who reaches it.

    Raises:
        ConfigurationError: anybody could reach the agents; a package is missing for a page.
    """
    if bridge.authenticate is not None:
        return bridge.app()
    if not (anonymous or is_loopback(host)):
        raise ConfigurationError(
            f"Nothing says who asks, and on {host} others than this machine reach the agents: "
            "give the bridge authenticate=… (such as BearerTokens), bind to 127.0.0.1, or say "
            "anonymous=True: everybody who reaches it is the same principal then."
        )
    bridge.allowed_hosts = (*bridge.allowed_hosts, *names_of_address(host))
    return bridge.app(anonymous=True)


def _timeouts(settings: Settings) -> dict[str, int]:
    # Longer than draining takes, so that only what hangs is cut off.
    draining = settings.shutdown_grace + 2 * settings.cancel_grace + _FLUSH_SECONDS
    return {
        "timeout_graceful_shutdown": math.ceil(draining),
        "timeout_keep_alive": _KEEP_ALIVE_SECONDS,
    }


class _Server(uvicorn.Server):
    def __init__(
        self, config: uvicorn.Config, bridge: Served, on_start: Callable[[], None] | None
    ) -> None:
        super().__init__(config)
        self._bridge = bridge
        self._on_start = on_start
        self._loop: asyncio.AbstractEventLoop | None = None
        self._draining: asyncio.Task[None] | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        await super().startup(sockets)
        if self.started and self._on_start is not None:
            self._on_start()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        super().handle_exit(sig, frame)
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._drain)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        # Besides signals there are other ends, such as limit_max_requests.
        self._drain()
        # Who has connected and is about to send gets an answer; uvicorn would cut it off.
        if not self.force_exit:
            for each in sockets or ():
                begin_no_more(each)
            await asyncio.sleep(_HANDSHAKE_SECONDS)
        waiting = [connection for each in sockets or () for connection in take_connections(each)]
        for listening in (*self.servers, *(sockets or ())):
            listening.close()
        for connection in waiting:
            await asyncio.get_running_loop().connect_accepted_socket(
                self._protocol, connection, ssl=self.config.ssl
            )
        await super().shutdown(sockets)

    def _protocol(self) -> asyncio.Protocol:
        # uvicorn types the class as any protocol of asyncio's, which takes no arguments.
        protocol: asyncio.Protocol = self.config.http_protocol_class(  # type: ignore[call-arg]
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )
        return protocol

    def _drain(self) -> None:
        if self._draining is None:
            self._draining = asyncio.ensure_future(self._bridge.drain())
