"""The functions that steps, streams, calls and tools carry out, each once in all runs.

Each is a task besides the branch that waits for it, so that it can outlive the branch: a tool
that has begun finishes, whatever becomes of the branch.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from functools import partial
from typing import Any, NoReturn

from agui_bridge.adapters import Run
from agui_bridge.agents.function.checkpoints import Checkpoints, carrying_out
from agui_bridge.agents.function.outbox import Outbox
from agui_bridge.agents.replay.continuation import (
    Abandoned,
    Asking,
    Begun,
    Denied,
    EntryKey,
    Failure,
    Halted,
    Outcome,
    Value,
)
from agui_bridge.agents.replay.journal import (
    ACTS,
    Journal,
    ResultWithoutJson,
    StepFailed,
    as_exception,
    copied,
)
from agui_bridge.errors import AgentMistake, ReplayMismatch
from agui_bridge.frameworks.needs_input import NeedsInput
from agui_bridge.policy import CallDenied
from agui_bridge.protocol.json_values import clean_text, jsonable
from agui_bridge.protocol.threads.records import Json

# --- open while a run goes on; once closed, nothing new happens in it and nothing hangs ---


class RunLatch:
    """Holds what can only wait for the run's end.

    Attributes:
        closed: whether the run is ending.
    """

    def __init__(self) -> None:
        """Begin open."""
        self.closed: bool = False
        self._parked: set[asyncio.Future[None]] = set()

    def check(self) -> None:
        """Let the caller pass while the run goes on.

        Raises:
            asyncio.CancelledError: the run is ending. Its tasks are being cancelled anyway,
                so this is what a `finally` block that calls `run.*` gets.
        """
        if self.closed:
            raise asyncio.CancelledError("the run is ending")

    async def park(self) -> NoReturn:
        """Wait until the run ends or the caller is cancelled: never returns."""
        self.check()
        future = asyncio.get_running_loop().create_future()
        self._parked.add(future)
        try:
            await future
        finally:
            self._parked.discard(future)
        raise asyncio.CancelledError("the run is ending")

    def close(self) -> None:
        """Close for good and cancel what waits."""
        self.closed = True
        for future in self._parked:
            future.cancel()


# --- activities ---

Report = Callable[[Outcome], None]

_INSIDE: ContextVar[tuple[Activities, EntryKey] | None] = ContextVar(
    "agui_bridge_inside", default=None
)


class StillRunning(asyncio.CancelledError):
    """The caller was cancelled, and the function runs on in its thread.

    Attributes:
        thread: what it comes to.
    """

    def __init__(self, thread: asyncio.Future[Any]) -> None:
        """Remember the thread."""
        super().__init__()
        self.thread = thread


async def in_thread(function: Callable[[], Any]) -> Any:
    """Call a function in a thread, with the caller's context variables.

    Raises:
        StillRunning: the caller was cancelled.
    """
    thread = asyncio.get_running_loop().run_in_executor(None, copy_context().run, function)
    try:
        return await asyncio.shield(thread)
    except asyncio.CancelledError:
        raise StillRunning(thread) from None


class Activities:
    """What is under way in one run.

    Args:
        run: for its stop signal and its lease.
        journal: remembers outcomes.
        outbox: back-pressure: nothing begins while it is full.
        latch: nothing begins once it is closed.
        checkpoints: stores what begins and what comes of it.
        finished: called when a function has finished.
        failed: called with the exception when nothing more may happen in the run, whatever
            the author's code makes of it.
    """

    def __init__(
        self,
        run: Run,
        journal: Journal,
        outbox: Outbox,
        latch: RunLatch,
        checkpoints: Checkpoints,
        finished: Callable[[], None],
        failed: Callable[[BaseException], None],
    ) -> None:
        """Begin with nothing under way."""
        self._run = run
        self._journal = journal
        self._outbox = outbox
        self._latch = latch
        self._checkpoints = checkpoints
        self._finished = finished
        self._tasks: dict[asyncio.Task[Json], bool] = {}
        self._begun: set[EntryKey] = set()
        self._preparing = 0
        self.fail = failed

    @property
    def busy(self) -> bool:
        """Whether anything is under way, or about to begin."""
        return bool(self._tasks or self._preparing)

    @property
    def tasks(self) -> list[asyncio.Task[Json]]:
        """All that is under way."""
        return list(self._tasks)

    @property
    def tools(self) -> list[asyncio.Task[Json]]:
        """The calls and tools among them, which a graceful end waits for."""
        return [task for task, is_tool in self._tasks.items() if is_tool]

    @property
    def idle_so_far(self) -> bool:
        """Whether this run has begun to carry out nothing."""
        return not self._begun

    @property
    def acted(self) -> bool:
        """Whether this run began to carry out a call."""
        return any(key.kind in ACTS for key in self._begun)

    def begun(self, key: EntryKey) -> bool:
        """Whether this run began to carry it out, whatever came of it."""
        return key in self._begun

    def cancel(self, *, tools: bool) -> None:
        """Cancel what is under way, calls and tools only if told so; each once.

        A second time would interrupt the cleaning up that the first began, and leave the
        connection of a client open.
        """
        for task, is_tool in self._tasks.items():
            if (tools or not is_tool) and not task.cancelling():
                task.cancel()

    @property
    def inside(self) -> bool:
        """Whether whoever asks stands inside a function that is carried out here."""
        inside = _INSIDE.get()
        return inside is not None and inside[0] is self

    def check_outside(self, call: EntryKey) -> None:
        """Refuse a call that stands inside a function that is carried out here.

        Raises:
            AgentMistake: a replay would skip the outer function, and the call with it.
        """
        inside = _INSIDE.get()
        if inside is not None and inside[0] is self:
            outer = inside[1]
            raise AgentMistake(
                f"{call} was called inside {outer}. A function that run.{outer.kind} carries "
                "out can't pause or be replayed in part: make the call after it."
            )

    @contextmanager
    def preparing(self, key: EntryKey) -> Iterator[None]:
        """Get a call ready to begin; the run does not pause meanwhile.

        A call that the author's own code cancels here (a timeout) has not begun and never will:
        a replay takes the same path.
        """
        self._preparing += 1
        try:
            yield
        except asyncio.CancelledError:
            if not self._latch.closed:
                self._journal.record(key, Abandoned())
            raise
        finally:
            self._preparing -= 1
            self._finished()

    async def wait_for_leave(self, *, last: bool = False) -> None:
        """Return when an act may begin, as far as an adapter around this one is concerned.

        It judges by what was said so far, so all of that is brought to it first.

        Args:
            last: whether nothing stands between this and the act; see `look_for_stop`.
        """
        if self._run.before_act is not None:
            await self._outbox.read()
            self._run.before_act()
            if self._latch.closed or self._run.stop.requested:
                await self._latch.park()
        if last:
            await self.look_for_stop()

    async def perform(
        self,
        key: EntryKey,
        known: Outcome | None,
        function: Callable[[], Awaitable[Any]],
        *,
        begin: Callable[[], None] | None = None,
        report: Report | None = None,
        idempotent: bool = False,
        call_id: str | None = None,
        asking: Asking | None = None,
    ) -> Json:
        """Carry a function out, or return what it returned in an earlier run.

        Args:
            key: the entry.
            known: its outcome, if the journal holds it.
            function: what to carry out; returns anything that has a JSON form.
            begin: called right before, to emit.
            report: called with the outcome, to emit. What has a report is a tool: once begun
                it finishes even when the run is being stopped.
            idempotent: whether it may begin again in a run that was lost and is taken up.
            call_id: the tool call that it carries out, if any.
            asking: what that call has asked, in a later round of it.

        Returns:
            What it returned as JSON; of a tool also a `NeedsInput`, which is told to nobody.

        Raises:
            StepFailed: the function raised, now or in an earlier run.
            CallDenied: the policy denied the call in an earlier run.
            Fenced: the lease is over; the run ends with it.
        """
        if known is not None and not isinstance(known, Begun):
            return await self._repeat(key, known)
        with self.preparing(key):
            await self.wait_for_turn()
            # A stream only speaks: what it says may be the rest of what is asked.
            if key.kind != "stream":
                await self.wait_for_leave()
            if begin is not None:
                # What is carried out has been told of: it stands in the history, whatever comes.
                begin()
                await self._outbox.read()
                await self.wait_for_turn()
            try:
                act = await self._checkpoints.begin(
                    key, known, idempotent=idempotent, call_id=call_id, asking=asking
                )
            except ReplayMismatch as error:
                self.fail(error)
                raise
            await self.look_for_stop()
        try:
            self._run.check_lease()
        except BaseException as error:
            self.fail(error)
            raise
        self._begun.add(key)
        task = asyncio.create_task(self._carry_out(key, act, function, report))
        self._tasks[task] = report is not None
        task.add_done_callback(self._done)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if not self._latch.closed:
                if not task.done():
                    task.cancel()
                    await asyncio.wait([task])
                # Whatever came of it, the branch took the path of a cancelled call.
                self._journal.record(key, Abandoned())
                self._checkpoints.end(key)
            raise

    async def wait_for_turn(self) -> None:
        """Wait until something new may happen; in a run that is ending it never may."""
        if self._outbox.full:
            await self._outbox.room()
        if self._latch.closed or self._run.stop.requested:
            await self._latch.park()

    async def look_for_stop(self) -> None:
        """Look last whether the run is to stop, wherever that was asked; then nothing begins."""
        await self._run.check_stop()
        if self._latch.closed or self._run.stop.requested:
            await self._latch.park()

    async def _repeat(self, key: EntryKey, known: Outcome) -> Json:
        match known:
            case Value(value=value):
                return copied(value)
            case Failure():
                raise StepFailed.of(key, known)
            case Denied(reason=reason):
                raise CallDenied(key.name, "policy", reason)
            case Halted(reason=reason):
                raise CallDenied(key.name, "policy", reason, begun=True)
            case _:
                # The author's code cancelled it then (a timeout) and will do so again.
                await self._latch.park()

    async def _carry_out(
        self, key: EntryKey, act: str, function: Callable[[], Awaitable[Any]], report: Report | None
    ) -> Json:
        _INSIDE.set((self, key))
        try:
            with carrying_out(act):
                returned = await function()
            if isinstance(returned, NeedsInput) and report is not None:
                # Should the branch be cancelled before it has asked, it never comes back here.
                self._journal.record(key, Abandoned())
                return returned
            value = _told(key, returned)
        except asyncio.CancelledError as cancelled:
            # When the run is ending its journal is lost with it, and what it did is unknown.
            if self._latch.closed:
                self._journal.record(key, Abandoned())
            else:
                self._conclude(key, Abandoned(), report)
            if isinstance(cancelled, StillRunning) and self._latch.closed and report is not None:
                # Nobody can kill a thread: what it comes to is told when it is known.
                cancelled.thread.add_done_callback(partial(_tell_late, key, report))
            raise
        except GeneratorExit:
            raise
        except BaseException as error:
            failure = _failure(error)
            self._conclude(key, failure, report)
            raise StepFailed.of(key, failure) from as_exception(error)
        self._conclude(key, Value(value=value), report)
        return copied(value)

    def _conclude(self, key: EntryKey, outcome: Outcome, report: Report | None) -> None:
        self._journal.record(key, outcome)
        self._checkpoints.end(key, partial(report, outcome) if report is not None else None)

    def _done(self, task: asyncio.Task[Json]) -> None:
        del self._tasks[task]
        if not task.cancelled():
            task.exception()  # Its branch may be gone: then nobody else retrieves it.
        self._finished()


def _told(key: EntryKey, result: Any) -> Json:
    """What a function returned, as the journal and the wire take it."""
    if isinstance(result, NeedsInput):
        raise AgentMistake(
            f"{key} returned NeedsInput: only a tool of run.call or run.tool can ask in its middle."
        )
    try:
        return jsonable(f"The result of {key}", result)
    except AgentMistake as error:
        raise ResultWithoutJson(str(error)) from None


def _failure(error: BaseException) -> Failure:
    return Failure(error=type(error).__name__, text=clean_text(str(as_exception(error))))


def _tell_late(key: EntryKey, report: Report, thread: asyncio.Future[Any]) -> None:
    """Report what a thread came to that was left behind."""
    if thread.cancelled():
        return
    try:
        value = thread.result()
        if inspect.iscoroutine(value):
            # It only made what was to be awaited, and nobody will.
            value.close()
            return
        report(Value(value=_told(key, value)))
    except Exception as error:
        report(_failure(error))
