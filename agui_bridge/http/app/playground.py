"""The playground at `/playground`: a page on which to try the agents and see every event.

The page is `agui-inspector`'s, unchanged; it is for developers, and off unless the bridge has
`playground=True`. It holds no data but the agents' names, so that it needs no
credentials: what it asks of the agents does, as from everywhere else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.routing import BaseRoute, Route

from agui_bridge.errors import ConfigurationError
from agui_bridge.http.endpoint import Endpoint
from agui_bridge.http.hosts import HostGuard
from agui_bridge.http.service import Service

__all__ = ["PLAYGROUND", "playground_routes"]

PLAYGROUND: Final = "/playground"
"""Where the page stands."""


def playground_routes(service: Service, guard: HostGuard) -> list[BaseRoute]:
    """The page's routes.

    Args:
        service: the bridge.
        guard: refuses requests by their host and origin.

    Raises:
        ConfigurationError: `agui-inspector` is not installed.
    """
    try:
        from agui_inspector import Agent, mount_inspector
    except ImportError as error:
        raise ConfigurationError(
            f"playground=True needs agui-inspector ({error.name or error} is missing). "
            'Install it: pip install "agui-bridge[playground]"'
        ) from error

    def make(root: str) -> Starlette:
        agents = [
            # The page finds them from the top of its origin, and so below where this is mounted.
            # It drops a question once an error follows, so a refusal is told in the question.
            Agent(name, f"{root}/agents/{name}?refusals=ask")
            for name in service.agents
        ]
        made = Starlette()
        mount_inspector(made, agents=agents, enabled=True, path=PLAYGROUND)
        return made

    endpoint = Endpoint(service, _Page(make), guard)
    return [
        Route(PLAYGROUND, endpoint, include_in_schema=False),
        Route(f"{PLAYGROUND}/{{asset:path}}", endpoint, include_in_schema=False),
    ]


class _Page:
    """Gives the page as an app, made anew when the agents or the place of the mount change."""

    def __init__(self, make: Callable[[str], Starlette]) -> None:
        self._make = make
        self._known: tuple[str, tuple[str, ...]] | None = None
        self._app = Starlette()

    async def __call__(self, service: Service, request: Request) -> Starlette:
        root = request.scope.get("root_path", "").rstrip("/")
        known = (root, tuple(service.agents))
        if known != self._known:
            self._known, self._app = known, self._make(root)
        return self._app
