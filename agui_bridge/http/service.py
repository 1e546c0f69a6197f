"""What every HTTP surface needs: the agents, the engine, who asks, and how errors look."""

from __future__ import annotations

import inspect
import json
import logging
import math
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from agui_bridge.engine.call import Agent
from agui_bridge.engine.runner import Engine
from agui_bridge.engine.settings import Settings
from agui_bridge.errors import CODES, Refused, StoreUnavailable
from agui_bridge.protocol.records import Json, Principal, ThreadKey

__all__ = [
    "Authenticate",
    "Endpoint",
    "Service",
    "agent_of",
    "asked_of",
    "check_json",
    "error_response",
    "json_response",
    "principal_of",
    "read_json",
    "read_json_if_any",
]

logger = logging.getLogger("agui_bridge")

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

    async def open(self) -> Engine:
        """The engine; the first call opens the store and starts the sweeper."""
        ...


class Endpoint:
    """One route as an ASGI app: what it refuses becomes the documented error body.

    Args:
        service: the bridge.
        handle: makes the response of a request.
    """

    def __init__(
        self,
        service: Service,
        handle: Callable[[Service, Request], Awaitable[Callable[..., Awaitable[None]]]],
    ) -> None:
        self._service = service
        self._handle = handle

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        request = Request(scope, receive, send)
        try:
            response = await self._handle(self._service, request)
        except Refused as error:
            response = error_response(error)
        except StoreUnavailable:
            response = error_response(Refused("STORE_UNAVAILABLE", _text("STORE_UNAVAILABLE")))
        except ClientDisconnect:
            return
        except Exception:
            logger.exception("%s %s failed", request.method, request.url.path)
            response = error_response(Refused("INTERNAL_ERROR", _text("INTERNAL_ERROR")))
        await response(scope, receive, send)


def json_response(value: Json, status: int = 200) -> Response:
    """A JSON response, in ASCII: half of a surrogate pair has no bytes in UTF-8."""
    body = json.dumps(value, separators=(",", ":")).encode()
    return Response(body, status, media_type="application/json")


def error_response(error: Refused) -> Response:
    """`{"error": {"code", "message", "details"?}}` with the code's status."""
    body: dict[str, Any] = {"code": error.code, "message": error.message}
    if error.details is not None:
        body["details"] = error.details
    return json_response({"error": body}, error.status)


async def principal_of(service: Service, request: Request) -> Principal:
    """Who asks; without an `authenticate` hook everybody is the same principal.

    Raises:
        Refused: the hook lets nobody in.
        TypeError: it gave something other than a Principal.
    """
    if service.authenticate is None:
        return Principal()
    try:
        answer = service.authenticate(request)
        found: object = await answer if inspect.isawaitable(answer) else answer
    except HTTPException as error:
        # What a dependency of the host's own app raises.
        code = "FORBIDDEN" if error.status_code == 403 else "UNAUTHENTICATED"
        raise Refused(code, str(error.detail)) from error
    if not isinstance(found, Principal):
        raise TypeError(f"authenticate should return a Principal, not {type(found).__name__}")
    return found


def agent_of(service: Service, request: Request) -> Agent:
    """The agent that the path names.

    Raises:
        Refused: AGENT_NOT_FOUND.
    """
    name = request.path_params["agent"]
    agent = service.agents.get(name)
    if agent is None:
        known = ", ".join(sorted(service.agents)) or "none"
        raise Refused("AGENT_NOT_FOUND", f"There is no agent {name[:100]!r}; there are: {known}.")
    return agent


async def asked_of(service: Service, request: Request) -> tuple[Principal, Agent, ThreadKey]:
    """Who asks, and the agent and the thread that the path names, in the scope of who asks."""
    principal = await principal_of(service, request)
    agent = agent_of(service, request)
    key = ThreadKey(principal.scope, agent.name, request.path_params["thread"])
    return principal, agent, key


async def read_json(service: Service, request: Request) -> Json:
    """Read a JSON body within the limits.

    Raises:
        Refused: UNSUPPORTED_MEDIA_TYPE, PAYLOAD_TOO_LARGE, INVALID_INPUT.
    """
    _check_media_type(request)
    return _parsed(await _body(service, request))


async def read_json_if_any(service: Service, request: Request) -> Json:
    """The same; a body without a byte, of whatever type, is an empty object."""
    body = await _body(service, request)
    if not body:
        return {}
    _check_media_type(request)
    return _parsed(body)


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
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json" and not kind.endswith("+json"):
        raise Refused(
            "UNSUPPORTED_MEDIA_TYPE",
            f"The body must be JSON (`Content-Type: application/json`), not {kind or 'untyped'!r}.",
        )


async def _body(service: Service, request: Request) -> bytes:
    limit = service.settings.max_body_bytes
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > limit:
            raise Refused(
                "PAYLOAD_TOO_LARGE", f"The body is larger than {limit} bytes.", {"limit": limit}
            )
    return bytes(body)


def _parsed(body: bytes) -> Json:
    try:
        return json.loads(body.decode("utf-8"), parse_constant=_refuse_constant)
    except UnicodeDecodeError as error:
        raise Refused("INVALID_INPUT", f"The body is not UTF-8 (byte {error.start}).") from None
    except RecursionError:
        raise Refused("INVALID_INPUT", "The body nests too deep.") from None
    except ValueError as error:
        raise Refused("INVALID_INPUT", f"The body is not valid JSON: {error}.") from None


def _refuse_constant(name: str) -> Json:
    raise ValueError(f"{name} is not JSON")


def _text(code: str) -> str:
    entry = CODES[code]
    return f"{entry.cause} {entry.remedy}"
