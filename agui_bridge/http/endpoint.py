"""One route as an ASGI app, and how answers and errors look."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import json
import logging
import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, Final, Protocol

from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from agui_bridge.errors import CODES, ConfigurationError, Refused, StoreUnavailable
from agui_bridge.http.service import Service
from agui_bridge.protocol.threads.records import Json

# --- which hosts and origins may call ---
#
# A page of another site may have its visitor's browser send a request that changes something, with
# the cookies that belong to us. The browser says so in `Sec-Fetch-Site`, which no page can set:
# such a request is refused, whoever is let in.
#
# A bridge that asks for no credentials needs more. A page that a browser shows may send requests to
# a server on the same machine. Two things keep it out. The `Host` header names what the page
# believes to talk to: a name of its own that it had resolve to 127.0.0.1 (DNS rebinding) is none of
# the allowed hosts. The `Origin` header names the page: one from elsewhere is refused, also for the
# requests that need no preflight.
#
# Source: RFC 9110, Host; RFC 6454 and the Fetch standard, Origin; W3C, Fetch Metadata.

LOOPBACK_HOSTS: Final = ("localhost", "127.0.0.1", "[::1]")
"""The hosts that are allowed by default: names that no page from elsewhere can have."""

READING: Final = frozenset({"GET", "HEAD", "OPTIONS"})
"""The methods of requests that change nothing."""

_OURS: Final = frozenset({"same-origin", "none"})
"""What a browser says of a request that our own page makes, or a person; old ones say nothing."""

_TEST_SERVER: Final = "testserver"
"""What the test client of Starlette and FastAPI calls the app that it calls without a socket."""

_UNSPECIFIED: Final = frozenset({"", "0.0.0.0", "[::]"})
_HOST: Final = re.compile(r"(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(:[0-9]{1,5})?", re.ASCII)
_PORTS: Final = {"http": ":80", "https": ":443"}
_LONGEST_SHOWN: Final = 100


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches a server that is bound to this address."""
    name = _plain(host)
    if name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name.strip("[]")).is_loopback
    except ValueError:
        return False


def names_of_address(host: str) -> tuple[str, ...]:
    """The allowed hosts that a server's address brings along: itself.

    None for one that stands for all of the machine's (0.0.0.0): which names lead there only
    the operator knows.
    """
    return () if _plain(host) in _UNSPECIFIED else (_plain(host),)


class Guarded(Protocol):
    """The bridge, as far as it says who may call."""

    allowed_hosts: tuple[str, ...]
    cors_origins: tuple[str, ...]
    cors_origin_regex: str | None

    @property
    def authenticate(self) -> Callable[..., object] | None:
        """The hook that identifies the caller."""
        ...


def guard_of(bridge: Guarded, *, anonymous: bool) -> HostGuard:
    """The guard of a bridge: it looks at hosts where nobody authenticates, or some are named.

    Raises:
        ConfigurationError: nobody authenticates, and nobody said that it is meant.
    """
    if bridge.authenticate is None and not anonymous:
        raise ConfigurationError(
            "Nothing says who asks: give the bridge authenticate=… (such as BearerTokens), or "
            "say anonymous=True: everybody who reaches it is the same principal then."
        )
    any_host = bridge.authenticate is not None and bridge.allowed_hosts == LOOPBACK_HOSTS
    hosts = None if any_host else bridge.allowed_hosts
    return HostGuard(hosts, bridge.cors_origins, bridge.cors_origin_regex)


def comes_from_elsewhere(headers: Headers) -> bool:
    """Whether the browser says that another site's page made a request.

    Args:
        headers: the request's.
    """
    return not _OURS.issuperset(headers.getlist("sec-fetch-site"))


def cors_middleware(origins: Sequence[str], origin_regex: str | None) -> list[Middleware]:
    """What answers the preflights of allowed pages, without credentials, and lets them read."""
    if not (origins or origin_regex):
        return []
    return [
        Middleware(
            CORSMiddleware,
            allow_origins=origins,
            allow_origin_regex=origin_regex,
            allow_methods=["GET", "POST", "DELETE"],
            # Starlette answers with those that the preflight asks for.
            allow_headers=["*"],
            # How long a question can be answered is counted by this clock, and not by the page's.
            expose_headers=["Date", "Retry-After"],
        )
    ]


