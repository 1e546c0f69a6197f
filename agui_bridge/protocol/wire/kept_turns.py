"""Why nothing was taken back, though a client's list ends before the thread does.

Source: docs/contract.md, G13.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from agui_bridge.protocol.json_values import WireEvent
from agui_bridge.protocol.threads.going_back import Kept

__all__ = ["KEPT", "told_kept"]

KEPT: Final = "agui_bridge.kept"
"""Name of the CUSTOM event."""

_WHY: Final[Mapping[Kept, str]] = {
    "archived": "What the page went back to was archived, as the thread had become too long.",
    "behind": "The page had not heard of the newest messages.",
    "calls": "Tool calls would have left the conversation, and the page did not say that it "
    "knew of them.",
    "others": "Messages of somebody else would have left the conversation.",
    "superseded": "The page has messages that were taken back before.",
    "unfinished": "An answer that the page had not heard would have left the conversation.",
    "unsigned": "The page did not say that it knew what would have left the conversation.",
}


def told_kept(kept: Kept | None) -> tuple[WireEvent, ...]:
    """The event that says it, if there is anything to say; snapshots show what the thread is."""
    if kept is None:
        return ()
    value = {"reason": kept, "message": f"{_WHY[kept]} Nothing was taken back."}
    return ({"type": "CUSTOM", "name": KEPT, "value": value},)
