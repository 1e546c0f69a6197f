"""Threads whose time is over: lost runs and expired batches, met on touch or by the sweeper.

Neither calls an adapter. Both are compare-and-swaps, so that of many processes one does it.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Sequence
from typing import Final

from agui_bridge.engine.run.claim import Claim
from agui_bridge.engine.run.decided_calls import take_edits_back
from agui_bridge.engine.run.leases import commit_safely
from agui_bridge.engine.streaming.clock import Clock
from agui_bridge.errors import Conflict, NotReplicated, StoreError, StoreUnavailable
from agui_bridge.frozen import replace
from agui_bridge.protocol.answers.unanswered_calls import answer_batch, answer_calls
from agui_bridge.protocol.answers.unexecuted import EXPIRED, LOST, STOPPED
from agui_bridge.protocol.contract.end_transitions import give_back
from agui_bridge.protocol.contract.transitions import (
    Change,
    close_stranded,
    close_unanswered,
    recover,
)
from agui_bridge.protocol.threads.history import History
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.records import Interrupt, InterruptStatus, ThreadKey
from agui_bridge.stores.base import Due, Expected, InterruptRow, Store

__all__ = [
    "close_batch",
    "give_claim_back",
    "recover_thread",
    "settle_rows",
    "settle_stranded",
    "settle_thread",
    "sweep",
    "sweep_forever",
]

logger: Final = logging.getLogger("agui_bridge")


async def recover_thread(
    store: Store, key: ThreadKey, loaded: Loaded, mint: Callable[[], str]
) -> None:
    """Make the thread of a lost run idle; what it may have done is never done again.

    What it was saying stays, as far as it was kept (`Store.keep_words`), marked as cut off.

    Raises:
        Conflict: the thread has changed meanwhile.
    """
    history = _history(loaded)
    if (said := await store.words(key)) is not None:
        history.take_up(said)
    answer_calls(history, LOST, mint=mint, but=loaded.pending_calls)
    change = replace(recover(loaded, history.take_dirty()), drops_words=said is not None)
    await _commit(store, key, change, loaded, mint)
    logger.warning("a run was lost (agent %s, thread %s)", key.agent, key.thread)


async def give_claim_back(
    store: Store,
    clock: Clock,
    key: ThreadKey,
    claim: Claim,
    seconds: float,
    mint: Callable[[], str],
) -> None:
    """Undo a claim that was not acknowledged, should it have arrived; nothing was executed.

    Args:
        store: where the thread lives.
        clock: what to wait by.
        key: the thread.
        claim: what was to be committed.
        seconds: how long to try: for as long as the claim's lease may hold.
        mint: makes write ids.
    """
    run, added = claim.change.record.run, claim.incoming.client.added
    assert run is not None, "a claim has a lease"
    take_edits_back(claim.history, claim.interrupts, claim.decisions)
    change = give_back(
        claim.change,
        claim.incoming.loaded,
        said=[message["id"] for message in added if message["role"] != "tool"],
        returned=[message["id"] for message in added if message["role"] == "tool"],
        messages=claim.history.take_dirty(),
        now=claim.incoming.loaded.now,
    )
    until = clock.monotonic() + seconds
    try:
        await commit_safely(
            store,
            clock,
            key,
            change,
            Expected(lease=run.token),
            mint(),
            give_up=lambda: clock.monotonic() >= until,
        )
    except Conflict:
        # It never arrived, or its lease is over.
        return
    except NotReplicated:
        # It is undone where the next answer looks for it.
        pass
    except StoreUnavailable:
        logger.error("a claim that was not acknowledged could not be given back")
        return
    logger.warning(
        "a claim was not acknowledged, and is given back (agent %s, thread %s)",
        *(key.agent, key.thread),
    )


async def settle_stranded(
    store: Store, key: ThreadKey, loaded: Loaded, mint: Callable[[], str]
) -> None:
    """Have the questions of a look that are claimed, and that nothing settles, be indeterminate.

    Raises:
        Conflict: the thread has changed meanwhile.
    """
    await _commit(store, key, close_stranded(loaded, loaded.stranded), loaded, mint)
    logger.warning(
        "questions were claimed, and no run had them: their outcome is unknown (agent %s, "
        "thread %s)",
        *(key.agent, key.thread),
    )


async def settle_thread(store: Store, key: ThreadKey, mint: Callable[[], str]) -> bool:
    """The same of all questions of a thread; whether there were any.

    Raises:
        Conflict: the thread has changed meanwhile.
    """
    claimed = InterruptStatus.CLAIMED
    rows = await store.list_interrupts(
        key.scope, agent=key.agent, thread=key.thread, status=claimed
    )
    settled = await settle_rows(store, rows, mint)
    return any(row.interrupt.status is not claimed for row in settled)


async def settle_rows(
    store: Store, rows: Sequence[InterruptRow], mint: Callable[[], str]
) -> list[InterruptRow]:
    """Questions of a list, as they are once those that nothing settles are indeterminate.

    Raises:
        StoreUnavailable: the store did not answer.
    """
    claimed: dict[ThreadKey, list[str]] = {}
    for row in rows:
        if row.interrupt.status is InterruptStatus.CLAIMED:
            claimed.setdefault(row.key, []).append(row.interrupt.id)
    now: dict[tuple[ThreadKey, str], Interrupt] = {}
    for key, ids in claimed.items():
        loaded = await store.load(key, ids)
        if not loaded.stranded:
            continue
        with contextlib.suppress(Conflict):
            await settle_stranded(store, key, loaded, mint)
            loaded = await store.load(key, ids)
        now.update(((key, ask.id), ask) for ask in loaded.interrupts.values())
    return [replace(r, interrupt=now.get((r.key, r.interrupt.id), r.interrupt)) for r in rows]


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
