"""The table of routes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from agui_bridge import __version__
from agui_bridge.engine.call import Agent
from agui_bridge.errors import Refused, StoreUnavailable
from agui_bridge.http import threads
from agui_bridge.http.agui import run_agent
from agui_bridge.http.service import (
    Endpoint,
    Service,
    agent_of,
    error_response,
    json_response,
    principal_of,
)

__all__ = ["build_routes"]

Handler = Callable[[Service, Request], Awaitable[Any]]


async def list_agents(service: Service, request: Request) -> Response:
    """`GET /agents`."""
    await principal_of(service, request)
    return json_response(
        {
            "agents": [
                {"name": agent.name, "description": agent.description}
                for agent in service.agents.values()
            ]
        }
    )


async def get_capabilities(service: Service, request: Request) -> Response:
    """`GET /agents/{agent}/capabilities`, in the shape of AG-UI's AgentCapabilities."""
    await principal_of(service, request)
    return json_response(_capabilities(agent_of(service, request)))


async def get_health(service: Service, request: Request) -> Response:
    """`GET /healthz`: the process answers."""
    return json_response({"status": "ok", "version": __version__})


async def get_readiness(service: Service, request: Request) -> Response:
    """`GET /readyz`: the store answers, and new runs are taken."""
    engine = await service.open()
    if engine.closing:
        raise StoreUnavailable("shutting down")
    await engine.store.ping()
    return json_response({"status": "ok"})


_ROUTES: tuple[tuple[str, str, Handler], ...] = (
    ("GET", "/agents", list_agents),
    ("POST", "/agents/{agent}", run_agent),
    ("GET", "/agents/{agent}/capabilities", get_capabilities),
    ("GET", "/agents/{agent}/threads", threads.list_threads),
    ("GET", "/agents/{agent}/threads/{thread}", threads.get_thread),
    ("DELETE", "/agents/{agent}/threads/{thread}", threads.delete_thread),
    ("GET", "/agents/{agent}/threads/{thread}/interrupts", threads.thread_interrupts),
    ("POST", "/agents/{agent}/threads/{thread}/stop", threads.stop_thread),
    ("GET", "/interrupts", threads.list_interrupts),
    ("GET", "/healthz", get_health),
    ("GET", "/readyz", get_readiness),
)


def build_routes(service: Service) -> list[BaseRoute]:
    """The bridge's routes; a path with another method answers 405 in the documented form."""
    by_path: dict[str, dict[str, Handler]] = {}
    for method, path, handler in _ROUTES:
        by_path.setdefault(path, {})[method] = handler
    return [
        Route(path, Endpoint(service, _by_method(handlers)), include_in_schema=False)
        for path, handlers in by_path.items()
    ]


def _by_method(handlers: dict[str, Handler]) -> Handler:
    allowed = sorted({*handlers, *(["HEAD"] if "GET" in handlers else [])})

    async def handle(service: Service, request: Request) -> Any:
        method = "GET" if request.method == "HEAD" else request.method
        handler = handlers.get(method)
        if handler is not None:
            return await handler(service, request)
        response = error_response(
            Refused(
                "METHOD_NOT_ALLOWED",
                f"{request.method} is not allowed here; allowed: {', '.join(allowed)}.",
            )
        )
        response.headers["Allow"] = ", ".join(allowed)
        return response

    return handle


def _capabilities(agent: Agent) -> dict[str, Any]:
    """What is declared is what is true: the adapter's word, and what the bridge adds."""
    can = agent.adapter.capabilities
    identity = {"name": agent.name, "type": "agui-bridge", "version": __version__}
    if agent.description:
        identity["description"] = agent.description
    return {
        "identity": identity,
        "transport": {
            "streaming": True,
            "websocket": False,
            "httpBinary": False,
            "pushNotifications": False,
            "resumable": False,
        },
        "state": {"snapshots": True, "deltas": True, "persistentState": True},
        "humanInTheLoop": {
            "supported": True,
            "approvals": can.approve,
            "interrupts": True,
            "approveWithEdits": can.edit,
            "feedback": can.decline,
        },
    }
