"""NexAU's stop over HTTP: `POST /stop`, for clients that know a session and no agent."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from agui_bridge.http.bodies import json_body
from agui_bridge.http.callers import principal_of
from agui_bridge.http.endpoint import json_response
from agui_bridge.http.service import Service
from agui_bridge.surfaces.session_stop import SessionStop, stop_session

__all__ = ["post_stop"]


async def post_stop(service: Service, request: Request) -> Response:
    """`POST /stop` with `{session_id, user_id?, agent_id?, force?, timeout?}`.

    200 also for a session that is unknown or another user's, with `status: "error"`.
    """
    principal = await principal_of(service, request)
    async with json_body(service, request, principal.scope) as body:
        stop = SessionStop.of(body.value, service.settings.max_id_bytes)
    engine = await service.open()
    return json_response(await stop_session(engine, service.agents, principal, stop))
