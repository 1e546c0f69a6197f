"""The bridge as an MCP server over streamable HTTP: `POST /mcp`, under its own authentication.

No session is kept: any replica answers any request. Each has a manager of the SDK's for itself,
whose tasks end with it, so that a client that goes away takes its call along.

Source: Model Context Protocol 2026-07-28 and earlier, "Streamable HTTP".
"""

from __future__ import annotations

import json
import logging
import secrets
from collections.abc import Awaitable, Callable
from typing import Any, Final

import anyio
from starlette.requests import Request
from starlette.routing import BaseRoute, Route
from starlette.types import Message, Receive, Scope, Send

from agui_bridge.errors import ConfigurationError, Refused
from agui_bridge.http.endpoint import Endpoint, HostGuard, error_response
from agui_bridge.http.request_parts import json_body, principal_of
from agui_bridge.http.service import Service
from agui_bridge.protocol.threads.records import Principal

MCP: Final = "/mcp"
"""Where it stands."""

_TOLD_OF_EACH: Final = ("mcp.server.streamable_http_manager", "mcp.server.streamable_http")
"""The SDK's loggers that tell of each manager's beginning and end: here of each request's."""


def mcp_routes(service: Service, guard: HostGuard, version: str) -> list[BaseRoute]:
    """The server's route.

    Args:
        service: the bridge.
        guard: refuses requests by their host and origin.
        version: of this package, as clients see it.

    Raises:
        ConfigurationError: the SDK is not installed.
    """
    try:
        from mcp.server import streamable_http_manager as sdk

        from agui_bridge.mcp_server.server import server_of
    except ImportError as error:
        raise ConfigurationError(
            f"mcp=True needs the MCP SDK, 2.1 or later ({error.name or error} is missing). "
            'Install it: pip install "agui-bridge[mcp]"'
        ) from error
    for name in _TOLD_OF_EACH:
        if not logging.getLogger(name).level:
            logging.getLogger(name).setLevel(logging.WARNING)

    def caller_of(context: Any) -> tuple[Principal, str | None]:
        found: tuple[Principal, str | None] = context.request.scope[CALLER]
        return found

    server = server_of(service, caller_of, version)
    limit, calls = service.settings.max_body_bytes, OpenCalls()

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        manager = sdk.StreamableHTTPSessionManager(
            server, stateless=True, max_request_body_size=limit
        )
        async with manager.run():
            await manager.handle_request(scope, receive, send)

    async def handle(service: Service, request: Request) -> Any:
        principal = await principal_of(service, request)
        if request.method != "POST":
            response = error_response(
                Refused("METHOD_NOT_ALLOWED", f"{request.method} is not allowed here: use POST.")
            )
            response.headers["Allow"] = "POST"
            return response
        caller = (principal, _address(service, request))
        async with json_body(service, request, principal.scope) as body:
            return Exchange(serve, calls, caller, body.value)

    return [Route(MCP, Endpoint(service, handle, guard), include_in_schema=False)]


def _address(service: Service, request: Request) -> str | None:
    """Where people reach the inbox: as it is set, else where the request came to."""
    if not service.inbox_page:
        return None
    return service.inbox.url or str(request.base_url)


# --- one request: its body read already, and how another one gives it up ---
#
# From 2026-07-28 on a client gives a call up by closing its stream. Before, it sends a request of
# its own that names the call by an id, which is any small number: so it counts only with the
# session in which the call was made, whose name nobody can guess, and from the same principal.
#
# Source: Model Context Protocol 2026-07-28 and 2025-11-25, "Streamable HTTP", "Cancellation".

CALLER: Final = "agui_bridge.caller"
"""The key of a request's scope under which the server finds who sends it."""

_SESSION: Final = b"mcp-session-id"

Serve = Callable[[Scope, Receive, Send], Awaitable[None]]
CallKey = tuple[str, str, str, str]
"""Scope and actor of the principal, the session, and the request's id as JSON."""


class OpenCalls:
    """The calls that are being answered by this process, and that can be given up by name."""

    def __init__(self) -> None:
        self._open: dict[CallKey, anyio.CancelScope] = {}

    def begin(self, key: CallKey, scope: anyio.CancelScope) -> None:
        """Note a call."""
        self._open[key] = scope

    def end(self, key: CallKey, scope: anyio.CancelScope) -> None:
        """Forget it."""
        if self._open.get(key) is scope:
            del self._open[key]

    def give_up(self, key: CallKey) -> None:
        """Cancel a call; one that there is not, or at another replica, is none."""
        if (scope := self._open.get(key)) is not None:
            scope.cancel()


class Exchange:
    """One request as the SDK serves it.

    Args:
        serve: the SDK's part.
        calls: the calls of this process.
        caller: who sends it, and where the inbox is.
        message: the body.
    """

    def __init__(
        self, serve: Serve, calls: OpenCalls, caller: tuple[Principal, str | None], message: Any
    ) -> None:
        self._serve = serve
        self._calls = calls
        self._caller = caller
        self._message = message if isinstance(message, dict) else {}
        self._body: bytes | None = json.dumps(message).encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve it; what it is answered is the SDK's."""
        headers = dict(scope["headers"])
        session = headers.pop(_SESSION, b"").decode("latin-1")
        method, id = self._message.get("method"), self._message.get("id")
        if method == "notifications/cancelled" and session:
            params = self._message.get("params")
            named = params.get("requestId") if isinstance(params, dict) else None
            self._calls.give_up(self._key(session, named))
        begins = method == "initialize"
        reply = _Reply(send, secrets.token_urlsafe(16) if begins else None)
        own = {**scope, "headers": self._headers(scope), CALLER: self._caller}

        async def replay() -> Message:
            if self._body is None:
                return await receive()
            body, self._body = self._body, None
            return {"type": "http.request", "body": body, "more_body": False}

        if not session or id is None:
            await self._serve(own, replay, reply.send)
            return
        key = self._key(session, id)
        with anyio.CancelScope() as cancelled:
            self._calls.begin(key, cancelled)
            try:
                await self._serve(own, replay, reply.send)
            finally:
                self._calls.end(key, cancelled)
        if cancelled.cancelled_caught:
            await reply.close()

    def _headers(self, scope: Scope) -> list[tuple[bytes, bytes]]:
        """Those of the request, for the body as it is given on; the session is ours alone."""
        left = (b"content-length", b"transfer-encoding", _SESSION)
        kept = [(name, value) for name, value in scope["headers"] if name not in left]
        return [*kept, (b"content-length", str(len(self._body or b"")).encode())]

    def _key(self, session: str, id: Any) -> CallKey:
        principal = self._caller[0]
        return principal.scope, principal.actor, session, json.dumps(id)


class _Reply:
    """What is sent back; begins a session, and ends a stream that was given up."""

    def __init__(self, send: Send, session: str | None) -> None:
        self._send = send
        self._session = session
        self._began = self._ended = False

    async def send(self, message: Message) -> None:
        """Send what the SDK sends."""
        if message["type"] == "http.response.start":
            self._began = True
            if self._session is not None:
                headers = [*message.get("headers", ()), (_SESSION, self._session.encode())]
                message = {**message, "headers": headers}
        elif not message.get("more_body", False):
            self._ended = True
        await self._send(message)

    async def close(self) -> None:
        """End what is not ended: nobody reads it."""
        if not self._began:
            await self.send({"type": "http.response.start", "status": 202, "headers": []})
        if not self._ended:
            await self.send({"type": "http.response.body", "body": b"", "more_body": False})
