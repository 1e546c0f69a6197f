"""What every HTTP surface needs: the agents, the engine, who asks, and how errors look."""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
import math
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, Protocol

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from agui_bridge.engine.engine import Engine
from agui_bridge.engine.input.settings import Settings
from agui_bridge.engine.input.submission import Agent
from agui_bridge.engine.observing.telemetry import Telemetry
from agui_bridge.errors import CODES, Refused, StoreUnavailable
from agui_bridge.http.hosts import HostGuard
from agui_bridge.protocol.input_limits import beyond, check_id
from agui_bridge.protocol.json_values import find_forbidden
from agui_bridge.protocol.threads.records import Json, Principal, ThreadKey

__all__ = [
    "Authenticate",
    "Endpoint",
    "Service",
    "agent_of",
    "asked_of",
    "check_json",
    "error_response",
    "find_agent",
    "json_response",
    "key_of",
    "principal_of",
    "read_json",
    "read_json_if_any",
]

logger = logging.getLogger("agui_bridge")

_CHARSET: Final = re.compile(r'charset\s*=\s*"?([^\s;"]+)')

Authenticate = Callable[[Request], Principal | Awaitable[Principal]]
"""Says who asks, or raises Refused("UNAUTHENTICATED", …) or Refused("FORBIDDEN", …)."""


class Service(Protocol):
    """The bridge, as its HTTP surfaces see it."""

    @property
    def agents(self) -> Mapping[str, Agent]:
        """The agents by name."""
        ...

    @property
    def settings(self) -> Settings:
        """The defaults of every agent."""
        ...

    @property
    def authenticate(self) -> Authenticate | None:
        """The hook that says who asks; None lets everybody in as the same principal."""
        ...

    @property
    def telemetry(self) -> Telemetry:
        """Who is told of requests."""
        ...

    @property
    def copilotkit(self) -> str | None:
        """Where CopilotKit's routes stand; None if there are none."""
        ...

    @property
    def playground(self) -> bool:
        """Whether there is a page to try the agents on."""
        ...

    async def open(self) -> Engine:
        """The engine; the first call opens the store and starts the sweeper."""
        ...


_OF_CREDENTIALS: Final[Mapping[int, str]] = {
    400: "UNAUTHENTICATED",
    401: "UNAUTHENTICATED",
    403: "FORBIDDEN",
}
"""The codes of what an `authenticate` hook may raise as an HTTPException, by its status."""


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
                    self._guard.check(request.headers)
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
    body = json.dumps(value, separators=(",", ":")).encode()
    return Response(body, status, media_type="application/json")


def error_response(error: Refused) -> Response:
    """`{"error": {"code", "message", "details"?}}` with the code's status."""
    body: dict[str, Any] = {"code": error.code, "message": error.message}
    if error.details is not None:
        body["details"] = error.details
    response = json_response({"error": body}, error.status)
    if error.code == "UNAUTHENTICATED":
        response.headers["WWW-Authenticate"] = "Bearer"
    if error.code == "REQUEST_TIMEOUT":
        # What still comes, drop by drop, nobody reads.
        response.headers["Connection"] = "close"
    return response


async def principal_of(service: Service, request: Request) -> Principal:
    """Who asks; without an `authenticate` hook everybody is the same principal.

    Raises:
        Refused: the hook lets nobody in.
        HTTPException: it failed with a status that says nothing of the credentials.
        TypeError: it gave something other than a Principal.
    """
    if service.authenticate is None:
        return Principal()
    try:
        answer = service.authenticate(request)
        found: object = await answer if inspect.isawaitable(answer) else answer
    except HTTPException as error:
        # What a dependency of the host's own app raises. Only what says that the credentials are
        # bad may look so: at a 401 a client throws them away.
        code = _OF_CREDENTIALS.get(error.status_code)
        if code is None:
            raise
        raise Refused(code, str(error.detail)) from error
    if not isinstance(found, Principal):
        raise TypeError(f"authenticate should return a Principal, not {type(found).__name__}")
    return found


def agent_of(service: Service, request: Request) -> Agent:
    """The agent that the path names.

    Raises:
        Refused: AGENT_NOT_FOUND.
    """
    return find_agent(service, request.path_params["agent"])


def find_agent(service: Service, name: str) -> Agent:
    """The agent of a name.

    Raises:
        Refused: AGENT_NOT_FOUND.
    """
    agent = service.agents.get(name)
    if agent is None:
        known = ", ".join(sorted(service.agents)) or "none"
        raise Refused("AGENT_NOT_FOUND", f"There is no agent {name[:100]!r}; there are: {known}.")
    return agent


async def asked_of(service: Service, request: Request) -> tuple[Principal, Agent, ThreadKey]:
    """Who asks, and the agent and the thread that the path names, in the scope of who asks.

    Raises:
        Refused: as above; INVALID_INPUT for an id that no thread can have.
    """
    principal = await principal_of(service, request)
    agent = agent_of(service, request)
    return principal, agent, key_of(service, principal, agent, request.path_params["thread"])


