"""What both bindings offer: each operation of A2A for one agent and one caller.

Source: the A2A specification 1.0, section 3.1 ("Core operations").
"""

from __future__ import annotations

import contextlib
import functools
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

from agui_bridge.a2a.faults import Fault, fault_of, invalid
from agui_bridge.a2a.requests import (
    Params,
    Said,
    TaskId,
    count_of,
    flag_of,
    said_in,
    task_named,
    text_of,
)
from agui_bridge.a2a.streaming import TaskStream, Write, check_not_refused, first_of, note_of
from agui_bridge.a2a.tasks import Tasks, asked_message
from agui_bridge.a2a.wire import (
    CANCELED,
    COMPLETED,
    ENDS,
    FAILED,
    INPUT_REQUIRED,
    REJECTED,
    STATES,
    WORKING,
    as_objects,
)
from agui_bridge.engine.engine import Engine, mint
from agui_bridge.engine.input.submission import Agent, Submission
from agui_bridge.engine.reconnecting import show_thread
from agui_bridge.engine.stopping import busy_with
from agui_bridge.engine.streaming.event_stream import EventStream
from agui_bridge.engine.streaming.pipe import Pipe
from agui_bridge.errors import Refused
from agui_bridge.protocol.dialects import V1, parse_input
from agui_bridge.protocol.json_values import check_addressable
from agui_bridge.protocol.threads.records import Json, Principal, ThreadStatus
from agui_bridge.protocol.wire.run_events import iso_time
from agui_bridge.stores.base import ThreadRow
from agui_bridge.surfaces.reading import check_text_id, seen_last, without_rounded

_SINGLY: Final = replace(V1, name="a2a", answers_singly=True)

_LISTED: Final = 50
_MOST_LISTED: Final = 100
_MOST_COUNTED: Final = 10_000
"""Contexts that a list looks at to say how many there are."""

_MOST_IN_CONTEXT: Final = 200
"""Tasks of one context that are listed, the newest ones."""

_MOST_LOOKED_AT: Final = 200
"""Contexts whose tasks a page may need to look at: a page of fewer tasks goes on, too."""

_HAS_ENDED: Final = "The task has ended: send the message without its taskId to begin another one."
_ROWS: Final = 500
_TIME: Final = re.compile(r"[0-9]{1,12}(\.[0-9]{1,20})?")


@dataclass(frozen=True, slots=True)
class _Begun:
    """A message that was handed in: its task, and what comes of it."""

    task: TaskId
    pipe: Pipe
    stream: EventStream


class Sent:
    """A message that has begun a task, or goes on with one.

    Args:
        tasks: tells of the task.
        said: the message.
        begun: its task, and what comes of it.
    """

    def __init__(self, tasks: Tasks, said: Said, begun: _Begun) -> None:
        self._tasks = tasks
        self._said = said
        self._begun = begun

    async def result(self) -> Mapping[str, Json]:
        """Wait until the task has ended, or asks; gives it.

        Raises:
            Fault: the message was refused, once another one was carried out.
            StoreUnavailable: the store did not answer.
        """
        said, begun = self._said, self._begun
        try:
            while not said.at_once and await begun.pipe.read():
                pass
        finally:
            begun.pipe.detach()
        check_not_refused(begun.stream)
        note = None if said.at_once else note_of(begun.stream)
        return {"task": await self._tasks.task(begun.task, history=said.history, note=note)}


