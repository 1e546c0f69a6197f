"""Threads whose time is over: lost runs and expired batches, met on touch or by the sweeper.

Neither calls an adapter. Both are compare-and-swaps, so that of many processes one does it.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Literal

from agui_bridge.engine.presence import Duty
from agui_bridge.engine.repository import until_answered
from agui_bridge.engine.run.claim import Claim, take_edits_back
from agui_bridge.engine.streaming.clock import Clock
from agui_bridge.errors import Conflict, NotReplicated, StoreError, StoreUnavailable
from agui_bridge.frozen import replace
from agui_bridge.protocol.answers.unexecuted import (
    EXPIRED,
    LOST,
    STOPPED,
    answer_batch,
    answer_calls,
)
from agui_bridge.protocol.audit.verifying import counted, sealed_rows, taken_back, waits_for_others
from agui_bridge.protocol.contract.end_transitions import give_back, let_go
from agui_bridge.protocol.contract.lost_transitions import close_stranded, recover
from agui_bridge.protocol.contract.transitions import Change, close_unanswered
from agui_bridge.protocol.threads.history import History
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.records import Interrupt, InterruptStatus, ThreadKey
from agui_bridge.stores.base import Due, Expected, InterruptRow, QuestionFilter, Store

logger: Final = logging.getLogger("agui_bridge")


async def recover_thread(
    store: Store, key: ThreadKey, loaded: Loaded, mint: Callable[[], str]
) -> None:
    """Make the thread of a lost run idle, which nobody takes up; nothing of it is done again.

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
    until, write_id = clock.monotonic() + seconds, mint()
    try:
        await until_answered(
            lambda: store.commit(key, change, Expected(lease=run.token), write_id),
            clock,
            lambda: clock.monotonic() >= until,
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


async def settle_look(
    store: Store, key: ThreadKey, loaded: Loaded, mint: Callable[[], str]
) -> bool:
    """Settle what no run and no answer does any more: claims that are stranded, unsealed answers.

    Returns:
        Whether there was any, by whomever it is settled: the look is out of date.

    Raises:
        StoreUnavailable: the store did not answer.
    """
    if loaded.stranded:
        with contextlib.suppress(Conflict):
            await _settle_stranded(store, key, loaded, mint)
        return True
    return await _take_unsealed_back(store, key, loaded, mint)


async def _settle_stranded(
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


async def _take_unsealed_back(
    store: Store, key: ThreadKey, loaded: Loaded, mint: Callable[[], str]
) -> bool:
    """Take votes, and answers that wait for others, out of a thread if no sealed row tells of them.

    Where there are keys, what a thread's questions were told counts as the audit chain has it. It
    is read only where there are such answers.

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


async def settle_thread(store: Store, key: ThreadKey, mint: Callable[[], str]) -> bool:
    """The same of all questions of a thread; whether there were any.

    Raises:
        Conflict: the thread has changed meanwhile.
    """
    claimed = InterruptStatus.CLAIMED
    which = QuestionFilter(agent=key.agent, thread=key.thread, status=claimed)
    rows = await store.list_interrupts(key.scope, which)
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
            await _settle_stranded(store, key, loaded, mint)
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


_PAGE: Final = 100
"""Threads that one sweep works on."""

_MANY: Final = 50
"""Who has served so many of them may have left others, and goes on at once."""

_Swept = Literal["served", "later", "soon", "not due"]

_PUT_OFF_SECONDS: Final = 30.0
_SOON_SECONDS: Final = 2.0
_MOST_PUT_OFF: Final = 10_000

Looker = Callable[[ThreadKey, Loaded], Awaitable[bool]]
"""Takes a look that is due, or has a run go on that slept, or is lost; says whether it did."""


class PutOff:
    """Threads that this process can do nothing about now.

    It lacks the agent, a scope is full, or a lost run waits for its next attempt.

    They stay due. Others that are due after them are not kept waiting.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._until: dict[ThreadKey, float] = {}

    def __len__(self) -> int:
        return len(self._until)

    def add(self, key: ThreadKey, seconds: float = _PUT_OFF_SECONDS) -> None:
        """Leave a thread alone for a while."""
        if len(self._until) < _MOST_PUT_OFF:
            self._until[key] = self._clock.monotonic() + seconds

    def others(self, found: Sequence[Due]) -> list[Due]:
        """Those of the due threads that are to be tried; forgets which are not due any more."""
        due = {one.key for one in found}
        self._until = {key: until for key, until in self._until.items() if key in due}
        now = self._clock.monotonic()
        return [one for one in found if self._until.get(one.key, now) <= now]


async def sweep(
    store: Store,
    mint: Callable[[], str],
    look: Looker | None = None,
    put_off: PutOff | None = None,
) -> int:
    """Look once for lost runs, expired batches and what is to begin; says how many it served.

    Args:
        store: where the threads live.
        mint: makes ids of writes.
        look: takes the looks that are due, and wakes who has slept; None does neither.
        put_off: those that could not be taken before; None tries all.
    """
    served = 0
    found = await store.due(_PAGE + (len(put_off) if put_off else 0))
    for due in put_off.others(found) if put_off is not None else found:
        try:
            match await _sweep_one(store, due, mint, look):
                case "served":
                    served += 1
                case "later" if put_off is not None:
                    put_off.add(due.key)
                case "soon" if put_off is not None:
                    put_off.add(due.key, _SOON_SECONDS)
        except Conflict:
            continue
        except StoreUnavailable:
            raise
        except Exception:
            # One thread that can't be read must not keep the others from being closed.
            logger.exception("the sweeper failed (agent %s)", due.key.agent)
            if put_off is not None:
                put_off.add(due.key)
    return served


async def sweep_forever(
    store: Store, clock: Clock, interval: float, mint: Callable[[], str], look: Looker, duty: Duty
) -> None:
    """Sweep until cancelled, every `interval` seconds at which it is this server's duty."""
    put_off = PutOff(clock)
    while True:
        await clock.sleep(interval)
        if not duty.falls_here():
            continue
        try:
            while await sweep(store, mint, look, put_off) >= _MANY:
                pass
        except StoreError:
            logger.warning("the sweeper could not reach the store; it goes on trying")


async def _sweep_one(
    store: Store, due: Due, mint: Callable[[], str], look: Looker | None
) -> _Swept:
    loaded = await store.load(due.key)
    if loaded.way_on == "later":
        return "soon"
    answered = loaded.hold_over and loaded.only_answered
    if loaded.look_is_due or loaded.timer_due or answered or loaded.way_on == "now":
        return "served" if look is not None and await look(due.key, loaded) else "later"
    loaded = await store.load(due.key, messages=True)
    if loaded.run_lost:
        await recover_thread(store, due.key, loaded, mint)
    elif loaded.all_expired:
        await close_batch(store, due.key, loaded, mint)
    elif loaded.hold_over:
        await _commit(store, due.key, let_go(loaded), loaded, mint)
    else:
        return "not due"
    return "served"


def _history(loaded: Loaded) -> History:
    return History(loaded.messages, loaded.record.state if loaded.record is not None else None)


async def _commit(
    store: Store, key: ThreadKey, change: Change, loaded: Loaded, mint: Callable[[], str]
) -> None:
    assert loaded.record is not None
    await store.commit(key, change, Expected(version=loaded.record.version), mint())
