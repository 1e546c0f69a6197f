"""One run of an author's function: its tasks, what they wait for, and how they end.

The function runs in a task of its own (the root). A question never gets its answer here: the
run ends with it, and the next one finds the answer in its journal.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from ag_ui.core import BaseEvent, StateDeltaEvent, ToolCallChunkEvent, ToolCallStartEvent

from agui_bridge.adapters import Ask, Handoff, Pause, Run, close_items
from agui_bridge.agents.function.activities import Activities, RunLatch
from agui_bridge.agents.function.checkpoints import REPLAY_PATIENCE, Checkpoints
from agui_bridge.agents.function.outbox import Outbox, Reports, UsageLog
from agui_bridge.agents.replay.continuation import (
    Abandoned,
    Asked,
    Continuation,
    Decided,
    EntryKey,
    Outcome,
    Sleeping,
    recall,
)
from agui_bridge.agents.replay.journal import (
    CallOrder,
    Journal,
    StepFailed,
    YieldCount,
    as_exception,
)
from agui_bridge.agents.replay.state import SharedState
from agui_bridge.errors import AgentMistake
from agui_bridge.policy import PolicyFailed
from agui_bridge.protocol.json_values import jsonable
from agui_bridge.protocol.threads.records import Json

QUIET_PASSES = 12
"""Loop passes without news after which every ready branch has come to its next call."""

GRACE = 3.0
"""Seconds that cancelled code has to end; what takes longer is left behind."""

FORCED_GRACE = 0.5
"""The same, when the stop is forced."""

POLL = 0.05
"""Seconds between looks at `stop.force`, which has no event of its own."""

logger: Final = logging.getLogger("agui_bridge.agents")


@dataclass(frozen=True, slots=True)
class Question:
    """Something that only the next run can know.

    Attributes:
        asks: what people are asked; nothing for a frontend tool call.
        kept: what the journal holds of it meanwhile.
        frontend_call: the call that the application is to carry out, if any.
        until: store time at which time itself answers it, unless somebody is asked something.
    """

    asks: Sequence[Ask] = ()
    kept: Outcome | None = None
    frontend_call: str | None = None
    until: float | None = None

    @classmethod
    def of(cls, ask: Ask, tool_call_id: str | None = None) -> Question:
        """One question by itself.

        Args:
            ask: the question.
            tool_call_id: the tool call that is to be approved, if any.
        """
        return cls((ask,), Asked(native_id=ask.native_id, tool_call_id=tool_call_id))


class FunctionExecution:
    """Carries out one run.

    Attributes:
        run: the run, as the engine gave it.
        context: how many messages the function first saw, and how many of them were new.
        actor: who began the first run; a resumed run's principal is who answered.
        outbox: what was emitted.
        reports: tells what became of tool calls.
        journal: what is remembered.
        activities: what steps, streams, calls and tools carry out.
        checkpoints: how the acts of the run are stored, where another process may take it up.
        usage: what the function says that its calls used.
        goes_on: whether it continues an earlier run.
        over: whether nothing will be emitted any more.
        final: then, the pause with which the run ends, if it paused.
        failure: then, the exception with which the run ends, if it failed.
        forgotten: a call of `run` that was not awaited: nothing begins after it.

    Raises:
        ReplayMismatch: the continuation can't be read.
    """

    def __init__(self, run: Run) -> None:
        """Prepare the run: read its continuation, start nothing."""
        past = recall(run)
        self.run = run
        fresh = (len(run.raw_messages), len(run.raw_new_messages))
        self.context: tuple[int, int] = past.context if past.context is not None else fresh
        self.actor: str = past.actor or run.principal.actor
        self.outbox: Outbox = Outbox()
        self.reports: Reports = Reports(run, self.outbox)
        self.journal: Journal = Journal(past.entries)
        self._latch = RunLatch()
        self.checkpoints: Checkpoints = Checkpoints(run, self.journal, self.outbox, self._mark)
        self.activities: Activities = Activities(
            run,
            self.journal,
            self.outbox,
            self._latch,
            self.checkpoints,
            self._work_finished,
            self._fail,
        )
        self.usage: UsageLog = UsageLog(past.usage, lambda: self.activities.inside, past.spent)
        self.goes_on: bool = past.context is not None
        run.usage = self.usage
        self.over: bool = False
        self.final: Pause | Handoff | None = None
        self.failure: BaseException | None = None
        self.forgotten: AgentMistake | None = None
        self._yields = YieldCount(past.yields)
        self._state = SharedState(run.state, past.state, len(past.entries))
        self._order = CallOrder()
        self._questions: dict[EntryKey, Question] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._root: asyncio.Task[None] | None = None
        # Whether a yielded item needs no look: nothing to repeat, no state, no end in sight.
        self._plain = not self.goes_on
        self._patient = True
        self._settling = False
        self._news = 0

    # --- the adapter's side ---

    def start(self, function: Callable[[], Any]) -> None:
        """Start the function."""
        self._root = asyncio.create_task(self._guard(function))
        self._root.add_done_callback(self._ended)
        self._spawn(self._watch_stop())

    async def abandon(self) -> None:
        """End everything at once; when the run is over already, only tidy up."""
        self._patient = False
        self._close()
        if not self.over:
            self.activities.cancel(tools=True)
        while not self.over:
            # Nobody reads any more; whoever waits for room may end.
            self.reports.leave(self.outbox.take())
            await self.outbox.wait()
        self.reports.leave(self.outbox.take())
        for task in self._tasks:
            task.cancel()

    @property
    def not_begun(self) -> list[str]:
        """The calls that were shown or approved, and certainly not carried out.

        Which of them the function had in its hands, and gave to nothing of `run`, its own code may
        have carried out. A function that has others carried out by `run` is taken to have meant
        that for these, too, as long as it did not come to its end without them.
        """
        ended = self.failure is None and self.final is None and not self.run.stop.requested
        keeps = ended or not (self.activities.acted or self.journal.acted)
        shown = self.reports.unbegun(self.activities.begun, but_held=keeps)
        return shown + [
            decided.tool_call_id
            for key, decided in self.journal.entries.items()
            if isinstance(decided, Decided)
            and decided.verdict == "approve"
            and decided.tool_call_id is not None
            and not (keeps and self._is_held(key))
            and not self._was_begun(_carried(key))
        ]

    @property
    def undone(self) -> bool:
        """Whether the policy failed before a resumed run did or said anything: as if it never was.

        Then the answers need not be spent: what is replayed from them would be the same.
        """
        return (
            isinstance(self.failure, PolicyFailed)
            and self.run.resume is not None
            and self.outbox.unused
            and self.activities.idle_so_far
        )

    # --- the side of `FunctionRun` ---

    @property
    def state(self) -> dict[str, Json]:
        """The state, to be looked at and changed."""
        self._plain = False
        return self._state.value

    def visit(self, call: EntryKey, *, numbered: bool = True) -> tuple[EntryKey, Outcome | None]:
        """Come to a call.

        Args:
            call: the call, without its ordinal.
            numbered: whether repeats are told apart by an ordinal.

        Returns:
            The entry's key, and its outcome if the journal holds it.

        Raises:
            asyncio.CancelledError: the run is ending; nothing new may happen in it.
            AgentMistake: see `Activities.check_outside`; or an earlier call was not awaited.
            AmbiguousKey: see `Journal.number`.
        """
        self._latch.check()
        if self.forgotten is not None:
            raise self.forgotten
        self.activities.check_outside(call)
        place = self._order.next_place()
        if place.strand is self._order.root:
            self._yields.next_segment()
        key = self.journal.number(call, place) if numbered else call
        self.usage.come_to(key)
        self._news += 1
        outcome = self.journal.visit(key)
        if self._state.in_use:
            self._state.catch_up(self.journal.leading)
        self._send_state()
        return key, outcome

    def emit(self, *items: BaseEvent | str) -> None:
        """Send items to the client."""
        for item in items:
            self.outbox.put(item)

    async def ask(self, key: EntryKey, question: Question) -> NoReturn:
        """Wait for what only the next run can know: never returns, ends by cancellation."""
        self._questions[key] = question
        self._settle()
        try:
            await self._latch.park()
        finally:
            if not self._latch.closed:
                del self._questions[key]

    def report_given_up(self, key: EntryKey, report: Callable[[Outcome], None]) -> None:
        """Tell that the author's own code cancelled a call that waits; nothing in a run that ends.

        Args:
            key: the call's entry.
            report: tells what became of the call.
        """
        if not self._latch.closed:
            self.checkpoints.end(key, lambda: report(Abandoned()))

    # --- what the function does ---

    async def _guard(self, function: Callable[[], Any]) -> None:
        try:
            await self._drive(function)
        except (Exception, asyncio.CancelledError, GeneratorExit):
            raise
        except BaseException as error:
            raise as_exception(error) from error

    async def _drive(self, function: Callable[[], Any]) -> None:
        self._order.begin()
        self.usage.come_to(None)
        produced = function()
        if inspect.isasyncgen(produced) or hasattr(produced, "__aiter__"):
            await self._pull(produced)
        elif inspect.isawaitable(produced):
            value = await produced
            if self._latch.closed or value is None:
                return
            if isinstance(value, str):
                self._send_state()
                self.emit(value)
            else:
                self.run.result = jsonable("the function's return value", value)
        else:
            raise AgentMistake(
                "An agent's function is an async generator or an async function; this one "
                f"returned {type(produced).__name__}."
            )

    async def _pull(self, items: Any) -> None:
        outbox, yields = self.outbox, self._yields
        try:
            async for item in items:
                yields.total += 1
                if type(item) is not str and not isinstance(item, BaseEvent | str):
                    raise AgentMistake(
                        f"An agent yields text and AG-UI events, not {type(item).__name__}."
                        f"{' Is an `await` missing?' if inspect.isawaitable(item) else ''}"
                    )
                if not self._plain:
                    if self._latch.closed:
                        return
                    if yields.repeated:
                        continue
                    self._send_state()
                outbox.put(item)
                if outbox.full:
                    await outbox.room()
                if isinstance(item, ToolCallStartEvent | ToolCallChunkEvent):
                    await self.activities.wait_for_leave(last=item.tool_call_name is not None)
        finally:
            await close_items(items)

    def _send_state(self) -> None:
        if self._state.in_use:
            patch = self._state.changes()
            if patch:
                self.outbox.put(StateDeltaEvent.model_validate({"delta": patch}))

    # --- how it ends ---

    def _work_finished(self) -> None:
        self._news += 1
        if self._questions:
            self._settle()

    def _fail(self, error: BaseException) -> None:
        self._patient = False
        self._close(failure=error)

    def _settle(self) -> None:
        if not self._settling and not self._latch.closed:
            self._settling = True
            self._spawn(self._pause_when_quiet())

    async def _pause_when_quiet(self) -> None:
        loop = asyncio.get_running_loop()
        seen, quiet, since = -1, 0, loop.time()
        try:
            while not self._latch.closed and self._questions and not self.activities.busy:
                if self.outbox.full:
                    await self.outbox.room()
                    quiet = 0
                news = self._news + self._yields.total
                if news != seen:
                    seen, quiet, since = news, 0, loop.time()
                elif quiet < QUIET_PASSES:
                    quiet += 1
                elif self.journal.replaying and loop.time() - since < REPLAY_PATIENCE:
                    # The run before came further, by an await of the author's own.
                    await asyncio.sleep(0.01)
                    continue
                else:
                    self._pause()
                    return
                await asyncio.sleep(0)
        except Exception as error:  # lost with this task, it would leave the run to hang
            self._fail(error)
        finally:
            self._settling = False

    def _pause(self) -> None:
        mismatch = self.forgotten or self.journal.find_mismatch()
        if mismatch is not None:
            self._close(failure=mismatch)
            return
        self._send_state()
        asks: list[Ask] = []
        calls: list[str] = []
        entries = dict(self.journal.entries)
        waking = self._first_to_wake()
        for key, question in self._questions.items():
            if question.until is not None and key != waking:
                entries[key] = Sleeping(until=question.until)
                continue
            asks += question.asks
            if question.kept is not None:
                entries[key] = question.kept
            if question.frontend_call is not None:
                calls.append(question.frontend_call)
        continuation = self._pack(entries)
        final = Pause(asks, continuation, calls) if asks else Handoff(calls, continuation)
        self._close(final=final)

    def _mark(self, entries: Mapping[EntryKey, Outcome]) -> Json:
        """Where the run stands now: branches that sleep keep their times."""
        asleep = {
            key: Sleeping(until=question.until)
            for key, question in self._questions.items()
            if question.until is not None
        }
        spent = [jsonable("run.usage", entry) for entry in self.usage.new()]
        return self._pack({**entries, **asleep}, spent)

    def _pack(self, entries: Mapping[EntryKey, Outcome], spent: Sequence[Json] = ()) -> Json:
        return Continuation.pack(
            entries,
            self._yields.counts(),
            self._state.record(),
            self.context,
            self.actor,
            self.usage.counts(),
            spent,
        )

    def _first_to_wake(self) -> EntryKey | None:
        """Of branches that sleep the one that is woken first, where nothing else is waited for.

        The others sleep on, and whoever answers people's questions is not kept waiting by a timer.
        """
        times = {key: question.until for key, question in self._questions.items()}
        sleeping = {key: until for key, until in times.items() if until is not None}
        if not sleeping or len(sleeping) < len(times):
            return None
        return min(sleeping, key=sleeping.__getitem__)

    def _ended(self, root: asyncio.Task[None]) -> None:
        error = None if root.cancelled() else root.exception()
        if self._latch.closed:
            if error is not None and error is not self.failure:
                logger.warning("The agent raised %r while it was being ended.", error)
            return
        if root.cancelled():
            error = AgentMistake("The agent's function cancelled its own task.")
        elif error is None:
            error = self.forgotten or self.journal.find_mismatch()
        elif isinstance(error, StepFailed) and error.__cause__ is not None:
            error = error.__cause__
        self._send_state()
        self._close(failure=error)

    def _is_held(self, decision: EntryKey) -> bool:
        """Whether the function had an approval, and asked nobody here to carry its call out."""
        visited = self.journal.visited
        is_own = decision.kind != "policy"
        return is_own and visited(decision) and not visited(_carried(decision))

    def _was_begun(self, call: EntryKey) -> bool:
        return call in self.journal.entries or self.activities.begun(call)

    async def _watch_stop(self) -> None:
        await self.run.stop.wait()
        if not self._latch.closed:
            self._send_state()
        self._close()

    def _close(
        self, *, final: Pause | Handoff | None = None, failure: BaseException | None = None
    ) -> None:
        """Begin the end, once: from here on nothing new happens and nothing pends."""
        if self._latch.closed:
            return
        self._plain = False
        self.final, self.failure = final, failure
        self._spawn(self._end())
        self._latch.close()
        if self._root is not None:
            self._root.cancel()
        self.activities.cancel(tools=False)

    async def _end(self) -> None:
        stop = self.run.stop
        while self._patient and not stop.force and (tools := self.activities.tools):
            await asyncio.wait(tools, timeout=POLL)
        self.activities.cancel(tools=True)
        rest: set[asyncio.Task[Any]] = set(self.activities.tasks)
        if self._root is not None:
            rest.add(self._root)
        if rest:
            grace = FORCED_GRACE if stop.force else GRACE
            _, left = await asyncio.wait(rest, timeout=grace)
            if left:
                logger.warning("The agent ignored its cancellation for %.1f s; left behind.", grace)
        self.over = True
        self.outbox.wake()

    def _spawn(self, coroutine: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _carried(decision: EntryKey) -> EntryKey:
    """What carries the call of a decision out."""
    return decision._replace(kind="call" if decision.kind == "policy" else "tool")
