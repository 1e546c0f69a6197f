"""Threads whose time is over: lost runs and expired batches, met on touch or by the sweeper.

Neither calls an adapter. Both are compare-and-swaps, so that of many processes one does it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection

from agui_bridge.engine.input.incoming import asked_calls, settle_dangling
from agui_bridge.engine.streaming.clock import Clock
from agui_bridge.errors import Conflict, StoreError, StoreUnavailable
from agui_bridge.protocol.contract.transitions import Change, close_unanswered, recover
from agui_bridge.protocol.threads.history import History
from agui_bridge.protocol.threads.records import Loaded, ThreadKey, ThreadStatus
from agui_bridge.stores.base import Due, Expected, Store

__all__ = ["EXPIRED_RESULT", "close_batch", "recover_thread", "sweep", "sweep_forever"]

logger = logging.getLogger("agui_bridge")

EXPIRED_RESULT = "The time to approve this tool call is over; it was not executed."
_LOST_RESULT = "The run was lost; whether this tool call was executed is unknown."
_STOPPED_RESULT = "The run was stopped; this tool call was not executed."


async def recover_thread(
    store: Store, key: ThreadKey, loaded: Loaded, mint: Callable[[], str]
) -> None:
    """Make the thread of a lost run idle; what it may have done is never done again.

    Raises:
        Conflict: the thread has changed meanwhile.
    """
    history = _history(loaded)
    _settle(history, loaded, _LOST_RESULT, mint)
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
    reason = EXPIRED_RESULT if stopped_by is None else _STOPPED_RESULT
    _settle(history, loaded, reason, mint, asked=asked_calls(loaded))
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
    record = loaded.record
    if record is None:
        return 0
    if loaded.status is ThreadStatus.RUNNING and record.run is not None:
        if record.run.ends_at <= loaded.now:
            await recover_thread(store, due.key, loaded, mint)
            return 1
    elif loaded.status is ThreadStatus.INTERRUPTED:
        asks = loaded.batch_interrupts()
        if asks and all(ask.expired(loaded.now) for ask in asks):
            await close_batch(store, due.key, loaded, mint)
            return 1
    return 0


def _history(loaded: Loaded) -> History:
    return History(loaded.messages, loaded.record.state if loaded.record is not None else None)


def _settle(
    history: History,
    loaded: Loaded,
    reason: str,
    mint: Callable[[], str],
    asked: Collection[str] | None = None,
) -> None:
    pending = loaded.record.pending_calls if loaded.record is not None else ()
    settle_dangling(history, pending=pending, reason=reason, mint=mint, asked=asked)


async def _commit(
    store: Store, key: ThreadKey, change: Change, loaded: Loaded, mint: Callable[[], str]
) -> None:
    assert loaded.record is not None
    await store.commit(key, change, Expected(version=loaded.record.version), mint())
