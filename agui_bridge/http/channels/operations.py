"""What each route is for, takes and answers: the channels' part of the table of operations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from agui_bridge.http.operation import OPENS_STORE, Operation
from agui_bridge.stores.deliveries import STATES

__all__ = ["CHANNEL_OPERATIONS"]

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
