"""Threads whose time is over: lost runs and expired batches, met on touch or by the sweeper.

Neither calls an adapter. Both are compare-and-swaps, so that of many processes one does it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from agui_bridge.engine.streaming.clock import Clock
from agui_bridge.errors import Conflict, StoreError, StoreUnavailable
from agui_bridge.protocol.answers.unanswered_calls import answer_batch, answer_calls
from agui_bridge.protocol.answers.unexecuted import EXPIRED, LOST, STOPPED
from agui_bridge.protocol.contract.transitions import Change, close_unanswered, recover
from agui_bridge.protocol.threads.history import History
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.records import ThreadKey
from agui_bridge.stores.base import Due, Expected, Store

__all__ = ["close_batch", "recover_thread", "sweep", "sweep_forever"]

logger: Final = logging.getLogger("agui_bridge")


async def recover_thread(
    store: Store, key: ThreadKey, loaded: Loaded, mint: Callable[[], str]
) -> None:
    """Make the thread of a lost run idle; what it may have done is never done again.

    Raises:
        Conflict: the thread has changed meanwhile.
    """
    history = _history(loaded)
    answer_calls(history, LOST, mint=mint, but=loaded.pending_calls)
    change = recover(loaded, history.take_dirty())
    await _commit(store, key, change, loaded, mint)
    logger.warning("a run was lost (agent %s, thread %s)", key.agent, key.thread)


async def close_batch(
    store: Store,
    key: ThreadKey,
    loaded: Loaded,
    mint: Callable[[], str],
    *,
    stopped_by: str | None = None,
) -> History:
    """Close an interrupted thread's batch without answers: expired, or stopped by somebody.

    Returns:
        The conversation afterwards.

    Raises:
        Conflict: the thread has changed meanwhile.
    """
    history = _history(loaded)
    content = EXPIRED if stopped_by is None else STOPPED
    answer_batch(history, loaded, content, mint)
    change = close_unanswered(
        loaded,
        "expired" if stopped_by is None else "stopped",
        stopped_by or "bridge",
        history.take_dirty(),
    )
    await _commit(store, key, change, loaded, mint)
    return history


async def sweep(store: Store, mint: Callable[[], str]) -> int:
    """Look once for lost runs and expired batches; says how many were closed."""
    closed = 0
    for due in await store.due():
        try:
            closed += await _sweep_one(store, due, mint)
        except Conflict:
            continue
        except StoreUnavailable:
            raise
        except Exception:
            # One thread that can't be read must not keep the others from being closed.
            logger.exception("the sweeper failed (agent %s)", due.key.agent)
    return closed


async def sweep_forever(
    store: Store, clock: Clock, interval: float, mint: Callable[[], str]
) -> None:
    """Sweep every `interval` seconds until cancelled."""
    while True:
        await clock.sleep(interval)
        try:
            await sweep(store, mint)
        except StoreError:
            logger.warning("the sweeper could not reach the store; it goes on trying")


async def _sweep_one(store: Store, due: Due, mint: Callable[[], str]) -> int:
    loaded = await store.load(due.key, messages=True)
    if loaded.run_lost:
        await recover_thread(store, due.key, loaded, mint)
    elif loaded.all_expired:
        await close_batch(store, due.key, loaded, mint)
    else:
        return 0
    return 1


def _history(loaded: Loaded) -> History:
    return History(loaded.messages, loaded.record.state if loaded.record is not None else None)


async def _commit(
    store: Store, key: ThreadKey, change: Change, loaded: Loaded, mint: Callable[[], str]
) -> None:
    assert loaded.record is not None
    await store.commit(key, change, Expected(version=loaded.record.version), mint())