class Operations:
    """The operations of A2A on one agent.

    Args:
        engine: where its threads are.
        agent: the agent.
        principal: the caller.
        heavy: whether the request is so large that work on it takes turns.
    """

    def __init__(
        self, engine: Engine, agent: Agent, principal: Principal, *, heavy: bool = False
    ) -> None:
        self._engine = engine
        self._agent = agent
        self._principal = principal
        self._heavy = heavy
        self._tasks = Tasks(engine, principal, agent.name)

    # --- messages ---

    async def send(self, params: Params) -> Sent:
        """SendMessage: a message, and its task once it has ended, or asks.

        A client that goes away leaves the task at work.

        Raises:
            Fault: a parameter is wrong, or the message was refused; nothing was changed.
            StoreUnavailable: the store did not answer.
        """
        said = said_in(params)
        begun = await self._hand_in(said)
        try:
            await first_of(begun.pipe, begun.stream, begins=said.task is None)
        except BaseException:
            begun.pipe.detach()
            raise
        return Sent(self._tasks, said, begun)

    async def stream(self, params: Params, write: Write) -> TaskStream:
        """SendStreamingMessage: the same as a stream.

        Args:
            params: of the request.
            write: makes the bytes of each event.

        Raises:
            Fault: a parameter is wrong, or as many runs of the scope go on.
            StoreUnavailable: the store did not answer.
        """
        said = said_in(params)
        begun = await self._hand_in(said)
        return TaskStream(
            self._tasks,
            begun.task,
            begun.pipe,
            begun.stream,
            write,
            said.history,
            opening=_opening(begun.task, said) if said.task is None else None,
        )

    async def _hand_in(self, said: Said) -> _Begun:
        limit = self._agent.settings.max_id_bytes
        with _as_faults():
            check_text_id("message.messageId", said.answer_id, limit)
            if said.context is not None:
                check_text_id("message.contextId", said.context, limit)
                if said.task is None:
                    check_addressable("message.contextId", said.context)
        if said.task is None:
            if said.resume is not None:
                raise invalid("message.taskId", "is missing: answers name the task that asks")
            task = TaskId(said.context or mint(), said.id)
            if said.context is not None:
                await self._tasks.check_same(task, said.content)
            return await self._submit(task, said.id, messages=[_message(said.id, said)])
        if said.context not in (None, said.task.thread):
            raise invalid("message.contextId", "is not that of the task")
        return await self._answer(said, said.task)

    async def _answer(self, said: Said, task: TaskId) -> _Begun:
        found = await self._tasks.task(task, artifacts=False)
        state = _state_of(found)
        messages = [] if said.content is None else [_message(said.answer_id, said)]
        known = {each["messageId"] for each in as_objects(found.get("history"))}
        if state in ENDS and messages and said.answer_id not in known:
            raise Fault("UNSUPPORTED_OPERATION", _HAS_ENDED)
        if said.resume is not None:
            # Also to a task that has ended: what was answered before is told again.
            if state in ENDS:
                await self._tasks.check_answered(task, as_objects(said.resume))
            return await self._submit(task, mint(), messages=messages, resume=said.resume)
        if state != INPUT_REQUIRED:
            raise Fault(
                "UNSUPPORTED_OPERATION",
                _HAS_ENDED
                if state in ENDS
                else "The task is at work: wait until it asks or has ended, or cancel it.",
            )
        before = await seen_last(self._engine, self._agent, self._tasks.key(task.thread))
        return await self._submit(task, said.answer_id, messages=[*before, *messages])

    async def _submit(self, task: TaskId, run_id: str, **members: Json) -> _Begun:
        # The stored conversation is the only one: no client of A2A sends a list of messages.
        settings = replace(self._agent.settings, history="server")
        body = {
            "threadId": task.thread,
            "runId": run_id,
            "protocolVersion": "1.0",
            "messages": [],
            **members,
        }
        with _as_faults():
            async with self._engine.turns.turn(self._principal.scope, self._heavy):
                parsed = parse_input(body, settings.input_limits)
            # To many clients all numbers are doubles.
            entries = without_rounded(parsed.entries)
            submission = Submission(
                replace(self._agent, settings=settings),
                self._principal,
                replace(parsed, dialect=_SINGLY, entries=entries),
                on_disconnect="continue",
                refusals="error",
                via="a2a",
                heavy=self._heavy,
            )
            pipe, stream = self._engine.submit(submission)
        return _Begun(task, pipe, stream)

    # --- tasks ---

    async def get(self, params: Params) -> Mapping[str, Json]:
        """GetTask: a task as it stands.

        Raises:
            Fault: there is none, or a parameter is wrong.
            StoreUnavailable: the store did not answer.
        """
        return await self._tasks.task(task_named(params), history=count_of(params, "historyLength"))

    async def cancel(self, params: Params) -> Mapping[str, Json]:
        """CancelTask: stops a task, or withdraws what it asks, and waits until that is done.

        Raises:
            Fault: there is none, it has ended, or what it asks is others' to withdraw.
            StoreUnavailable: the store did not answer.
        """
        id = task_named(params)
        key = self._tasks.key(id.thread)
        # Looked up before the task is: a run that another message begins meanwhile is not what is
        # to be cancelled.
        record = (await self._engine.store.load(key)).record
        run_id = busy_with(record) if record is not None else None
        if _state_of(await self._tasks.task(id, history=0, artifacts=False)) in ENDS:
            raise _not_cancelable("The task has ended already.")
        with _as_faults():
            result = await self._engine.stop(
                key,
                timeout=self._agent.settings.stop_timeout,
                principal=self._principal,
                run_id=run_id,
            )
        task = await self._tasks.task(id)
        if _state_of(task) != CANCELED:
            raise _not_cancelable(result.error or "The task ended before it could be cancelled.")
        return task

    async def subscribe(self, params: Params, write: Write) -> TaskStream:
        """SubscribeToTask: the task, then what happens to it, until it has ended.

        Raises:
            Fault: there is none, or it has ended.
            StoreUnavailable: the store did not answer.
        """
        id = task_named(params)
        if _state_of(await self._tasks.task(id, history=0, artifacts=False)) in ENDS:
            raise Fault("UNSUPPORTED_OPERATION", "The task has ended: ask for it by GetTask.")
        body = {"threadId": id.thread, "runId": mint(), "protocolVersion": "1.0", "messages": []}
        with _as_faults():
            submission = Submission(self._agent, self._principal, parse_input(body))
            follow = functools.partial(show_thread, self._engine, submission)
            pipe, stream = follow()
        return TaskStream(self._tasks, id, pipe, stream, write, again=follow)

    async def list(self, params: Params) -> Mapping[str, Json]:
        """ListTasks: the newest task of each context, or all of one, those last touched first.

        Raises:
            Fault: a parameter is wrong.
            StoreUnavailable: the store did not answer.
        """
        wanted = _Wanted.of(params)
        if wanted.context is not None:
            with _as_faults():
                check_text_id("contextId", wanted.context, None)
            return await self._in_context(wanted, wanted.context)
        tasks: list[Mapping[str, Json]] = []
        token, before, left = "", wanted.before, _MOST_LOOKED_AT
        while left and len(tasks) < wanted.size:
            rows = await self._rows(before)
            for row in rows:
                before = row.record.updated_at
                if wanted.may_be(row):
                    tasks += await self._wanted(wanted, row.record.key.thread)
                    left -= 1
                if not left or len(tasks) == wanted.size:
                    token = repr(before)
                    break
            if len(rows) < _ROWS:
                break
        return wanted.page(tasks, token, await self._count(wanted))

    async def _wanted(self, wanted: _Wanted, thread: str) -> Sequence[Mapping[str, Json]]:
        """A thread's newest task, if it is one of those."""
        id = await self._tasks.newest(thread)
        return [] if id is None else await self._told(wanted, id)

    async def _told(self, wanted: _Wanted, id: TaskId) -> Sequence[Mapping[str, Json]]:
        try:
            task = await self._tasks.task(id, history=wanted.history, artifacts=wanted.artifacts)
        except Fault:
            # Gone meanwhile, or begun by a client of another surface: nothing tells its end.
            return []
        return [task] if wanted.fits(task) else []

    async def _in_context(self, wanted: _Wanted, thread: str) -> Mapping[str, Json]:
        ids = (await self._tasks.of_thread(thread))[:_MOST_IN_CONTEXT]
        found = [task for id in ids for task in await self._told(wanted, id)]
        names = [task["id"] for task in found]
        start = names.index(wanted.token) + 1 if wanted.token in names else 0
        page = found[start : start + wanted.size]
        more = start + len(page) < len(found)
        return wanted.page(page, str(page[-1]["id"]) if more else "", len(found))

    async def _rows(self, before: float | None) -> Sequence[ThreadRow]:
        scope, agent = self._principal.scope, self._agent.name
        return await self._engine.store.list_threads(scope, agent, limit=_ROWS, before=before)

    async def _count(self, wanted: _Wanted) -> int:
        count, seen, before = 0, 0, None
        while seen < _MOST_COUNTED:
            rows = await self._rows(before)
            seen += len(rows)
            count += sum(map(wanted.may_be, rows))
            if len(rows) < _ROWS:
                break
            before = rows[-1].record.updated_at
        return count


