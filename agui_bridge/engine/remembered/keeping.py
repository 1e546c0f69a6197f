"""Decisions that an answer asks to be remembered."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final

from agui_bridge.errors import StoreError
from agui_bridge.protocol.grants.remembering import grant_of
from agui_bridge.protocol.threads.records import Interrupt, InterruptStatus, ThreadKey
from agui_bridge.stores.base import GrantStore

__all__ = ["keep_grants"]

logger: Final = logging.getLogger("agui_bridge")

_ANSWERED: Final = (InterruptStatus.ANSWERED, InterruptStatus.CLAIMED)


async def keep_grants(
    store: GrantStore, key: ThreadKey, asks: Sequence[Interrupt], now: float
) -> None:
    """Store what was approved for good, once the answers themselves are stored.

    A decision that is lost here is asked for again: that is the safe side.

    Args:
        store: takes them.
        key: the thread.
        asks: questions as they were committed.
        now: the store's time.
    """
    for ask in asks:
        grant = grant_of(key, ask, now) if ask.status in _ANSWERED else None
        if grant is None:
            continue
        try:
            await store.add(grant)
        except StoreError:
            logger.warning("the decision on %s is not remembered", ask.id, exc_info=True)
