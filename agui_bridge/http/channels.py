"""Channels over HTTP: what Slack sends, and what became of deliveries."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from agui_bridge.channels.slack import Slack, is_signed
from agui_bridge.channels.slack_desk import Click, SlackDesk, read_interaction
from agui_bridge.errors import Refused
from agui_bridge.http.endpoint import Endpoint, HostGuard, json_response
from agui_bridge.http.operation import OPENS_STORE, Operation
from agui_bridge.http.request_parts import principal_of, raw_body, whole
from agui_bridge.http.service import Service
from agui_bridge.protocol.wire.run_events import iso_time
from agui_bridge.stores.deliveries import STATES, Delivery, DeliveryState

if sys.version_info >= (3, 12):
    from typing import TypedDict
else:
    from typing_extensions import TypedDict


class DeliveryJson(TypedDict):
    """One message about one question to one channel."""

    id: str
    """The same at every try; a webhook's `webhook-id`."""
    agent: str
    """Name of the agent."""
    threadId: str
    """The thread of the question."""
    interruptId: str
    """The question."""
    channel: str
    """Name of the channel; empty for what the bridge does itself."""
    event: str
    """What is told."""
    state: DeliveryState
    """`dropped`: it was not to be told any more; `dead`: it was given up."""
    attempts: int
    """How often it was tried."""
    dueAt: str
    """When it is tried next, while it is queued; in ISO 8601 and UTC."""
    error: str | None
    """Why the last try failed."""
    closedBy: str | None
    """Who closed it, since its channel was removed: what was not sent will not be, and a message
    that was sent stays as it is. null of all others."""
    createdAt: str
    """When it was planned, in ISO 8601 and UTC."""
    updatedAt: str
    """When it was last changed, in ISO 8601 and UTC."""


class DeliveryList(TypedDict):
    """Deliveries, the newest first."""

    deliveries: list[DeliveryJson]
    """The deliveries."""


async def list_deliveries(service: Service, request: Request) -> Response:
    """`GET /deliveries?state=&limit=`: those about the questions of the scope."""
    principal = await principal_of(service, request)
    state = request.query_params.get("state")
    if state is not None and state not in STATES:
        raise Refused("INVALID_INPUT", f"state: must be one of {', '.join(STATES)}.")
    limit = whole(request, "limit", 200, 1000)
    engine = await service.open()
    found = await engine.store.deliveries.list_deliveries(principal.scope, state=state, limit=limit)
    listed: DeliveryList = {"deliveries": [delivery_json(one) for one in found]}
    return json_response(listed)


def delivery_json(delivery: Delivery) -> DeliveryJson:
    """A delivery as it is shown.

    Args:
        delivery: as it is stored.
    """
    return {
        "id": delivery.id,
        "agent": delivery.key.agent,
        "threadId": delivery.key.thread,
        "interruptId": delivery.interrupt,
        "channel": delivery.channel,
        "event": delivery.event,
        "state": delivery.state,
        "attempts": delivery.attempts,
        "dueAt": iso_time(delivery.due_at),
        "error": delivery.error,
        "closedBy": delivery.closed_by,
        "createdAt": iso_time(delivery.created_at),
        "updatedAt": iso_time(delivery.updated_at),
    }


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


CHANNEL_OPERATIONS: Final[Mapping[tuple[str, str], Operation]] = {
    ("GET", "/deliveries"): Operation(
        "listDeliveries",
        "Interrupts",
        "List what was to be told to channels, and what became of it",
        answer="Deliveries",
        example={
            "deliveries": [
                {
                    "id": "c2Vjb25kIHF1ZXN0aW9u:hook:opened",
                    "agent": "ops",
                    "threadId": "thread-1",
                    "interruptId": "c2Vjb25kIHF1ZXN0aW9u",
                    "channel": "hook",
                    "event": "opened",
                    "state": "dead",
                    "attempts": 10,
                    "dueAt": "2026-01-04T03:36:00.000Z",
                    "error": "HTTP 500",
                    "closedBy": None,
                    "createdAt": "2026-01-01T00:00:00.000Z",
                    "updatedAt": "2026-01-04T03:36:00.000Z",
                }
            ]
        },
        query=(
            {
                "name": "state",
                "in": "query",
                "description": "Only deliveries in this state.",
                "schema": {"type": "string", "enum": list(STATES)},
            },
            {
                "name": "limit",
                "in": "query",
                "description": "How many at most.",
                "schema": {"type": "integer", "minimum": 1, "maximum": 1000, "default": 200},
            },
        ),
        codes=("INVALID_INPUT", *OPENS_STORE),
    ),
}
"""By method and path."""