@dataclass(frozen=True, slots=True)
class _Wanted:
    """Which tasks a list is of, and how much of each.

    Attributes:
        context: all of this one; None: the newest task of each.
        state: only those that stand there; None is any.
        since: only those that have changed since this time (seconds); None is any.
        size: as many at most.
        token: where the page before ended, "" for the first one.
        history: messages of each one's history at most.
        artifacts: whether what agents said is told.
    """

    context: str | None
    state: str | None
    since: float | None
    size: int
    token: str
    history: int
    artifacts: bool

    @classmethod
    def of(cls, params: Params) -> _Wanted:
        """Read the parameters.

        Raises:
            Fault: one is wrong.
        """
        state = text_of(params, "status")
        if state is not None and state not in STATES:
            raise invalid("status", f"must be one of {', '.join(sorted(STATES))}")
        context, token = text_of(params, "contextId"), text_of(params, "pageToken") or ""
        if context is None and token and not _TIME.fullmatch(token):
            raise invalid("pageToken", "must be what nextPageToken of an answer says")
        size = count_of(params, "pageSize", 1, _MOST_LISTED)
        history = count_of(params, "historyLength")
        return cls(
            context,
            state,
            _time_of(params, "statusTimestampAfter"),
            _LISTED if size is None else size,
            token,
            0 if history is None else history,
            flag_of(params, "includeArtifacts"),
        )

    @property
    def before(self) -> float | None:
        """Where the page before ended."""
        return float(self.token) if self.token else None

    def may_be(self, row: ThreadRow) -> bool:
        """Whether the newest task of a thread may be one of those, by its row alone."""
        record = row.record
        if self.since is not None and record.updated_at < self.since:
            return False
        return self.state is None or self.state in _possible(row)

    def fits(self, task: Mapping[str, Json]) -> bool:
        """Whether a task is one of those."""
        return self.state in (None, _state_of(task))

    def page(
        self, tasks: Sequence[Mapping[str, Json]], token: str, total: int
    ) -> Mapping[str, Json]:
        """The answer."""
        return {
            "tasks": [*tasks],
            "nextPageToken": token,
            "pageSize": self.size,
            "totalSize": total,
        }


