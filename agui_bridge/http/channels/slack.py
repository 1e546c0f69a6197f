"""`POST /channels/slack/{name}`: what people do in Slack, which Slack signs."""

from __future__ import annotations

import time

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from agui_bridge.channels.slack.answers import Click, read_interaction
from agui_bridge.channels.slack.desk import SlackDesk
from agui_bridge.channels.slack.slack import Slack, is_signed
from agui_bridge.errors import Refused
from agui_bridge.http.bodies import raw_body
from agui_bridge.http.endpoint import Endpoint, json_response
from agui_bridge.http.hosts import HostGuard
from agui_bridge.http.service import Service

__all__ = ["post_interaction", "slack_routes"]


async def post_interaction(service: Service, request: Request) -> Response:
    """Acknowledge at once, and do what was asked beside: Slack waits three seconds."""
    name = request.path_params["name"]
    channel = service.channels.get(name)
    if not isinstance(channel, Slack):
        raise Refused("NOT_FOUND", "There is no channel of this name in Slack.")
    async with raw_body(service, request, "agui-bridge channels") as body:
        if not is_signed(channel.signing_secret, request.headers, body, time.time()):
            raise Refused(
                "UNAUTHENTICATED",
                "Slack has not signed this request in the last five minutes: check the channel's "
                "signing secret, and this machine's clock.",
            )
        did = read_interaction(body)
    if did is None:
        return Response()
    engine = await service.open()
    scopes = service.channels.scopes[name]
    desk = SlackDesk(channel, engine, service.agents, service.references, scopes)
    if isinstance(did, Click):
        engine.spawn(desk.click(did))
        return Response()
    faults = await desk.submit(did)
    return Response() if faults is None else json_response(faults)


def slack_routes(service: Service, guard: HostGuard) -> list[BaseRoute]:
    """The route, where there is a channel in Slack.

    Args:
        service: the bridge.
        guard: refuses requests by their host.
    """
    if not any(isinstance(channel, Slack) for channel in service.channels.values()):
        return []
    endpoint = Endpoint(service, post_interaction, guard)
    path = "/channels/slack/{name}"
    return [Route(path, endpoint, methods=["POST"], include_in_schema=False)]
