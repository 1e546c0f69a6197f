"""`GET /deliveries`: what became of what was to be told."""

from __future__ import annotations

import sys

from starlette.requests import Request
from starlette.responses import Response

from agui_bridge.errors import Refused
from agui_bridge.http.agui.query import whole
from agui_bridge.http.callers import principal_of
from agui_bridge.http.endpoint import json_response
from agui_bridge.http.service import Service
from agui_bridge.protocol.wire.run_events import iso_time
from agui_bridge.stores.deliveries import STATES, Delivery, DeliveryState

if sys.version_info >= (3, 12):
    from typing import TypedDict
else:
    from typing_extensions import TypedDict

__all__ = ["DeliveryJson", "DeliveryList", "delivery_json", "list_deliveries"]


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
