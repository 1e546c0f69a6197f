"""The engine: loads, admits, and carries the ruling out. The only interpreter of decisions.

Source: docs/contract.md.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import os
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Final, ParamSpec

from agui_bridge.engine.fairness import HeavyTurns, ScopeSlots, are_heavy_answers
from agui_bridge.engine.input.auto_resume import request_of
from agui_bridge.engine.input.settings import Settings
from agui_bridge.engine.input.starting_conversation import StartingConversation
from agui_bridge.engine.input.submission import Agent, Submission
from agui_bridge.engine.input.thread_size import bring
from agui_bridge.engine.late_results import keep_late_result
from agui_bridge.engine.presence import Duties
from agui_bridge.engine.recovery import (
    close_batch,
    give_claim_back,
    recover_thread,
    settle_look,
    settle_rows,
    settle_thread,
    sweep_forever,
)
from agui_bridge.engine.repository import Look, Repository
from agui_bridge.engine.run.checkpoints import claim_of, run_of
from agui_bridge.engine.run.context import hold_answers
from agui_bridge.engine.run.end_hooks import RunEndHook, tell_run_end
from agui_bridge.engine.run.execution import Execution
from agui_bridge.engine.run.holds import Holds
from agui_bridge.engine.run.keeper import Keeper
from agui_bridge.engine.run.leases import Owner
from agui_bridge.engine.stopping import StopRequests, check_may_withdraw, stop_thread
from agui_bridge.engine.streaming.clock import Clock, SystemClock
from agui_bridge.engine.streaming.event_stream import EventStream, failures_told
from agui_bridge.engine.streaming.pipe import Pipe
from agui_bridge.engine.telemetry import NO_TELEMETRY, InputTelemetry, RunIds, Telemetry, enter_run
from agui_bridge.engine.unasked_runs import LookAround
from agui_bridge.engine.waiting import finish_unless_gone, wait_for_run
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
    Ruling,
    Start,
    TakeUp,
    Wake,
)
from agui_bridge.protocol.contract.transitions import keep_results
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.records import Principal, ThreadKey, ThreadStatus
from agui_bridge.protocol.threads.run_ends import StopResult
from agui_bridge.protocol.wire.run_events import CANCELLED, outcome_now
from agui_bridge.stores.base import Expected, InterruptRow, Store

logger: Final = logging.getLogger("agui_bridge")

P = ParamSpec("P")


@dataclass(frozen=True, slots=True)
class _Input:
    """An input that is being carried out, and who is told of it."""

    submission: Submission
    stream: EventStream
    watch: InputTelemetry


@dataclass(frozen=True, slots=True)
class _Done:
    """What came of a look at a thread: a claimed run to carry out, or all was told."""

    execution: Execution | None = None


@dataclass(frozen=True, slots=True)
class _Wait:
    """Another run is to be waited for, and then the thread is looked at again.

    Attributes:
        loaded: the thread, without its messages.
        join: how long; None: as for a busy thread; Wake, TakeUp: it is to go on.
    """

    loaded: Loaded
    join: Join | Wake | TakeUp | None = None


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
        threads: loads threads, and commits what becomes of them.
        keeper: looks after the runs, and knows who looks at what is silent.
        looks: looks after what runs have left.
        holds: the pauses that wait in this process.
        duties: what is known of its place among the servers that share the store.
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
        agents: Mapping[str, Agent] = {},
    ) -> None:
        self.running: dict[ThreadKey, Execution] = {}
        self.store: Store = telemetry.observe(store, self)
        self.telemetry = telemetry
        self.settings = settings
        self.clock: Clock = clock or SystemClock()
        self.keeper: Keeper = Keeper(self.store, self.clock)
        self.duties: Duties = Duties()
        self._stops = StopRequests(self.store, self.clock, settings.stop_poll)
        self.turns: HeavyTurns = turns or HeavyTurns()
        self.threads: Repository = Repository(
            self.store,
            self.clock,
            self.turns,
            mint,
            room=settings.max_bytes_per_scope,
            patience=settings.store_retry,
        )
        self._tasks: set[asyncio.Task[None]] = set()
        self._background: list[asyncio.Task[None]] = []
        most = settings.max_runs_per_scope
        self._slots = ScopeSlots(most, "runs of this scope")
        # Stops are counted apart: they are how a scope frees its slots.
        self._stop_slots = ScopeSlots(most, "stops of this scope")
        # So are readers of what runs: a page that is reloaded must not wait for a slot.
        self.follow_slots: ScopeSlots = ScopeSlots(most, "readers of this scope's threads")
        self._on_run_end = on_run_end
        self.looks: LookAround = LookAround(self.store, agents, self.submit, self.spawn, mint)
        going_on = self.looks.go_on, self.spawn
        self.holds: Holds = Holds(self.store, self.clock, settings, mint, *going_on)
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
        given, patience = _Input(submission, stream, watch), self.settings.busy_patience
        while True:
            # Of a long thread nothing is in hand while this waits.
            async with self.threads.hold(submission.key):
                step = await self._look(given, patient=bool(patience))
            match step:
                case _Wait(loaded, Wake() | TakeUp()):
                    await self.looks.go_on(submission.agent, submission.key, loaded)
                case _Wait(loaded, Join() as join):
                    stream.begin()
                    waiting = self._wait(submission.key, loaded, join)
                    if not await finish_unless_gone(waiting, stream.pipe):
                        return None
                case _Wait(loaded):
                    until, patience = loaded.now + patience, 0.0
                    await self._wait(submission.key, loaded, Join(until))
                case _Done(execution):
                    return execution

    async def _look(self, given: _Input, *, patient: bool) -> _Done | _Wait | None:
        """Take one look at the thread, and do what is decided on it; None is to look again."""
        submission, stream, do = given.submission, given.stream, self.turns.do
        key = submission.key
        look = await self.threads.load(submission)
        if look is None or await settle_look(self.store, key, look.loaded, mint):
            return None
        loaded, heavy = look.loaded, look.heavy
        incoming = await do(key.scope, heavy, bring, loaded, submission, look.past)
        request = await request_of(submission, incoming, self.holds.are_elsewhere(loaded))
        heavy = heavy or are_heavy_answers(loaded, request.entries)
        ruling = stream.ruling = await do(key.scope, heavy, admit, loaded, request)
        if look.kept and not isinstance(ruling, Resume):
            return None  # Nothing would tell whether it is still so.
        given.watch.decided(ruling, loaded)
        try:
            return await self._rule(given, look, incoming, ruling, patient=patient)
        except Conflict:
            given.watch.conflicted(ruling)
            return None

    async def _rule(
        self,
        given: _Input,
        look: Look,
        incoming: StartingConversation,
        ruling: Ruling,
        *,
        patient: bool,
    ) -> _Done | _Wait | None:
        """Carry a ruling out; None is to look again, and have it decided anew.

        Raises:
            Conflict: the thread has changed meanwhile; nothing was done.
        """
        submission, restate, loaded = given.submission, given.stream.restate, look.loaded
        key = submission.key
        match ruling:
            case Recover():
                await recover_thread(self.store, key, loaded, mint)
            case TakeUp() if submission.takes_up:
                return _Done(await self._claim(given, look, incoming, ruling))
            case Join() | Wake() | TakeUp():
                return _Wait(replace(loaded, messages=()), ruling)
            case Start() if incoming.has_dangling and await settle_thread(self.store, key, mint):
                pass
            case Start() | Resume():
                return _Done(await self._claim(given, look, incoming, ruling))
            case Hold() | Keep():
                if isinstance(ruling, Hold):
                    change = hold_answers(submission, incoming, ruling)
                else:
                    change = keep_results(loaded, incoming.keeps, tuple(incoming.results))
                if change.interrupts or change.messages or change.record != loaded.record:
                    await self.threads.commit(key, change, loaded)
                if isinstance(ruling, Hold) and ruling.joins:
                    return _Wait(replace(loaded, messages=()), Join())
                now = await self.threads.reload(submission)
                return await self._tell(key, now, restate, now.loaded)
            case Replay(stopped):
                outcome = CANCELLED if stopped and loaded.status is ThreadStatus.IDLE else None
                ids, kept = submission.answers_to or None, incoming.client.kept
                return await self._tell(key, look, restate, loaded, outcome, ids, kept=kept)
            case AskAgain(misunderstood):
                outcome = outcome_now(loaded, misunderstood)
                return await self._tell(key, look, restate, loaded, outcome)
            case Reject(code="INTERRUPT_EXPIRED") if loaded.all_expired and not loaded.timer_due:
                # Touched after its time: it is closed, and refused as closed.
                await close_batch(self.store, key, loaded, mint)
            case Reject(code="RUN_IN_PROGRESS") if patient and not loaded.stopping:
                return _Wait(replace(loaded, messages=()))
            case Reject(code, message):
                return await self._tell(key, look, given.stream.reject, loaded, code, message)
        return None

    async def _tell(
        self, key: ThreadKey, look: Look, tell: Callable[P, None], *args: P.args, **more: P.kwargs
    ) -> _Done:
        """Tell what an input has come to, in its turn: nothing follows."""
        await self.turns.do(key.scope, look.heavy, tell, *args, **more)
        return _Done()

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
            ending = await execution.carry_out()
            execution.watch.ended(ending)
            execution.keep(self.threads)
        finally:
            execution.over.set()
            self._stops.over(execution)
            self.changed(key)
            if self.running.get(key) is execution:
                del self.running[key]
        if execution.goes_on is None:
            await tell_run_end(self._on_run_end, execution.run, execution.reason(ending))

    def _take_late(self, execution: Execution, call_id: str, content: str) -> None:
        owner, asked = execution.owner, execution.said.calls.asked_about.get(call_id)

        async def keep() -> None:
            await execution.over.wait()
            key, token = owner.key, owner.token
            await keep_late_result(self.store, key, token, call_id, content, asked, mint)

        self.spawn(keep())

    async def _claim(
        self,
        given: _Input,
        look: Look,
        incoming: StartingConversation,
        ruling: Start | Resume | TakeUp,
    ) -> Execution:
        """Claim the thread; whoever's claim is committed is the one that executes.

        Raises:
            Conflict: somebody else was first; nothing was done.
            Refused: the server is shutting down.
        """
        if self.closing:
            raise Refused("SHUTTING_DOWN", "The server is shutting down; try again.")
        submission, stream = given.submission, given.stream
        key, seconds = submission.key, self.settings.lease_seconds
        claimed = submission, incoming, ruling, self.settings, mint, self.store.process
        claim = await self.turns.do(key.scope, look.heavy, claim_of, *claimed)
        async with self.threads.turn(key.scope, look.heavy):
            sent_at = self.clock.monotonic()
            try:
                committed = await self.threads.commit(key, claim.change, look.loaded)
            except WritesRefused:
                raise
            except StoreUnavailable:
                if not submission.takes_up:  # Else it is lost as before.
                    self.spawn(give_claim_back(self.store, self.clock, key, claim, seconds, mint))
                raise
        owner = Owner(
            self.threads,
            self.clock,
            key,
            committed,
            claimed_at=sent_at,
            lease_seconds=seconds,
            store_retry=self.settings.store_retry,
            mint=mint,
            heavy=look.heavy,
        )
        if (told := claim.size.told(key.thread)) is not None:
            stream.begin()
            stream.send(told)
        held = isinstance(ruling, Resume) and self.holds.take(look.loaded)
        run = run_of(claim, committed, owner, held=held)
        if submission.agent.adapter.capabilities.called_back:
            run.callbacks = self.looks.mailbox(key)
        return Execution(
            submission, owner, stream, run, claim, self.keeper, self.holds, given.watch
        )

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
                take_up=self.looks.take,
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
            if (record := loaded.record) is None:
                raise Refused("THREAD_NOT_FOUND", "There is no such thread.")
            if record.status is ThreadStatus.RUNNING:
                await self.stop(key, force=True, principal=principal)
                continue
            check_may_withdraw(loaded, principal)
            with contextlib.suppress(Conflict):
                await self.store.delete(key, Expected(version=record.version))
                await self.looks.forget(key)
                self.telemetry.deleted(loaded)
                return

    def start(self) -> None:
        """Begin the work that goes on beside the inputs: sweeping, and stops from elsewhere."""
        if self.settings.sweep_interval > 0:
            interval, duty = self.settings.sweep_interval, self.duties.one()
            sweeping = sweep_forever(self.store, self.clock, interval, mint, self.looks.take, duty)
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
        await self.holds.aclose()
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
