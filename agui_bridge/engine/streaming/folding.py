"""A run's events folded into the thread's history."""

from __future__ import annotations

import logging
from typing import Final

from agui_bridge.protocol.json_patch import PatchError
from agui_bridge.protocol.json_values import WireEvent
from agui_bridge.protocol.threads.history import History
from agui_bridge.protocol.verifier.shapes import without_unknown

__all__ = ["fold"]

logger: Final = logging.getLogger("agui_bridge")

_PATCHES: Final = frozenset({"STATE_DELTA", "ACTIVITY_DELTA"})


def fold(event: WireEvent, history: History, *, relayed: bool) -> bool:
    """Fold one event in. A delta that does not fit changes nothing, as with every client.

    Args:
        event: that clients are told.
        history: the thread's.
        relayed: whether another server said it: operations that nobody knows are then passed over.

    Returns:
        Whether clients are told: what fits nothing is passed on where another server said it.
    """
    kind = event["type"]
    if relayed and kind in _PATCHES:
        event, _ = without_unknown(event, members=False)
    try:
        history.apply(event)
    except PatchError as error:
        if not relayed:
            logger.warning("%s can't be applied, and is left out: %s", kind, error)
            return False
        logger.warning("%s of the upstream agent can't be applied, and is passed on", kind)
    return True
