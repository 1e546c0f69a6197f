"""`POST /agents/{agent}/callbacks/{token}`: frameworks tell what came of what a run began."""

from __future__ import annotations

import time
from typing import cast

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from agui_bridge.errors import Refused
from agui_bridge.http.endpoint import Endpoint, HostGuard, json_response
from agui_bridge.http.request_parts import raw_body
from agui_bridge.http.service import Service
from agui_bridge.protocol.callbacks import LONGEST, CalledBack


async def post_callback(service: Service, request: Request) -> Response:
    """Keep a callback that the agent's adapter finds genuine; it is acknowledged once it is kept.

    Whoever has the token may call: nobody signs in here.
    """
    agent = service.agents.get(request.path_params["agent"])
    if agent is None or not agent.adapter.capabilities.called_back:
        # Which agents there are, is told to those who sign in.
        raise Refused("NOT_FOUND", "There is no such agent here that is called back.")
    adapter = cast("CalledBack", agent.adapter)
    async with raw_body(service, request, "agui-bridge callbacks", LONGEST) as body:
        callback = adapter.read_callback(
            agent.name, request.path_params["token"], request.headers, body, time.time()
        )
    engine = await service.open()
    new = await engine.looks.call_back(agent, callback)
    return json_response({"status": "taken" if new else "known"})


def callback_routes(service: Service, guard: HostGuard) -> list[BaseRoute]:
    """The route, which is no part of AG-UI's surface: each agent's tool has its own tokens.

    Args:
        service: the bridge.
        guard: refuses requests by their host.
    """
    endpoint = Endpoint(service, post_callback, guard)
    path = "/agents/{agent}/callbacks/{token}"
    return [Route(path, endpoint, methods=["POST"], include_in_schema=False)]