class HostGuard:
    """Refuses requests whose `Host` or `Origin` is not allowed.

    Args:
        hosts: names and addresses without a port; `.example.com` or `*.example.com` are the
            subdomains of example.com, `*` is every host. None: neither hosts nor origins are looked
            at, but where another site's page would change something.
        origins: origins whose pages may call besides those of the host itself; `*` is every one.
        origin_regex: the same as a pattern of the whole origin.

    Raises:
        ConfigurationError: one of them can never match.
    """

    def __init__(
        self,
        hosts: Sequence[str] | None = LOOPBACK_HOSTS,
        origins: Sequence[str] = (),
        origin_regex: str | None = None,
    ) -> None:
        self._any_host = hosts is None
        self._hosts = frozenset(map(_allowed_host, _several("allowed_hosts", hosts or ())))
        self._suffixes = tuple(host for host in self._hosts if host.startswith("."))
        self._origins = frozenset(map(_allowed_origin, _several("cors_origins", origins)))
        try:
            self._regex = re.compile(origin_regex) if origin_regex else None
        except re.error as error:
            raise ConfigurationError(f"cors_origin_regex is no pattern: {error}.") from None

    def check(
        self,
        headers: Headers,
        server: Sequence[object] | None = None,
        *,
        method: str = "GET",
    ) -> None:
        """Let a request pass.

        Args:
            headers: the request's.
            server: host and port of the ASGI scope. A server takes them from its socket, which has
                an address and no name, so that only a test client can be `testserver` there.
            method: the request's.

        Raises:
            Refused: FORBIDDEN, naming the header and the setting that would allow it.
        """
        if method not in READING and comes_from_elsewhere(headers):
            self._check_page(headers.getlist("origin"))
        if self._any_host:
            return
        found = headers.getlist("host")
        tested = server is not None and server[0] == _TEST_SERVER and found == [_TEST_SERVER]
        host = _TEST_SERVER if tested else self._check_host(found)
        self._check_origin(headers.getlist("origin"), host)

    def _check_host(self, found: list[str]) -> str:
        if "*" in self._hosts and len(found) == 1:
            return found[0]
        if len(found) != 1:
            raise Refused("FORBIDDEN", f"A request must have one Host header, not {len(found)}.")
        match = _HOST.fullmatch(found[0])
        name = match[1] if match else ""
        if name in self._hosts:
            return found[0]
        # Most name a host as it is written here, and only the others need to be brought to it.
        name = _plain(name) if name else ""
        if name not in self._hosts and not (name and name.endswith(self._suffixes)):
            raise Refused(
                "FORBIDDEN",
                f"Host {_shown(found[0])} is not allowed. If clients should reach this server "
                "under that name, add it to allowed_hosts (without the port), or have them "
                "authenticate.",
            )
        return found[0]

    def _check_origin(self, found: list[str], host: str) -> None:
        same = len(found) == 1 and _same_origin(found[0], host)
        if found and not same and not self._allows(found):
            raise _refused_origin(f"Origin {_shown(', '.join(found))} is not allowed.")

    def _check_page(self, found: list[str]) -> None:
        """Let a page of another site change something, if its origin is named."""
        if not self._allows(found):
            whose = f" of origin {_shown(', '.join(found))}" if found else ""
            raise _refused_origin(f"A page{whose} from another site sent this: nothing was done.")

    def _allows(self, found: list[str]) -> bool:
        """Whether the origins that a request names are one that may call."""
        if "*" in self._origins:
            return True
        if len(found) != 1:
            return False
        origin = found[0]
        matches = self._regex is not None and origin != "null" and self._regex.fullmatch(origin)
        return origin in self._origins or bool(matches)


def _refused_origin(why: str) -> Refused:
    return Refused(
        "FORBIDDEN", f"{why} If its pages should call this server, add it to cors_origins."
    )


def _same_origin(origin: str, host: str) -> bool:
    """Whether a page's origin is the host that it calls.

    Schemes are not compared: where a proxy ends TLS, the page's is https and ours is http.
    """
    scheme, separator, authority = origin.partition("://")
    default = _PORTS.get(scheme)
    if not separator or default is None:
        return False
    return authority.lower().removesuffix(default) == host.lower().removesuffix(default)


def _plain(host: str) -> str:
    """A host in one spelling: lower case, IPv6 compressed and in brackets."""
    name = host.strip().lower().removesuffix(".")
    try:
        address = ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return name
    return f"[{address.compressed}]" if address.version == 6 else address.compressed


def _several(setting: str, values: Iterable[str]) -> tuple[str, ...]:
    """The values, which must not be one string: its letters would be taken for values."""
    if isinstance(values, str):
        raise ConfigurationError(f"{setting} is a list: write [{values!r}].")
    found = tuple(values)
    for value in found:
        if not isinstance(value, str):
            raise ConfigurationError(f"{setting} holds strings, not {value!r}.")
    return found


