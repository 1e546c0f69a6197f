"""One consistent look at a thread: what the store gives, and what follows from it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from agui_bridge.protocol.threads.checkpoint import KEPT_FOR
from agui_bridge.protocol.threads.history import StoredMessage
from agui_bridge.protocol.threads.record_parts import PauseHold
from agui_bridge.protocol.threads.records import (
    Interrupt,
    InterruptStatus,
    Json,
    Receipt,
    RunLease,
    ThreadRecord,
    ThreadStatus,
)


@dataclass(frozen=True)
class Loaded:
    """One consistent look at a thread; without slots, so that it keeps what is asked for often.

    Attributes:
        record: None when the thread does not exist (which counts as idle).
        interrupts: by id: those of the record's batch, and those that were asked for by id
            together with their whole batches.
        receipts: by batch id, for the batches of `interrupts`.
        messages: the messages in context, in order; empty unless they were asked for.
        now: the store's time.
    """

    record: ThreadRecord | None
    now: float
    interrupts: Mapping[str, Interrupt] = field(default_factory=dict)
    receipts: Mapping[str, Receipt] = field(default_factory=dict)
    messages: tuple[StoredMessage, ...] = ()

    @property
    def status(self) -> ThreadStatus:
        """The thread's status; a missing thread is idle."""
        return self.record.status if self.record is not None else ThreadStatus.IDLE

    @property
    def run(self) -> RunLease | None:
        """The lease of the run that the thread is busy with."""
        return self.record.run if self.record is not None else None

    @property
    def stopping(self) -> bool:
        """Whether its run was asked to stop."""
        return self.record is not None and self.record.stop_requested is not None

    @property
    def pending_calls(self) -> tuple[str, ...]:
        """Ids of frontend tool calls that wait for the application's result."""
        return self.record.pending_calls if self.record is not None else ()

    @property
    def look_is_due(self) -> bool:
        """Whether the thread does nothing, and somebody is to look after what it has left."""
        look_at = self.record.look_at if self.record is not None else None
        return look_at is not None and look_at <= self.now

    @property
    def may_look(self) -> bool:
        """Whether a run may ask what work asks that an earlier one has left: nothing else waits."""
        record = self.record
        if record is None or record.watch is None or record.status is not ThreadStatus.IDLE:
            return False
        return not (record.pending_calls or record.unheard)

    @property
    def run_lost(self) -> bool:
        """Whether the thread is running and its lease is over: nobody carries it on."""
        run = self.run
        return self.status is ThreadStatus.RUNNING and (run is None or run.term.is_over(self.now))

    @property
    def way_on(self) -> Literal["now", "later"] | None:
        """When a lost run is taken up: now, later, or never.

        One that was asked to stop is taken up at once, to end; unless an act of it has begun and
        has no result: then nobody knows what it did, and it ends as any other that is lost.
        """
        record = self.record
        if record is None or record.checkpoint is None or not self.run_lost:
            return None
        point, stops = record.checkpoint, record.stop_requested is not None
        if not point.may_go_on or (stops and point.begun) or point.is_given_up:
            return None
        if record.run is None or self.now >= record.run.ends_at + KEPT_FOR:
            return None
        return "now" if stops or self.now >= point.not_before else "later"

    def runs(self, token: str) -> bool:
        """Whether the run of a lease token is still the one under way.

        Its lease is not over, or it is to be taken up later.
        """
        mine = self.run is not None and self.run.token == token
        return mine and (not self.run_lost or self.way_on == "later")

    @property
    def hold(self) -> PauseHold | None:
        """Who holds the pause that the thread is in, as long as they do."""
        held = self._last_hold
        return held if held is not None and not held.term.is_over(self.now) else None

    @property
    def held_by(self) -> str | None:
        """Token of the hold that its pause has, whether or not that is over."""
        held = self._last_hold
        return held.token if held is not None else None

    @property
    def hold_over(self) -> bool:
        """Whether the pause was held and is no more, which nobody has noted yet."""
        held = self._last_hold
        return held is not None and held.term.is_over(self.now)

    @property
    def _last_hold(self) -> PauseHold | None:
        paused = self.record is not None and self.status is ThreadStatus.INTERRUPTED
        return self.record.hold if self.record is not None and paused else None

    @property
    def only_answered(self) -> bool:
        """Whether its questions are all answered or expired, and one of them is not expired."""
        return bool(self.asks) and not self.waiting and not self.all_expired

    @property
    def result(self) -> Json:
        """What the newest run gave; None while it goes on, and where it did not end by itself."""
        record = self.record
        if record is None or record.run is not None or record.ended is None:
            return None
        return record.ended.result if record.ended.outcome == "finished" else None

    def result_of(self, interrupt_ids: Iterable[str]) -> Json:
        """The same, for who names interrupts: None unless that run answered or asked them.

        Args:
            interrupt_ids: those for which this look was taken.
        """
        record = self.record
        if record is None or record.ended is None:
            return None
        for batch in {self.interrupts[i].batch for i in interrupt_ids if i in self.interrupts}:
            receipt = self.receipts.get(batch)
            if receipt is not None and receipt.lease == record.ended.token:
                return self.result
            if record.batch is not None and record.batch.id == batch:
                return self.result
        return None

    @cached_property
    def asks(self) -> tuple[Interrupt, ...]:
        """The questions of the pause that the thread is in, answered and expired ones too."""
        return self.batch_interrupts() if self.status is ThreadStatus.INTERRUPTED else ()

    @cached_property
    def waiting(self) -> tuple[Interrupt, ...]:
        """Those of them that can be answered: open, and not expired."""
        return tuple(ask for ask in self.asks if ask.is_open and not ask.expired(self.now))

    @property
    def asked_calls(self) -> tuple[str, ...]:
        """Ids of the tool calls that the questions of the record's own batch are about."""
        asks = self.batch_interrupts()
        return tuple(ask.tool_call.id for ask in asks if ask.tool_call is not None)

    @property
    def all_expired(self) -> bool:
        """Whether there are such questions, and the time of every one is over."""
        return bool(self.asks) and all(ask.expired(self.now) for ask in self.asks)

    @property
    def timer_due(self) -> bool:
        """Whether its run sleeps, and its time has come: it is to go on."""
        return self.all_expired and any(ask.is_timer for ask in self.asks)

    @property
    def stranded(self) -> tuple[Interrupt, ...]:
        """Those of its interrupts that are claimed, though nothing runs that could settle them."""
        if self.status is ThreadStatus.RUNNING:
            return ()
        asks = self.interrupts.values()
        return tuple(ask for ask in asks if ask.status is InterruptStatus.CLAIMED)

    def batch_interrupts(self) -> tuple[Interrupt, ...]:
        """The interrupts of the record's own batch, in order."""
        return self._batch_interrupts

    @cached_property
    def _batch_interrupts(self) -> tuple[Interrupt, ...]:
        if self.record is None or self.record.batch is None:
            return ()
        batch = self.record.batch.id
        return tuple(
            sorted(
                (i for i in self.interrupts.values() if i.batch == batch),
                key=lambda interrupt: interrupt.position,
            )
        )