def key_of(service: Service, principal: Principal, agent: Agent, thread: str) -> ThreadKey:
    """The key of a thread that a request names outside of an input.

    Raises:
        Refused: INVALID_INPUT for an id that no thread can have.
    """
    if find_forbidden(thread) is not None:
        raise Refused("INVALID_INPUT", "thread: the id holds what no text may.")
    check_id("thread", thread, service.settings.max_id_bytes)
    return ThreadKey(principal.scope, agent.name, thread)


async def read_json(service: Service, request: Request) -> Json:
    """Read a JSON body within the limits.

    Raises:
        Refused: UNSUPPORTED_MEDIA_TYPE, PAYLOAD_TOO_LARGE, REQUEST_TIMEOUT, INVALID_INPUT.
    """
    _check_media_type(request)
    return _parsed(await _body(service, request), service.settings.max_depth)


async def read_json_if_any(service: Service, request: Request) -> Json:
    """The same; a body without a byte, of whatever type, is an empty object."""
    body = await _body(service, request)
    if not body:
        return {}
    _check_media_type(request)
    return _parsed(body, service.settings.max_depth)


def check_json(value: object, path: str) -> None:
    """Check that a value from code is JSON, so that it is stored as what it is.

    Raises:
        Refused: INVALID_INPUT, with the place of what is not.
    """
    found = [(path, value)]
    seen = 0
    while found:
        path, value = found.pop()
        seen += 1
        if len(path) > 2_000 or seen > 1_000_000:
            raise Refused("INVALID_INPUT", f"{path[:100]}: nests too deep, or is too large.")
        if isinstance(value, dict):
            for key, member in value.items():
                if not isinstance(key, str):
                    raise Refused("INVALID_INPUT", f"{path}: the key {key!r:.100} is no string.")
                found.append((f"{path}.{key}", member))
        elif isinstance(value, list):
            found += [(f"{path}[{index}]", item) for index, item in enumerate(value)]
        elif isinstance(value, float) and not math.isfinite(value):
            raise Refused("INVALID_INPUT", f"{path}: {value} is not JSON.")
        elif not (value is None or isinstance(value, str | int | float)):
            kind = type(value).__name__
            raise Refused("INVALID_INPUT", f"{path}: a {kind} is not JSON.")


def _check_media_type(request: Request) -> None:
    kind, _, options = request.headers.get("content-type", "").lower().partition(";")
    kind = kind.strip()
    if kind != "application/json" and not kind.endswith("+json"):
        raise Refused(
            "UNSUPPORTED_MEDIA_TYPE",
            "The body must be JSON (`Content-Type: application/json`), not "
            f"{kind[:100] or 'untyped'!r}.",
        )
    charset = _CHARSET.search(options)
    if charset is not None and charset[1] not in ("utf-8", "utf8", "us-ascii"):
        raise Refused("UNSUPPORTED_MEDIA_TYPE", f"JSON is UTF-8, not {charset[1][:100]!r}.")
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding != "identity":
        raise Refused(
            "UNSUPPORTED_MEDIA_TYPE",
            f"A compressed body ({encoding[:100]!r}) is not taken: send it as it is.",
        )


async def _body(service: Service, request: Request) -> bytes:
    limit, seconds = service.settings.max_body_bytes, service.settings.body_timeout
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared[:20]) > limit:
        raise _too_large(int(declared[:20]), limit)
    body = bytearray()
    try:
        async with asyncio.timeout(seconds):
            async for chunk in request.stream():
                body += chunk
                if len(body) > limit:
                    raise _too_large(f"over {limit}", limit)
    except TimeoutError:
        raise beyond(
            "REQUEST_TIMEOUT", "the body", found=f"over {seconds}", limit=seconds, unit="seconds",
            setting="body_timeout",
        ) from None  # fmt: skip
    return bytes(body)


def _too_large(found: object, limit: int) -> Refused:
    return beyond(
        "PAYLOAD_TOO_LARGE", "the body", found=found, limit=limit, unit="bytes",
        setting="max_body_bytes",
    )  # fmt: skip


def _parsed(body: bytes, max_depth: int) -> Json:
    try:
        return json.loads(body.decode("utf-8"), parse_constant=_refuse_constant)
    except UnicodeDecodeError as error:
        raise Refused("INVALID_INPUT", f"The body is not UTF-8 (byte {error.start}).") from None
    except RecursionError:
        raise beyond(
            "INVALID_INPUT", "the body", found=f"over {max_depth}", limit=max_depth, unit="levels",
            setting="max_depth",
        ) from None  # fmt: skip
    except ValueError as error:
        raise Refused("INVALID_INPUT", f"The body is not valid JSON: {error}.") from None


def _refuse_constant(name: str) -> Json:
    raise ValueError(f"{name} is not JSON")


def _text(code: str) -> str:
    entry = CODES[code]
    return f"{entry.cause} {entry.remedy}"
