"""The table of routes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import lru_cache
from typing import Any, Final

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import Lifespan

from agui_bridge.a2a.card import A2A, A2A_AGENT, A2A_CARD
from agui_bridge.errors import Refused
from agui_bridge.http.agui import interrupts, threads
from agui_bridge.http.agui.callbacks import callback_routes
from agui_bridge.http.agui.runs import post_stop, run_agent
from agui_bridge.http.agui.threads import (
    connect_to_thread,
    get_capabilities,
    list_agents,
    watch_thread,
)
from agui_bridge.http.app.pages import (
    PLAYGROUND,
    FirstPage,
    get_health,
    get_readiness,
    playground_routes,
)
from agui_bridge.http.channels import list_deliveries
from agui_bridge.http.chat import api as chat_api
from agui_bridge.http.copilotkit import api as copilotkit
from agui_bridge.http.copilotkit.operations import BASE, placed
from agui_bridge.http.endpoint import Endpoint, HostGuard, error_response, json_response
from agui_bridge.http.inbox.paths import INBOX_PATHS
from agui_bridge.http.mcp import MCP, mcp_routes
from agui_bridge.http.service import Service

Handler = Callable[[Service, Request], Awaitable[Any]]


async def get_document(service: Service, request: Request) -> Response:
    """`GET /openapi.json`: this surface, described; public, since it tells of no agent or data."""
    # It takes long to make, and streams would stand still meanwhile.
    server = request.scope.get("root_path") or "/"
    authenticated = service.authenticate is not None
    body = await asyncio.to_thread(
        _described, authenticated, server, service.copilotkit, service.mcp, service.a2a
    )
    return Response(body, media_type="application/json")


@lru_cache(maxsize=16)
def _described(
    authenticated: bool, server: str, copilotkit: str | None, mcp: bool, a2a: bool
) -> bytes:
    """The document as it is sent: anybody may ask for it, as often as they like."""
    # Imported here: all that it describes the routes with is used for nothing else.
    from agui_bridge.http.app.openapi import openapi

    document = openapi(
        [
            *((method, path) for method, path, _ in (*ROUTES, _DOCUMENT)),
            *(("POST", MCP), ("GET", A2A_CARD), ("POST", A2A_AGENT)),
        ],
        authenticated=authenticated,
        server=server,
        copilotkit=copilotkit,
        mcp=mcp,
        a2a=a2a,
    )
    return bytes(json_response(document).body)


ROUTES: tuple[tuple[str, str, Handler], ...] = (
    ("GET", "/agents", list_agents),
    ("POST", "/agents/{agent}", run_agent),
    ("GET", "/agents/{agent}/capabilities", get_capabilities),
    ("GET", "/agents/{agent}/threads", threads.list_threads),
    ("GET", "/agents/{agent}/threads/{thread}/interrupts", interrupts.thread_interrupts),
    ("POST", "/agents/{agent}/threads/{thread}/stop", threads.stop_thread),
    ("POST", "/agents/{agent}/threads/{thread}/connect", connect_to_thread),
    ("GET", "/agents/{agent}/threads/{thread}/connect", watch_thread),
    ("GET", "/agents/{agent}/threads/{thread}", threads.get_thread),
    ("DELETE", "/agents/{agent}/threads/{thread}", threads.delete_thread),
    ("GET", "/interrupts", interrupts.list_interrupts),
    ("GET", "/interrupts/{ref}", interrupts.get_interrupt),
    ("POST", "/interrupts/{ref}/answer", interrupts.answer_interrupt),
    ("GET", "/deliveries", list_deliveries),
    ("POST", "/stop", post_stop),
    ("GET", "/api/v1/agents", list_agents),
    ("POST", "/api/v1/chat/stream", chat_api.stream_chat),
    ("GET", "/api/v1/chat/interrupt_state", chat_api.get_interrupt_state),
    ("POST", "/api/v1/chat/resume", chat_api.resume_chat),
    ("POST", BASE, copilotkit.dispatch),
    ("GET", f"{BASE}/info", copilotkit.get_info),
    ("POST", f"{BASE}/agent/{{agent}}/run", copilotkit.run_agent),
    ("POST", f"{BASE}/agent/{{agent}}/connect", copilotkit.connect_agent),
    ("POST", f"{BASE}/agent/{{agent}}/stop/{{thread}}", copilotkit.stop_agent),
    ("GET", "/healthz", get_health),
    ("GET", "/readyz", get_readiness),
)
"""Each has a row in `operations.OPERATIONS`, which says what it takes and answers."""

_DOCUMENT: tuple[str, str, Handler] = ("GET", "/openapi.json", get_document)


_PROBES: Final = frozenset({"/healthz", "/readyz"})
"""Paths that tell nothing, and that probes ask for under an address of the machine's."""


