"""One route as an ASGI app, and how answers and errors look."""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable
from typing import Any, Final

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from agui_bridge.errors import CODES, Refused, StoreUnavailable
from agui_bridge.http.hosts import HostGuard
from agui_bridge.http.service import Service
from agui_bridge.http.unread_body import UnreadBodyResponse
from agui_bridge.protocol.threads.records import Json

__all__ = ["Endpoint", "error_response", "json_response"]

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
