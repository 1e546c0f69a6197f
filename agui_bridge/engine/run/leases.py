"""Ownership of a running thread: its lease, and all the owner's writes through one door.

Source: docs/contract.md, "Crash, lease, lost runs, failed delivery".
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from agui_bridge.engine.repository import Repository, until_answered
from agui_bridge.engine.streaming.clock import Clock, StoreTime
from agui_bridge.errors import Conflict, Fenced, StoreError, StoreUnavailable, WritesLost
from agui_bridge.frozen import replace
from agui_bridge.protocol.contract.end_transitions import Written, close_lost_claim
from agui_bridge.protocol.contract.transitions import Change
from agui_bridge.protocol.threads.history import StoredMessage
from agui_bridge.protocol.threads.records import (
    Interrupt,
    StopRequest,
    ThreadKey,
    ThreadRecord,
    ThreadStatus,
)
from agui_bridge.stores.base import Committed, Expected, GrantStore

logger: Final = logging.getLogger("agui_bridge")

_MARGIN = 0.1


class Owner:
    """The right to write to a running thread, for as long as its lease holds.

    Attributes:
        record: the thread's record as last committed.
        time: the store's time, estimated between its answers.
        grants: the decisions that are remembered.
        token: of the lease.
        tokens: that, and those that the run had before it was taken up.
        lost: True once the lease is over or somebody else's; nothing is written from then on.
        lease_seconds: how long the lease is.
    """

    def __init__(
        self,
        threads: Repository,
        clock: Clock,
        key: ThreadKey,
        claimed: Committed,
        *,
        claimed_at: float,
        lease_seconds: float,
        store_retry: float,
        mint: Callable[[], str],
        heavy: bool,
    ) -> None:
        """Begin to own.

        Args:
            threads: where the thread lives.
            clock: what to wait by.
            key: the thread.
            claimed: what the claim's commit returned.
            claimed_at: `clock.monotonic()` from before that commit was sent.
            lease_seconds: length of the lease.
            store_retry: for how long a failed write is tried again.
            mint: makes write ids.
            heavy: whether the thread holds much, so that its writes take turns.
        """
        assert claimed.record.run is not None
        self.key = key
        self.record: ThreadRecord = claimed.record
        self.time: StoreTime = StoreTime(clock, claimed.now)
        self.lost: bool = False
        self.token: str = claimed.record.run.token
        point = claimed.record.checkpoint
        self.tokens: tuple[str, ...] = (self.token, *(point.tokens if point is not None else ()))
        self.grants: GrantStore = threads.store.grants
        self._store = threads.store
        self._threads = threads
        self._heavy = heavy
        self._clock = clock
        self.lease_seconds: float = lease_seconds
        self._store_retry = store_retry
        self.mint = mint
        self._renewed_at = claimed_at
        self._lock = asyncio.Lock()
        self._words: str | None = None
        self._written = Written()

    @property
    def deadline(self) -> float:
        """Monotonic time after which the owner may do nothing more."""
        return self._renewed_at + self.lease_seconds * (1 - _MARGIN)

    @property
    def renew_at(self) -> float:
        """Monotonic time when a third of the lease has passed since it was renewed."""
        return self._renewed_at + self.lease_seconds / 3

    def renewed(self, asked_at: float, now: float) -> None:
        """Take note that the store has renewed the lease without a write.

        Args:
            asked_at: `clock.monotonic()` from before it was asked to.
            now: the store's time then.
        """
        self._renewed_at = max(self._renewed_at, asked_at)
        self.time.seen(now)

    def notice_expiry(self) -> None:
        """Set `lost` if the lease is over by this process's own clock."""
        self.lost = self.lost or self._clock.monotonic() >= self.deadline

    def check(self) -> None:
        """Raise Fenced unless the lease still holds by this process's own clock."""
        self.notice_expiry()
        if self.lost:
            raise Fenced("the lease of this run is over; it may do nothing more")

    async def keep_words(self, said: StoredMessage) -> None:
        """Keep what the run is saying as far as it has come, for other processes.

        Raises:
            StoreUnavailable: the store did not answer.
        """
        self._words = said.id
        await self._store.keep_words(self.key, self.token, said)

    async def announce_stop(self, timeout: float) -> None:
        """Note in the store that this run is being stopped, and until when at most.

        Raises:
            StoreUnavailable: the store did not answer.
        """
        run = self.record.run
        if run is not None:
            until = self.time.now() + timeout
            await self._store.request_stop(
                self.key, StopRequest(self.token, False, until, run.actor)
            )

    async def commit(
        self,
        build: Callable[[ThreadRecord, float], Change],
        undo: Callable[[], None] = lambda: None,
    ) -> None:
        """Write as the owner; every write renews the lease.

        The write is carried through even when the caller is cancelled meanwhile.

        Args:
            build: makes the change from the owner's record and the store's time; it is called
                once it is this write's turn.
            undo: called when the store did not answer in time, also when the caller is gone
                by then: what `build` took is still to be written.

        Raises:
            Fenced: the lease is over or another's; nothing was written.
            StoreUnavailable: the store did not answer in time.
        """
        task = asyncio.ensure_future(self._commit(build, undo))
        task.add_done_callback(_retrieve)
        await asyncio.shield(task)

    async def _commit(
        self, build: Callable[[ThreadRecord, float], Change], undo: Callable[[], None]
    ) -> None:
        async with self._lock:
            self.check()
            began = self._clock.monotonic()
            change = build(self.record, self.time.now())
            if change.record.run is not None or change.record.hold is not None:
                change = replace(change, lease_seconds=self.lease_seconds)
            if self._words is not None and (
                change.record.run is None or any(m.id == self._words for m in change.messages)
            ):
                change = replace(change, drops_words=True)

            def give_up() -> bool:
                now = self._clock.monotonic()
                return now >= min(began + self._store_retry, self.deadline)

            try:
                committed = await self._send(change, self.record.write_id, give_up)
            except Conflict as error:
                if await self._was_mine(change):
                    # That others have gone on from there tells nothing of what replicas have.
                    await self._store.ping()
                    return
                self.lost = True
                raise Fenced("the lease of this run is over; somebody else owns it") from error
            except StoreUnavailable:
                undo()
                raise
            self._written.note(change, committed.record.chain)
            self.record = committed.record
            self.time.seen(committed.now)
            # The store counted the lease from some moment after this one.
            self._renewed_at = max(self._renewed_at, began)

    async def close_lost_claim(
        self, claimed: Sequence[Interrupt], said: Callable[[], Sequence[StoredMessage]]
    ) -> None:
        """Close the questions that this run carries out, if the store has lost their claim.

        Nobody else leaves a thread in the pause whose claim this run has: a failover has lost the
        claim. Whoever answers again would have it executed again, and where nobody does, the
        history would say that it was not executed.

        Args:
            claimed: the questions, as last written.
            said: gives all messages, once they are needed.
        """
        batch = self.record.batch
        if batch is None:
            return
        try:
            loaded = await self._store.load(self.key, messages=True)
            now = loaded.record
            if now is None or now.status is not ThreadStatus.INTERRUPTED or now.batch != batch:
                return
            known = {row.id: row for row in loaded.messages}
            messages = [row for row in said() if known.get(row.id) != row]
            change = close_lost_claim(loaded, self.record, claimed, messages=messages)
            expected = Expected(version=now.version)
            await self._threads.write(self.key, change, expected, self.mint(), heavy=self._heavy)
        except StoreError as error:
            logger.error("the store has lost a claim that was acted upon: %s", error)
        else:
            logger.error(
                "the store has lost a claim that was acted upon (agent %s, thread %s): its "
                "questions are closed",
                *(self.key.agent, self.key.thread),
            )

    async def _send(self, change: Change, after: str, give_up: Callable[[], bool]) -> Committed:
        """Commit; where the store has lost what was written before, with all of that."""
        while True:
            write = partial(
                self._threads.write,
                self.key,
                change,
                Expected(lease=self.token, after=after),
                self.mint(),
                heavy=self._heavy,
            )
            try:
                return await until_answered(write, self._clock, give_up)
            except WritesLost:
                # Or it has a write whose acknowledgement was lost: all of it holds that, too.
                loaded = await until_answered(
                    lambda: self._store.load(self.key), self._clock, give_up
                )
                if loaded.record is None:
                    raise Fenced("the thread of this run is gone") from None
                after = loaded.record.write_id
                change = self._written.whole(change, loaded.record.chain)
                logger.warning(
                    "the store does not have what a run wrote last (agent %s, thread %s): all that "
                    "the run wrote is written again",
                    *(self.key.agent, self.key.thread),
                )

    async def _was_mine(self, change: Change) -> bool:
        """Whether a conflicting last write had in truth arrived, its acknowledgement lost.

        By now others may have gone on from there, so the write id may be overwritten; the
        receipt, the new interrupts, or the ending in the record tell.
        """
        if change.record.run is not None:
            return False
        ids = [row.id for row in change.interrupts]
        # Those whose result was stored before are closed already, and only the receipt names them.
        ids += [interrupt_id for receipt in change.receipts for interrupt_id in receipt.answers]
        try:
            loaded = await self._store.load(self.key, ids)
        except StoreUnavailable:
            return False
        ended = loaded.record.ended if loaded.record is not None else None
        batch = change.record.batch
        return (
            (ended is not None and ended.token == self.token and ended.outcome != "lost")
            or any(
                receipt.lease == self.token and receipt.outcome != "lost"
                for receipt in loaded.receipts.values()
            )
            or (batch is not None and any(i.batch == batch.id for i in loaded.interrupts.values()))
        )


def _retrieve(task: asyncio.Task[None]) -> None:
    """Take note of a write's failure whose caller is gone: `lost` and the log tell of it."""
    if not task.cancelled() and task.exception() is not None:
        logger.debug("a write failed after its caller was cancelled: %s", task.exception())
