"""How near a thread is to the bound of its size, and that its oldest turns have left the context.

Source: docs/contract.md, Z7.
"""

from __future__ import annotations

from typing import Final

from agui_bridge.protocol.json_values import WireEvent

__all__ = ["THREAD_SIZE", "told_size"]

THREAD_SIZE: Final = "agui_bridge.thread_size"
"""Name of the CUSTOM event."""


def told_size(size: int, most: int, archived: int) -> WireEvent:
    """The event that says it.

    Args:
        size: bytes of the conversation as JSON, once the oldest turns have left.
        most: how many it may have.
        archived: messages that have left with this run.
    """
    value = {"bytes": size, "max": most, **({"archived": archived} if archived else {})}
    return {"type": "CUSTOM", "name": THREAD_SIZE, "value": value}
