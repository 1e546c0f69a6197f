"""What a platform asks before it sends requests: does the process answer, does the store."""

from __future__ import annotations

import sys
from typing import Literal, NotRequired

from starlette.requests import Request
from starlette.responses import Response

from agui_bridge import __version__
from agui_bridge.errors import StoreUnavailable
from agui_bridge.http.endpoint import json_response
from agui_bridge.http.service import Service

if sys.version_info >= (3, 12):
    from typing import TypedDict
else:  # the one of 3.11 tells pydantic too little
    from typing_extensions import TypedDict

__all__ = ["Health", "Readiness", "get_health", "get_readiness"]


class Health(TypedDict):
    """The process answers."""

    status: Literal["ok"]
    """Always ok."""
    version: str
    """The version of agui-bridge."""


class Readiness(TypedDict):
    """The store answers and takes writes, and new runs are taken."""

    status: Literal["ok"]
    """Always ok."""
    warnings: NotRequired[list[str]]
    """What an operator should know, and that keeps no request away: an older version works on the
    store. Absent where there is nothing."""


async def get_health(service: Service, request: Request) -> Response:
    """`GET /healthz`: the process answers."""
    health: Health = {"status": "ok", "version": __version__}
    return json_response(health)


async def get_readiness(service: Service, request: Request) -> Response:
    """`GET /readyz`: the store answers and takes writes, and new runs are taken."""
    engine = await service.open()
    if engine.closing:
        raise StoreUnavailable("shutting down")
    await engine.writes.look()
    ready: Readiness = {"status": "ok"}
    if older := await service.older_servers():
        ready["warnings"] = list(older)
    return json_response(ready)