def _allowed_host(host: str) -> str:
    name = _plain(host)
    if name == "*":
        return name
    name = name.removeprefix("*")
    bare = name.removeprefix(".")
    match = _HOST.fullmatch(bare)
    if match is None or match[2] or (host.startswith("*") and not name.startswith(".")):
        raise ConfigurationError(
            f"allowed_hosts can't hold {host!r}: write a name or an address without scheme, port "
            "and path, such as agents.example, .agents.example for its subdomains, or *."
        )
    return name


def _allowed_origin(origin: str) -> str:
    scheme, separator, authority = origin.partition("://")
    fits = scheme and separator and authority and not re.search(r"[/?#@\sA-Z]", authority)
    if origin != "*" and not fits:
        raise ConfigurationError(
            f"cors_origins can't hold {origin!r}: write an origin as browsers do, such as "
            "https://app.example or http://localhost:3000, in lower case and without a path."
        )
    return origin


def _shown(value: str) -> str:
    return repr(value[:_LONGEST_SHOWN])


# --- the endpoint ---

logger: Final = logging.getLogger("agui_bridge")


class Endpoint:
    """One route as an ASGI app: what it refuses becomes the documented error body.

    Args:
        service: the bridge.
        handle: makes the response of a request.
        guard: refuses requests by their host and origin, before anything else.
    """

    def __init__(
        self,
        service: Service,
        handle: Callable[[Service, Request], Awaitable[Callable[..., Awaitable[None]]]],
        guard: HostGuard | None = None,
    ) -> None:
        self._service = service
        self._handle = handle
        self._guard = guard

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        # A stream lives long, so nothing but the response is kept of the request.
        response = await self._respond(Request(scope, receive, send))
        if response is not None:
            await response(scope, receive, send)

    async def _respond(self, request: Request) -> ASGIApp | None:
        """The response of a request; None when its client is gone."""
        try:
            with self._service.telemetry.incoming(request.headers):
                if self._guard is not None:
                    server = request.scope.get("server")
                    self._guard.check(request.headers, server, method=request.method)
                return await self._handle(self._service, request)
        except Refused as error:
            return self._refuse(error)
        except StoreUnavailable:
            return self._refuse(Refused("STORE_UNAVAILABLE", _text("STORE_UNAVAILABLE")))
        except ClientDisconnect:
            return None
        except Exception:
            logger.exception("%s %s failed", request.method, request.url.path)
            return self._refuse(Refused("INTERNAL_ERROR", _text("INTERNAL_ERROR")))

    def _refuse(self, error: Refused) -> Response:
        self._service.telemetry.refused(error.code)
        return error_response(error)


def json_response(value: Json, status: int = 200) -> Response:
    """A JSON response, in ASCII: half of a surrogate pair has no bytes in UTF-8."""
    return Response(_json(value), status, media_type="application/json")


def error_response(error: Refused) -> Response:
    """`{"error": {"code", "message", "details"?}, "message"}` with the code's status.

    The message stands outside too: clients of SuperAgent look for a text there, or in `error`.
    """
    body: dict[str, Any] = {"code": error.code, "message": error.message}
    if error.details is not None:
        body["details"] = error.details
    content: dict[str, Json] = {"error": body, "message": error.message}
    if error.code == "REQUEST_TIMEOUT":
        return UnreadBodyResponse(_json(content), error.status)
    response = json_response(content, error.status)
    if error.code == "UNAUTHENTICATED":
        response.headers["WWW-Authenticate"] = "Bearer"
    return response


def _json(value: Json) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _text(code: str) -> str:
    entry = CODES[code]
    return f"{entry.cause} {entry.remedy}"


_LINGER: Final = 1.0
"""Seconds for which what still comes is thrown away."""


class UnreadBodyResponse(Response):
    """A JSON answer that reaches a client which is still sending, the last on its connection.

    A server that closes a connection on which bytes still arrive resets it, and the client may lose
    the answer that it has not read yet. So the answer goes out whole, and what still comes is
    thrown away for a moment: the client reads the answer, and closes the connection itself.

    Args:
        content: the JSON.
        status: the status.
    """

    media_type = "application/json"

    def __init__(self, content: bytes, status: int) -> None:
        super().__init__(content, status, {"Connection": "close"})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the answer, then read on for a moment; the response ends after that."""
        await send({
            "type": "http.response.start", "status": self.status_code, "headers": self.raw_headers
        })  # fmt: skip
        await send({"type": "http.response.body", "body": self.body, "more_body": True})
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LINGER):
                # A disconnect has no `more_body` either.
                while (await receive()).get("more_body", False):
                    pass
        await send({"type": "http.response.body", "body": b"", "more_body": False})
