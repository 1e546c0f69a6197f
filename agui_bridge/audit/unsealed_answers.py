"""Where there are keys, what a thread's questions were told counts as the audit chain has it."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable
from typing import Final

from agui_bridge.errors import Conflict
from agui_bridge.protocol.audit.counting import counted, taken_back, waits_for_others
from agui_bridge.protocol.audit.verifying import sealed_rows
from agui_bridge.protocol.contract.transitions import Change
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.records import ThreadKey
from agui_bridge.stores.base import Expected, Store

__all__ = ["take_unsealed_back"]

logger: Final = logging.getLogger("agui_bridge")


async def take_unsealed_back(
    store: Store, key: ThreadKey, loaded: Loaded, mint: Callable[[], str]
) -> bool:
    """Take votes, and answers that wait for others, out of a thread if no sealed row tells of them.

    Reads the chain only where there are such answers and the store has keys.

    Args:
        store: where the thread lives.
        key: the thread.
        loaded: the thread, as it is stored.
        mint: makes ids of writes.

    Returns:
        Whether there were any; the thread is to be loaded again.

    Raises:
        StoreUnavailable: the store did not answer.
    """
    keys, record = store.audit.keys, loaded.record
    if keys is None or record is None:
        return False
    waiting = [ask for ask in loaded.interrupts.values() if waits_for_others(ask)]
    if not waiting:
        return False
    rows = sealed_rows(key, await store.audit.rows(key), keys)
    found = [(ask, counted(ask, rows, keys)) for ask in waiting]
    changed = tuple(taken_back(now, loaded.now) for was, now in found if now is not was)
    if not changed:
        return False
    with contextlib.suppress(Conflict):
        change = Change(record, interrupts=changed)
        await store.commit(key, change, Expected(version=record.version), mint())
        for ask in changed:
            logger.error(
                "question %s of thread %s (agent %s, scope %s): the store had a vote or an answer "
                "that no sealed row tells of. It was taken back; see docs/audit.md.",
                *(ask.id, key.thread, key.agent, key.scope),
            )
    return True