def _possible(row: ThreadRow) -> frozenset[str]:
    """The states that the newest task of a thread may have."""
    status, ended = row.record.status, row.record.ended
    if status is ThreadStatus.RUNNING:
        return frozenset({WORKING})
    if status is ThreadStatus.INTERRUPTED:
        return frozenset({INPUT_REQUIRED, WORKING} if row.open_interrupts else {CANCELED, WORKING})
    if ended is None or ended.outcome == "finished":
        return frozenset({CANCELED if row.record.closed else COMPLETED})
    return frozenset({CANCELED} if ended.outcome == "stopped" else {FAILED, REJECTED})


def _time_of(params: Params, field: str) -> float | None:
    text = text_of(params, field)
    if text is None:
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise invalid(field, "must be a time such as 2026-01-31T12:00:00Z") from None
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()


def _state_of(task: Mapping[str, Json]) -> str:
    status: Mapping[str, Any] = task["status"]
    return str(status["state"])


def _opening(task: TaskId, said: Said) -> Mapping[str, Json]:
    """A task as its message begins it: whatever its run has done by then is told behind it."""
    opening: dict[str, Json] = {
        "id": str(task),
        "contextId": task.thread,
        "status": {"state": WORKING, "timestamp": iso_time(time.time())},
    }
    if said.history != 0:
        opening["history"] = [asked_message(task, _message(said.id, said))]
    return opening


def _message(id: str, said: Said) -> dict[str, Json]:
    if said.content is None:
        raise invalid("message.parts", "must hold something that is said")
    return {"id": id, "role": "user", "content": said.content}


def _not_cancelable(why: str) -> Fault:
    return Fault("TASK_NOT_CANCELABLE", why)


@contextlib.contextmanager
def _as_faults() -> Iterator[None]:
    """Tell what the bridge refuses as A2A does."""
    try:
        yield
    except Refused as error:
        raise fault_of(error) from None
