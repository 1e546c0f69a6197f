"""Deliveries as rows of the SQL stores, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from agui_bridge.protocol.threads.records import Json, ThreadKey
from agui_bridge.stores import codec
from agui_bridge.stores.deliveries import Delivery

__all__ = [
    "COLUMNS",
    "OF_IT",
    "OF_ITS_END",
    "close_row",
    "encode_noted",
    "read_asked",
    "read_delivery",
]

OF_IT: Final = 1
OF_ITS_END: Final = 2
"""What people have been told of a question, in its column `told`."""

COLUMNS: Final = (
    *("scope", "agent", "thread", "id", "interrupt", "channel", "event", "due_at", "state"),
    *("attempts", "lease", "noted", "error", "created_at", "updated_at", "closed_by"),
)
"""What `read_delivery` reads, in its order."""


def read_delivery(row: Sequence[Any]) -> Delivery:
    """A delivery, from the columns `COLUMNS`."""
    values = dict(zip(COLUMNS, row, strict=True))
    key = ThreadKey(*(values.pop(name) for name in ("scope", "agent", "thread")))
    noted = values.pop("noted")
    return Delivery(key, noted=None if noted is None else codec.decode(noted), **values)


def read_asked(row: Sequence[Any]) -> tuple[ThreadKey, str]:
    """A question, from its key and id."""
    *key, interrupt = row
    return ThreadKey(*key), interrupt


def close_row(delivery: Delivery, actor: str) -> dict[str, Any]:
    """What closing a delivery asks for: its id, what it must still be, and by whom."""
    return {
        "id": delivery.id,
        "state": delivery.state,
        "attempts": delivery.attempts,
        "lease": delivery.lease,
        "actor": actor,
    }


def encode_noted(noted: Mapping[str, Json] | None) -> str | None:
    """The column `noted`."""
    return None if noted is None else codec.encode(dict(noted))
