"""The engine: loads, admits, and carries the ruling out. The only interpreter of decisions.

Source: docs/contract.md.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import os
from collections.abc import Callable, Coroutine, Sequence
from typing import Final

from agui_bridge.audit.unsealed_answers import take_unsealed_back
from agui_bridge.engine.heavy_reads import HeavyReads
from agui_bridge.engine.heavy_turns import HeavyTurns
from agui_bridge.engine.heavy_writes import HeavyWrites
from agui_bridge.engine.input.auto_resume import request_of
from agui_bridge.engine.input.holding import hold_answers
from agui_bridge.engine.input.kept_messages import KeptMessages
from agui_bridge.engine.input.past import past_of
from agui_bridge.engine.input.receipts import receipt_of
from agui_bridge.engine.input.settings import Settings
from agui_bridge.engine.input.starting_conversation import StartingConversation
from agui_bridge.engine.input.submission import Submission
from agui_bridge.engine.input.thread_size import check_brought
from agui_bridge.engine.input.weight import are_heavy_answers, is_heavy_thread
from agui_bridge.engine.late_results import keep_late_result
from agui_bridge.engine.long_threads import LongThreads
from agui_bridge.engine.observing.log_context import RunIds, enter_run
from agui_bridge.engine.observing.telemetry import NO_TELEMETRY, InputTelemetry, Telemetry
from agui_bridge.engine.recovery import (
    close_batch,
    give_claim_back,
    recover_thread,
    settle_rows,
    settle_stranded,
    settle_thread,
    sweep_forever,
)
from agui_bridge.engine.remembered.keeping import keep_grants
from agui_bridge.engine.run.claim import Claim
from agui_bridge.engine.run.closing import close_run
from agui_bridge.engine.run.end_hooks import RunEndHook, tell_run_end
from agui_bridge.engine.run.execution import Execution
from agui_bridge.engine.run.keeper import Keeper
from agui_bridge.engine.run.leases import Owner, commit_safely
from agui_bridge.engine.scope_slots import ScopeSlots
from agui_bridge.engine.stop_requests import StopRequests
from agui_bridge.engine.stopping import check_may_withdraw, stop_thread
from agui_bridge.engine.streaming.clock import Clock, SystemClock
from agui_bridge.engine.streaming.event_stream import EventStream
from agui_bridge.engine.streaming.failures import failures_told
from agui_bridge.engine.streaming.pipe import Pipe
from agui_bridge.engine.waiting import finish_unless_gone, wait_for_run
from agui_bridge.engine.write_check import WriteCheck
from agui_bridge.errors import Conflict, Refused, StoreUnavailable, WritesRefused
from agui_bridge.frozen import dataclass, replace
from agui_bridge.protocol.contract.admission import admit
from agui_bridge.protocol.contract.requests import (
    AskAgain,
    Hold,
    Join,
    Keep,
    Recover,
    Reject,
    Replay,
    Resume,
    Start,
)
from agui_bridge.protocol.contract.transitions import Change, keep_results
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.records import Principal, ThreadKey, ThreadStatus
from agui_bridge.protocol.threads.run_ends import StopResult
from agui_bridge.protocol.wire.run_events import CANCELLED, outcome_now
from agui_bridge.stores.base import ABSENT, Committed, Expected, InterruptRow, Store

__all__ = ["Engine", "mint"]

logger: Final = logging.getLogger("agui_bridge")


@dataclass(frozen=True, slots=True)
class _Done:
    """What came of a look at a thread: a claimed run to carry out, or all was told."""

    execution: Execution | None = None


@dataclass(frozen=True, slots=True)
class _Wait:
    """Another run is to be waited for, and then the thread is looked at again.

    Attributes:
        loaded: the thread, without its messages.
        join: how long; None for as long as a busy thread is waited for.
    """

    loaded: Loaded
    join: Join | None = None


def mint() -> str:
    """A new id: 128 random bits, in hexadecimal digits."""
    return os.urandom(16).hex()


class Engine:
    """Carries out inputs on one store.

    Attributes:
        store: where threads live.
        running: the runs of this process, by thread.
        telemetry: is told of what the engine does.
        turns: gives heavy work its turns.
        reads: loads threads that are only looked at.
        writes: knows whether the store takes writes.
        keeper: looks after the runs, and knows who looks at what is silent.
    """

    def __init__(
        self,
        store: Store,
        settings: Settings,
        clock: Clock | None = None,
        *,
        telemetry: Telemetry = NO_TELEMETRY,
        on_run_end: Sequence[RunEndHook] = (),
        turns: HeavyTurns | None = None,
    ) -> None:
        self.running: dict[ThreadKey, Execution] = {}
        self.store: Store = telemetry.observe(store, self)
        self.telemetry = telemetry
        self.settings = settings
        self.clock: Clock = clock or SystemClock()
        self.keeper: Keeper = Keeper(self.store, self.clock)
        self._stops = StopRequests(self.store, self.clock, settings.stop_poll)
        self.turns: HeavyTurns = turns or HeavyTurns()
        # Apart: a store that is slow keeps no other input from being read.
        self._store_turns = HeavyTurns()
        self._long = LongThreads(settings.max_bytes_per_scope)
        self.reads: HeavyReads = HeavyReads(self.store, self.turns, self._store_turns, self._long)
        self._kept = KeptMessages(self.store)
        self.writes: WriteCheck = WriteCheck(self.store, self.clock)
        self._tasks: set[asyncio.Task[None]] = set()
        self._background: list[asyncio.Task[None]] = []
        self._slots = ScopeSlots(settings.max_runs_per_scope, "runs of this scope")
        # Stops are counted apart: they are how a scope frees its slots.
        self._stop_slots = ScopeSlots(settings.max_runs_per_scope, "stops of this scope")
        # So are readers of what runs: a page that is reloaded must not wait for a slot.
        self.follow_slots: ScopeSlots = ScopeSlots(
            settings.max_runs_per_scope, "readers of this scope's threads"
        )
        self._on_run_end = on_run_end
        self.watchers: list[Callable[[ThreadKey], None]] = []
        self.closing: bool = False

    # --- inputs ---

    def submit(self, submission: Submission) -> tuple[Pipe, EventStream]:
        """Begin to carry an input out; the pipe gives the answer's bytes.

        Reading from the pipe raises `Refused` or `StoreUnavailable` when no stream could be
        begun; from RUN_STARTED on every failure is an event.

        Raises:
            Refused: TOO_MANY_RUNS.
        """
        scope = submission.key.scope
        self._slots.take(scope)
        pipe = Pipe(self.settings.pipe_events, self.settings.pipe_bytes)
        stream = EventStream(submission, pipe)
        # However it ends: a task that is cancelled before its first step runs no `finally`.
        self.spawn(self._serve(submission, stream)).add_done_callback(
            lambda _: self._slots.free(scope)
        )
        return pipe, stream

    async def _serve(self, submission: Submission, stream: EventStream) -> None:
        enter_run(RunIds(submission.agent.name, submission.key.thread, submission.run_id))
        with failures_told(stream), self.telemetry.input(submission, stream) as watch:
            execution = await self._carry_out(submission, stream, watch)
            # From here on only what the run itself needs is kept of its input.
            del submission
            while execution is not None:
                await self._drive(execution)
                again = execution.goes_on
                execution = await self._carry_out(again, stream, watch) if again else None

    async def _carry_out(
        self, submission: Submission, stream: EventStream, watch: InputTelemetry
    ) -> Execution | None:
        """Admit until something other than waiting or recovering comes of it: a run, or nothing."""
        for warning in submission.parsed.warnings:
            logger.warning("%s", warning)
        patience = self.settings.busy_patience
        while True:
            # Of a long thread nothing is in hand while this waits.
            async with self._long.hold(submission.key):
                step = await self._look(submission, stream, watch, patient=bool(patience))
            match step:
                case _Wait(loaded, join) if join is not None:
                    stream.begin()
                    waiting = self._wait(submission.key, loaded, join)
                    if not await finish_unless_gone(waiting, stream.pipe):
                        return None
                case _Wait(loaded):
                    until, patience = loaded.now + patience, 0.0
                    await self._wait(submission.key, loaded, Join(until))
                case _Done(execution):
                    return execution

    async def _look(
        self, submission: Submission, stream: EventStream, watch: InputTelemetry, *, patient: bool
    ) -> _Done | _Wait | None:
        """Take one look at the thread, and do what is decided on it; None is to look again."""
        key, ids = submission.key, [entry.interrupt_id for entry in submission.parsed.entries]
        turn = functools.partial(self.turns.turn, key.scope)
        async with self._store_turns.turn(key.scope, submission.heavy or key in self._long):
            loaded = await self._kept.load(key, ids, receipt_of(submission))
            past = await past_of(self.store, loaded, submission)
        if self._long.note(key, loaded):
            return None
        if loaded.stranded:
            with contextlib.suppress(Conflict):
                await settle_stranded(self.store, key, loaded, mint)
            return None
        if await take_unsealed_back(self.store, key, loaded, mint):
            return None
        heavy = is_heavy_thread(loaded, submission)
        async with turn(heavy):
            incoming = StartingConversation.of(loaded, submission, past)
            check_brought(incoming, submission.agent.settings.max_thread_bytes)
        request = await request_of(submission, incoming)
        async with turn(heavy or are_heavy_answers(loaded, request.entries)):
            ruling = stream.ruling = admit(loaded, request)
        watch.decided(ruling, loaded)
        try:
            match ruling:
                case Recover():
                    await recover_thread(self.store, key, loaded, mint)
                case Join():
                    return _Wait(replace(loaded, messages=()), ruling)
                case Start() if incoming.has_dangling and await settle_thread(
                    self.store, key, mint
                ):
                    return None
                case Start() | Resume():
                    return _Done(await self._claim(submission, stream, incoming, ruling, watch))
                case Hold():
                    change = hold_answers(submission, incoming, ruling)
                    if change.interrupts or change.record != loaded.record:
                        await self._commit(key, change, loaded)
                    loaded = await self._kept.load(key, ids)
                    async with turn(is_heavy_thread(loaded, submission)):
                        stream.restate(loaded)
                    return _Done()
                case Keep():
                    change = keep_results(loaded, incoming.keeps, tuple(incoming.results))
                    await self._commit(key, change, loaded)
                    loaded = await self._kept.load(key, ids)
                    async with turn(heavy):
                        stream.restate(loaded)
                    return _Done()
                case Replay(stopped):
                    idle = loaded.status is ThreadStatus.IDLE
                    outcome = CANCELLED if stopped and idle else None
                    async with turn(heavy):
                        stream.restate(loaded, outcome, ids or None, kept=incoming.client.kept)
                    return _Done()
                case AskAgain(misunderstood):
                    async with turn(heavy):
                        stream.restate(loaded, outcome_now(loaded, misunderstood))
                    return _Done()
                case Reject(code="INTERRUPT_EXPIRED") if loaded.all_expired:
                    # Touched after its time: it is closed, and refused as closed.
                    await close_batch(self.store, key, loaded, mint)
                case Reject(code="RUN_IN_PROGRESS") if patient and not loaded.stopping:
                    return _Wait(replace(loaded, messages=()))
                case Reject():
                    async with turn(heavy):
                        self._reject(submission, stream, loaded, ruling)
                    return _Done()
        except Conflict:
            watch.conflicted(ruling)
        return None

    def _reject(
        self, submission: Submission, stream: EventStream, loaded: Loaded, ruling: Reject
    ) -> None:
        if ruling.code == "RUN_IN_PROGRESS" and not submission.parsed.entries:
            stream.begin()
            stream.fail(ruling.code, ruling.message)
        else:
            stream.reject(loaded, ruling.code, ruling.message)

    async def _wait(self, key: ThreadKey, loaded: Loaded, join: Join) -> None:
        await wait_for_run(self.store, self.clock, self.running, key, loaded, join.until)

    async def as_seen(self, rows: Sequence[InterruptRow]) -> list[InterruptRow]:
        """Questions of a list as they are to be shown: none is claimed on a thread that is idle.

        Raises:
            StoreUnavailable: the store did not answer.
        """
        return await settle_rows(self.store, rows, mint)

    def changed(self, key: ThreadKey) -> None:
        """Tell the watchers that this thread's questions may have changed."""
        for watcher in self.watchers:
            watcher(key)

    # --- runs ---

    async def _drive(self, execution: Execution) -> None:
        """See a claimed run through to its end."""
        key = execution.owner.key
        self.running[key] = execution
        self._stops.begun(execution)
        execution.run.late_result = functools.partial(self._take_late, execution)
        try:
            ending = await close_run(execution, await execution.carry_out())
            execution.watch.ended(ending)
            self._kept.keep(key, execution.owner.record, execution.history)
        finally:
            execution.over.set()
            self._stops.over(execution)
            self.changed(key)
            if self.running.get(key) is execution:
                del self.running[key]
        if execution.goes_on is None:
            await tell_run_end(self._on_run_end, execution, ending)

    def _take_late(self, execution: Execution, call_id: str, content: str) -> None:
        owner, asked = execution.owner, execution.calls.asked_about.get(call_id)

        async def keep() -> None:
            await execution.over.wait()
            key, token = owner.key, owner.token
            await keep_late_result(self.store, key, token, call_id, content, asked, mint)

        self.spawn(keep())

    async def _claim(
        self,
        submission: Submission,
        stream: EventStream,
        incoming: StartingConversation,
        ruling: Start | Resume,
        watch: InputTelemetry,
    ) -> Execution:
        """Claim the thread; whoever's claim is committed is the one that executes.

        Raises:
            Conflict: somebody else was first; nothing was done.
            Refused: the server is shutting down.
        """
        if self.closing:
            raise Refused("SHUTTING_DOWN", "The server is shutting down; try again.")
        key, heavy = submission.key, is_heavy_thread(incoming.loaded, submission)
        async with self.turns.turn(key.scope, heavy):
            claim = Claim.of(submission, incoming, ruling, self.settings, mint)
        async with self._store_turns.turn(key.scope, heavy):
            sent_at = self.clock.monotonic()
            try:
                committed = await self._commit(key, claim.change, incoming.loaded)
            except WritesRefused:
                raise
            except StoreUnavailable:
                seconds = self.settings.lease_seconds
                self.spawn(give_claim_back(self.store, self.clock, key, claim, seconds, mint))
                raise
        owner = Owner(
            self.store,
            self.clock,
            key,
            committed,
            claimed_at=sent_at,
            lease_seconds=self.settings.lease_seconds,
            store_retry=self.settings.store_retry,
            mint=mint,
            writes=HeavyWrites(self.writes, self._store_turns) if heavy else self.writes,
        )
        if (told := claim.size.told(key.thread)) is not None:
            stream.begin()
            stream.send(told)
        run = claim.run_of(committed, owner)
        return Execution(submission, owner, stream, run, claim, keeper=self.keeper, watch=watch)

    async def _commit(self, key: ThreadKey, change: Change, loaded: Loaded) -> Committed:
        """Commit on exactly what was decided on; Conflict means to decide again."""
        await self.writes.let_write()
        record = loaded.record
        expected = Expected(version=record.version) if record is not None else ABSENT
        began = self.clock.monotonic()
        committed = await commit_safely(
            self.writes,
            self.clock,
            key,
            change,
            expected,
            mint(),
            give_up=lambda: self.clock.monotonic() >= began + self.settings.store_retry,
        )
        await keep_grants(self.store.grants, key, change.interrupts, committed.now)
        return committed

    # --- stopping, and the end ---

    async def stop(
        self,
        key: ThreadKey,
        *,
        force: bool = False,
        timeout: float = 30.0,
        principal: Principal | None = None,
        run_id: str | None = None,
    ) -> StopResult:
        """Stop what a thread does; see `stopping.stop_thread`.

        Raises:
            Refused: NOT_AN_APPROVER: the thread waits with a question that the principal may not
                withdraw. TOO_MANY_RUNS: as many stops of the scope are waiting.
        """
        with self._stop_slots.hold(key.scope):
            work = stop_thread(
                self.store,
                self.clock,
                self.running,
                key,
                force=force,
                timeout=timeout,
                principal=principal,
                run_id=run_id,
                mint=mint,
            )
            return await self.telemetry.stop(key, work)

    async def delete(self, key: ThreadKey, principal: Principal | None = None) -> None:
        """Delete a thread; what it runs is stopped first. None is the operator, as for `stop`.

        Raises:
            Refused: THREAD_NOT_FOUND; NOT_AN_APPROVER: it waits with a question that the principal
                may not withdraw.
        """
        while True:
            loaded = await self.store.load(key)
            record = loaded.record
            if record is None:
                raise Refused("THREAD_NOT_FOUND", "There is no such thread.")
            if record.status is ThreadStatus.RUNNING:
                await self.stop(key, force=True, principal=principal)
                continue
            check_may_withdraw(loaded, principal)
            with contextlib.suppress(Conflict):
                await self.store.delete(key, Expected(version=record.version))
                self.telemetry.deleted(loaded)
                return

    def start(self) -> None:
        """Begin the work that goes on beside the inputs: sweeping, and stops from elsewhere."""
        if self.settings.sweep_interval > 0:
            sweeping = sweep_forever(self.store, self.clock, self.settings.sweep_interval, mint)
            self._background.append(asyncio.ensure_future(sweeping))
        self._background.append(asyncio.ensure_future(self._stops.poll()))
        self._background.append(asyncio.ensure_future(self._stops.listen()))

    async def aclose(self) -> None:
        """Take no new runs, give the running ones a grace period, then stop and flush them."""
        self.closing = True
        for task in self._background:
            task.cancel()
        await asyncio.gather(*self._background, return_exceptions=True)
        self._background.clear()
        if self._tasks:
            await asyncio.wait(set(self._tasks), timeout=self.settings.shutdown_grace)
        for run in list(self.running.values()):
            run.request_stop(force=True)
        if self._tasks:
            await asyncio.wait(set(self._tasks), timeout=self.settings.cancel_grace * 2)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def leave(self) -> None:
        """End the work beside the inputs, in an event loop that stands still or is closed."""
        for task in self._background:
            if not task.get_loop().is_closed():
                task.cancel()
        self._background.clear()

    def spawn(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        """Begin work that the engine waits for when it closes."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task
