"""Serving a bridge by itself, with uvicorn, so that a shutdown ends the streams gracefully.

uvicorn runs the lifespan's shutdown only once every connection has closed. A stream would go on
until it is cut off, without its last event, so the bridge is drained as soon as a signal comes.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import errno
import functools
import logging
import math
import os
import re
import socket
import struct
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, Final, Protocol

import uvicorn
from starlette.types import ASGIApp

from agui_bridge.engine.input.settings import Settings
from agui_bridge.errors import ConfigurationError
from agui_bridge.http.endpoint import is_loopback, names_of_address
from agui_bridge.http.request_heads import BoundedRequests
from agui_bridge.http.service import Authenticate
from agui_bridge.protocol.argument_types import checked_arguments

__all__ = ["Served", "app_of", "serve"]

# --- the sockets of a server that ends: no connection is lost that a client believes to have ---
#
# The system makes connections by itself: a proxy may have sent a POST on one before anybody here
# has seen it. To close a listening socket resets those, and the POST may not be sent to another
# replica.

_BACKLOG: Final = 2048

_ATTACH_FILTER: Final = 26
"""Linux's SO_ATTACH_FILTER, which Python does not name."""

_NO_SYN: Final = (
    (0x30, 0, 0, 13),  # load the byte of TCP's flags
    (0x54, 0, 0, 0x12),  # of them SYN and ACK
    (0x15, 0, 1, 0x02),  # only SYN: a client begins
    (0x06, 0, 0, 0),  # drop it
    (0x06, 0, 0, 0xFFFFFFFF),  # pass what else comes
)
"""A program for the system's packet filter: code, two jumps, operand."""


def listen(host: str, port: int) -> list[socket.socket]:
    """Sockets on every address that a host name has here."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        raise ConfigurationError(_no_address(host)) from error
    sockets: list[socket.socket] = []
    failure: OSError | None = None
    for family, address in dict.fromkeys((info[0], info[4]) for info in found):
        try:
            # Of a free port that was taken for the first address the others take the same.
            free = sockets[0].getsockname()[1] if sockets else port
            sockets.append(_listening(family, (address[0], free, *address[2:])))
        except OSError as error:
            if error.errno in (errno.EADDRINUSE, errno.EACCES):
                for listening in sockets:
                    listening.close()
                raise ConfigurationError(_taken(error, host, port)) from error
            failure = error
    if not sockets:
        raise ConfigurationError(_no_address(host)) from failure
    return sockets


def _listening(family: int, address: tuple[Any, ...]) -> socket.socket:
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        if os.name == "posix":
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listening.bind(address)
        # Now, so that of two processes the second learns it here.
        listening.listen(_BACKLOG)
    except OSError:
        listening.close()
        raise
    return listening


def begin_no_more(listening: socket.socket) -> None:
    """Let no client begin a connection, while those that are being made still come about.

    Between the last accept and the close there is always a moment, and under load somebody connects
    in it. Who is held back here tries again after a second, by itself, and is then refused: what a
    proxy may send to another replica. Only on Linux; elsewhere that moment remains.
    """
    if sys.platform != "linux":
        return
    program = b"".join(struct.pack("HBBI", *step) for step in _NO_SYN)
    memory = ctypes.create_string_buffer(program)
    filters = struct.pack("HP", len(_NO_SYN), ctypes.addressof(memory))
    # A sandbox may forbid it: then it is as elsewhere.
    with contextlib.suppress(OSError):
        listening.setsockopt(socket.SOL_SOCKET, _ATTACH_FILTER, filters)


def take_connections(listening: socket.socket) -> list[socket.socket]:
    """Connections that the system has made and the loop has not seen: closing would reset them."""
    accepted = []
    with contextlib.suppress(OSError):
        listening.setblocking(False)
        while True:
            connection, _ = listening.accept()
            connection.setblocking(False)
            accepted.append(connection)
    return accepted


def _no_address(host: str) -> str:
    return (
        f"{host!r} is no address of this machine.\nUse 127.0.0.1, or 0.0.0.0 for all that it has."
    )


def _taken(error: OSError, host: str, port: int) -> str:
    if error.errno == errno.EACCES:
        return (
            f"Port {port} on {host} is not allowed to this user.\n"
            "Choose another one above 1023, such as --port 8787."
        )
    return (
        f"Port {port} on {host} is in use by another process.\n"
        "End that one, or choose another port, such as --port 0 (any that is free)."
    )


LAST_REQUEST_SECONDS: Final = 2
"""For which an idle connection is kept once its server ends. A proxy on a busy machine was seen to
take 0.12 s from its connection to the request on it."""


class LastRequests(BoundedRequests):
    """Requests within bounds, which are answered to the last one when the server ends.

    A client's request and the server's close may cross on the way: the client then knows no more
    than that its connection broke, and a proxy may not send a POST again. So idle connections are
    kept for a while, and what still comes on them is answered with `Connection: close`, after which
    a client sends nothing more.
    """

    last_request_seconds: float = LAST_REQUEST_SECONDS
    _ending = False

    def shutdown(self) -> None:
        """Close as soon as the client knows of it, or has nothing to say."""
        self._ending = True
        if not self._is_answering():
            self._close_when_idle()
        elif not self.cycle.response_started:
            # A head that is sent already can't say so: then one more may come.
            self._say_last()

    def data_received(self, data: bytes) -> None:
        """Take what came; a connection that is still idle afterwards is closed in time."""
        super().data_received(data)
        if self._ending:
            self._close_when_idle()

    def on_headers_complete(self) -> None:
        """A request that came while the server ends is the last one on its connection."""
        super().on_headers_complete()
        if self._ending and self.cycle is not None:
            self._say_last()

    def on_response_complete(self) -> None:
        """After an answer whose head was sent before the end, one more request may come."""
        super().on_response_complete()
        if self._ending:
            self._close_when_idle()

    def _say_last(self) -> None:
        # A header besides: older uvicorns close without a word where `keep_alive` is false.
        self.cycle.keep_alive = False
        self.cycle.default_headers = [*self.cycle.default_headers, (b"connection", b"close")]

    def _close_when_idle(self) -> None:
        # What has begun to come is bounded by the time that a head has.
        if self._is_answering() or self._in_message or self._beside_body:
            return
        self._unset_keepalive_if_required()
        if not self.transport.is_closing():
            # A loop that stood still reads first what came meanwhile, which ends this timer.
            self.timeout_keep_alive_task = self.loop.call_later(
                self.last_request_seconds, self.timeout_keep_alive_handler
            )


# --- the server ---

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


_ACCESS: Final = "uvicorn.access"

_LINK: Final = re.compile(r"(/d/)[^/?\s]+")
"""A link in a path (`http.inbox.routes.BY_LINK`), also below where the bridge is mounted."""


class _LinkFilter(logging.Filter):
    """Shows of a link where it stands; refuses no record."""

    def filter(self, record: logging.LogRecord) -> bool:
        if isinstance(record.args, tuple):
            record.args = tuple(
                _LINK.sub(r"\1…", arg) if isinstance(arg, str) else arg for arg in record.args
            )
        return True


_FILTER: Final = _LinkFilter()


def keep_links_out() -> None:
    """Mask links in uvicorn's access log, from now on, whatever writes it."""
    logging.getLogger(_ACCESS).addFilter(_FILTER)