TAKEN: Final = frozenset(
    path.split("/")[1]
    for path in (
        PLAYGROUND,
        *INBOX_PATHS,
        MCP,
        A2A,
        *(path for _, path, _ in (*ROUTES, _DOCUMENT)),
    )
    if placed(path, None) is not None
)
"""The first segments of the paths that are not CopilotKit's."""


def build_routes(service: Service, guard: HostGuard) -> list[BaseRoute]:
    """The bridge's routes; a path with another method answers 405 in the documented form.

    Args:
        service: the bridge.
        guard: refuses requests by their host and origin.

    Raises:
        ConfigurationError: the playground, the inbox or MCP is wanted and not installed.
    """
    by_path: dict[str, dict[str, Handler]] = {}
    for method, path, handler in ROUTES:
        if (place := placed(path, service.copilotkit)) is not None:
            by_path.setdefault(place, {})[method] = handler
    routes: list[BaseRoute] = [
        # Clients choose the ids of threads, and a server sees `%2F` as a slash.
        Route(
            path.replace("{thread}", "{thread:path}"),
            Endpoint(service, _by_method(handlers), None if path in _PROBES else guard),
            include_in_schema=False,
        )
        for path, handlers in by_path.items()
    ]
    routes += callback_routes(service, guard)
    if service.playground:
        routes += playground_routes(service, guard)
    if service.channels:
        # Imported here, as below: most bridges have neither.
        from agui_bridge.http.channels import slack_routes

        routes += slack_routes(service, guard)
    if service.mcp:
        from agui_bridge import __version__

        routes += mcp_routes(service, guard, __version__)
    if service.a2a:
        from agui_bridge.http.a2a import a2a_routes

        routes += a2a_routes(service, guard)
    if service.inbox_page:
        from agui_bridge.http.inbox.routes import inbox_routes

        routes += inbox_routes(service, service.allowed_hosts)
    return routes


def routes_of_its_own(service: Service, guard: HostGuard) -> list[BaseRoute]:
    """What an app that the other routes join has itself: the OpenAPI document, and the first page.

    The document tells nothing, as the probes, and is given to whoever asks.

    Args:
        service: the bridge.
        guard: refuses requests for the page by their host and origin.
    """
    method, path, handler = _DOCUMENT
    routes: list[BaseRoute] = [
        Route(path, Endpoint(service, _by_method({method: handler})), include_in_schema=False)
    ]
    wanted = service.first_page
    if service.authenticate is None if wanted is None else wanted:
        page = Endpoint(service, _by_method({"GET": FirstPage()}), guard)
        routes.append(Route("/", page, include_in_schema=False))
    return routes


def build_app(
    routes: Sequence[BaseRoute],
    lifespan: Lifespan[Starlette],
    middleware: Sequence[Middleware],
) -> Starlette:
    """An app of the routes; every other path is a 404 in the documented form."""
    app = Starlette(
        routes=routes,
        lifespan=lifespan,
        middleware=middleware,
        exception_handlers={404: _no_such_path},
    )
    # A redirect would repeat the Host header, which anybody can choose.
    app.router.redirect_slashes = False
    return app


def _no_such_path(request: Request, _: Exception) -> Response:
    path = request.url.path[:100]
    return error_response(Refused("NOT_FOUND", f"There is no path {path!r} here."))


def _by_method(handlers: dict[str, Handler]) -> Handler:
    allowed = sorted({*handlers, *(["HEAD"] if "GET" in handlers else [])})

    async def handle(service: Service, request: Request) -> Any:
        method = "GET" if request.method == "HEAD" else request.method
        handler = handlers.get(method)
        if handler is not None:
            return await handler(service, request)
        service.telemetry.refused("METHOD_NOT_ALLOWED")
        response = error_response(
            Refused(
                "METHOD_NOT_ALLOWED",
                f"{request.method} is not allowed here; allowed: {', '.join(allowed)}.",
            )
        )
        response.headers["Allow"] = ", ".join(allowed)
        return response

    return handle
