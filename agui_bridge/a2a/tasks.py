"""Tasks as they stand, read from threads: the same for every replica, and after every restart.

A task is what a message has begun: the agent's words from there to the next message, the pauses in
between, and how it ended. While it is its thread's newest, its state is the thread's. Of one that
another has followed, the thread no longer says it, but what ended its runs does: the receipt of the
message, then those of the pauses, each of which was opened by the end of the one before.

Source: the A2A specification 1.0, sections 3.1.3, 3.1.4 and 4.1; docs/contract.md, R12 to R14.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from agui_bridge.a2a.faults import invalid
from agui_bridge.a2a.requests import TaskId, begins_task, no_such_task
from agui_bridge.a2a.wire import (
    CANCELED,
    COMPLETED,
    FAILED,
    INPUT_REQUIRED,
    INTERRUPTS,
    REJECTED,
    WORKING,
    Part,
    interrupts_part,
    parts_of,
)
from agui_bridge.engine.engine import Engine
from agui_bridge.engine.input.submission import receipt_key
from agui_bridge.engine.reconnecting import messages_so_far
from agui_bridge.engine.stopping import was_stopped
from agui_bridge.engine.waiting import wait_until
from agui_bridge.errors import CODES
from agui_bridge.protocol.approvals import told_to
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.records import (
    Interrupt,
    Json,
    Principal,
    Receipt,
    ReceiptOutcome,
    ThreadKey,
    ThreadStatus,
)
from agui_bridge.protocol.wire.run_events import iso_time, public_interrupt
from agui_bridge.stores.base import QuestionFilter
from agui_bridge.surfaces.reading import say_call

Message = Mapping[str, Any]

_STATES: Final[Mapping[ReceiptOutcome, str]] = {
    "finished": COMPLETED,
    "stopped": CANCELED,
    "cancelled": CANCELED,
    "expired": CANCELED,
    "failed": FAILED,
    "lost": FAILED,
    "undelivered": FAILED,
    "claimed": WORKING,
}
_EXPIRED: Final = "Nobody answered in time, so what was asked for was not carried out."
_SEVERAL_OPEN: Final = 200


@dataclass(frozen=True, slots=True)
class _Stand:
    """Where a task stands.

    Attributes:
        state: of A2A's.
        at: store time (seconds) since when, about.
        said: what is said of it, "" for nothing.
        asks: the questions that its caller is told of.
    """

    state: str
    at: float
    said: str = ""
    asks: tuple[Interrupt, ...] = ()


@dataclass(frozen=True, slots=True)
class _Seen:
    """A task's part of its thread.

    Attributes:
        messages: its own one, then all up to the next one's.
        newest: whether no other task has begun since.
        result: what its run gave, where that is known.
        stand: where it stands; None: what ended its runs has to be looked up.
        loaded: the thread, without messages.
    """

    messages: Sequence[Message]
    newest: bool
    result: Json
    stand: _Stand | None
    record: Loaded


class Tasks:
    """Tells of the tasks of one agent's threads to one caller.

    Args:
        engine: where the threads are.
        principal: whose threads, and which of their questions.
        agent: the agent's name.
    """

    def __init__(self, engine: Engine, principal: Principal, agent: str) -> None:
        self._engine = engine
        self._principal = principal
        self._agent = agent

    def key(self, thread: str) -> ThreadKey:
        """The key of a thread of the caller's."""
        return ThreadKey(self._principal.scope, self._agent, thread)

    async def task(
        self,
        id: TaskId,
        *,
        history: int | None = None,
        artifacts: bool = True,
        note: str | None = None,
    ) -> dict[str, Json]:
        """A task as it stands now.

        Args:
            id: the task's.
            history: messages of its history at most; None: all.
            artifacts: whether what the agent said is told.
            note: what is to be said of where it stands: why it asks again, or why it failed.

        Raises:
            Fault: TASK_NOT_FOUND.
            StoreUnavailable: the store did not answer.
        """
        key, receipt = self.key(id.thread), receipt_key(id.message, id.message)
        begun = (await self._engine.store.load(key, receipt=receipt)).receipts.get(receipt)
        seen = await self._look(key, id)
        if seen is None or (begun is None and not seen.newest):
            raise no_such_task()
        stand = seen.stand or await self._ended(key, seen.record, begun)
        task: dict[str, Json] = {
            "id": str(id),
            "contextId": id.thread,
            "status": status_of(id, stand, note),
        }
        if artifacts:
            task["artifacts"] = [*map(_artifact, seen.messages), *_result(seen.result)]
            task["artifacts"] = [each for each in task["artifacts"] if each]
        said = [asked_message(id, each) for each in seen.messages if each["role"] == "user"]
        if history != 0 and said:
            task["history"] = said[-history:] if history is not None else said
        return task

    async def changes(self, id: TaskId, status: Json) -> bool:
        """Wait while a task asks, or sleeps, as it did; says whether it does something else.

        It does not where the server ends.

        Args:
            id: the task's.
            status: as its caller was told.

        Raises:
            Fault: TASK_NOT_FOUND; TOO_MANY_RUNS: as many readers of the scope are there.
            StoreUnavailable: the store did not answer.
        """
        engine, key = self._engine, self.key(id.thread)
        asked = {ask.id for ask in (await engine.store.load(key)).waiting}

        def over(seen: Loaded) -> bool:
            waits = seen.status is ThreadStatus.INTERRUPTED
            return engine.closing or not waits or {ask.id for ask in seen.waiting} != asked

        with engine.follow_slots.hold(key.scope):
            if (await self.task(id, history=0, artifacts=False))["status"] == status:
                await wait_until(engine.store, key, over)
        return not engine.closing

    async def newest(self, thread: str) -> TaskId | None:
        """The newest task of a thread; None where no message has begun one."""
        return next(iter(await self.of_thread(thread)), None)

    async def check_same(self, id: TaskId, content: Json) -> None:
        """Check that a message is the one that has begun a task, if that has begun.

        Raises:
            Fault: it says something else: it would be taken for the other one, and get lost.
        """
        async with self._engine.threads.whole(self.key(id.thread)) as loaded:
            before = [each.message for each in loaded.messages if each.id == id.message]
        if any(parts_of(each.get("content")) != parts_of(content) for each in before):
            raise invalid("message.messageId", "is that of another message of this context")

    async def check_answered(self, id: TaskId, entries: Sequence[Mapping[str, Any]]) -> None:
        """Check that answers to a task that has ended are none to what another one asks.

        Raises:
            Fault: one is: its sender would be told of the wrong task.
        """
        waiting = {ask.id for ask in (await self._engine.store.load(self.key(id.thread))).waiting}
        if waiting.intersection(str(entry.get("interruptId")) for entry in entries):
            raise invalid("message.taskId", "is not that of the task that asks")

    async def is_newest(self, id: TaskId) -> bool:
        """Whether no other task of its thread has begun since."""
        return await self.newest(id.thread) == id

    async def of_thread(self, thread: str) -> list[TaskId]:
        """All that messages of a thread have begun, the newest first."""
        async with self._engine.threads.whole(self.key(thread)) as loaded:
            begun = [each.id for each in loaded.messages if begins_task(each.message)]
        return [TaskId(thread, message) for message in reversed(begun)]

    async def _look(self, key: ThreadKey, id: TaskId) -> _Seen | None:
        words = await self._engine.store.words(key)
        async with self._engine.threads.whole(key) as loaded:
            if loaded.record is None:
                return None
            messages = messages_so_far(loaded, words)
            own, newest = stretch_of(messages, id.message)
            result = loaded.result if newest else None
            stand = self._now(loaded) if newest else None
            # What is said of the thread below needs its record and its questions alone.
            bare = Loaded(loaded.record, loaded.now, loaded.interrupts)
            return _Seen(own, newest, result, stand, bare)

    def _now(self, loaded: Loaded) -> _Stand | None:
        """Where a thread's newest task stands, if it has not ended."""
        assert loaded.record is not None, "a task has a thread"
        at = loaded.record.updated_at
        if loaded.status is ThreadStatus.RUNNING:
            return _Stand(WORKING, at)
        if loaded.status is not ThreadStatus.INTERRUPTED:
            return None
        waiting = loaded.waiting
        if waiting and not all(ask.is_timer for ask in waiting):
            return _Stand(INPUT_REQUIRED, at, "", tuple(told_to(waiting, self._principal)))
        if waiting:
            until = min(ask.expires_at for ask in waiting if ask.expires_at is not None)
            return _Stand(WORKING, at, f"It sleeps until {iso_time(until)}.")
        if loaded.all_expired and not loaded.timer_due:
            return _Stand(CANCELED, at, _EXPIRED)
        # Answered, or woken, and about to go on.
        return _Stand(WORKING, at)

    async def _ended(self, key: ThreadKey, loaded: Loaded, begun: Receipt | None) -> _Stand:
        """How a task has ended that does nothing any more."""
        record = loaded.record
        assert record is not None, "a task has a thread"
        if begun is None:
            ended = record.ended.outcome if record.ended is not None else "finished"
            outcome: ReceiptOutcome = "stopped" if was_stopped(record) else ended
            return _stand(outcome, None, record.updated_at)
        last, passed = begun, {begun.batch}
        batches = await self._batches(key)
        while True:
            # A run's end opens its pause, which is closed later: others were closed before that
            # run, or opened by one behind it.
            opened = next(
                (
                    (batch, closed)
                    for batch, (at, closed) in batches.items()
                    if batch not in passed
                    and at <= last.at
                    and (closed is None or closed.at >= last.at)
                ),
                None,
            )
            if opened is None:
                return _stand(last.outcome, last.code, last.at)
            batch, closed = opened
            if closed is None:
                return _stand("expired", None, last.at)
            passed.add(batch)
            last = closed

    async def _batches(self, key: ThreadKey) -> Mapping[str, tuple[float, Receipt | None]]:
        """The pauses of a thread: when each was opened, and what closed it."""
        store, which = self._engine.store, QuestionFilter(agent=key.agent, thread=key.thread)
        first: dict[str, Interrupt] = {}
        after = None
        while True:
            rows = await store.list_interrupts(key.scope, which, after=after, limit=_SEVERAL_OPEN)
            for row in rows:
                first.setdefault(row.interrupt.batch, row.interrupt)
            if len(rows) < _SEVERAL_OPEN:
                break
            after = rows[-1].place
        if not first:
            return {}
        loaded = await store.load(key, [ask.id for ask in first.values()])
        return {
            batch: (ask.audit[0].at if ask.audit else 0.0, loaded.receipts.get(batch))
            for batch, ask in first.items()
        }


def _stand(outcome: ReceiptOutcome, code: str | None, at: float) -> _Stand:
    state, said = _STATES[outcome], ""
    if outcome == "expired":
        said = _EXPIRED
    elif code is not None and code in CODES:
        state = REJECTED if code == "AGENT_REFUSED" else state
        said = f"{code}: {CODES[code].cause} {CODES[code].remedy}"
    return _Stand(state, at, said)


def stretch_of(messages: Sequence[Message], begun_by: str) -> tuple[Sequence[Message], bool]:
    """A task's messages, and whether it is the newest.

    Args:
        messages: the conversation.
        begun_by: id of the message that began it; one that is not in context has none.
    """
    begin = next((n for n, each in enumerate(messages) if each["id"] == begun_by), None)
    if begin is None:
        return (), False
    own = [
        messages[begin],
        *itertools.takewhile(lambda each: not begins_task(each), messages[begin + 1 :]),
    ]
    return own, begin + len(own) == len(messages)


# --- as A2A has it ---


def status_of(id: TaskId, stand: _Stand, note: str | None = None) -> dict[str, Json]:
    """Where a task stands."""
    status: dict[str, Json] = {"state": stand.state, "timestamp": iso_time(stand.at)}
    said = [note] if note else [stand.said] if stand.said else []
    if not stand.asks:
        if said:
            named = hashlib.sha256(f"{stand.at} {said}".encode()).hexdigest()[:32]
            status["message"] = agent_message(id, named, [{"text": said[0]}])
        return status
    asked = [_question(ask) for ask in stand.asks]
    words = [*said, *(str(each.get("message") or each["reason"]) for each in asked)]
    # What is asked again, with another vote or another time, is another message.
    named = hashlib.sha256(
        repr([(ask.id, len(ask.audit)) for ask in stand.asks]).encode()
    ).hexdigest()[:32]
    parts = [{"text": "\n\n".join(words)}, interrupts_part(asked)]
    status["message"] = {**agent_message(id, named, parts), "extensions": [INTERRUPTS]}
    return status


def agent_message(id: TaskId, name: str, parts: Sequence[Part]) -> dict[str, Json]:
    """A message of a task's agent."""
    return {
        "messageId": name,
        "role": "ROLE_AGENT",
        "taskId": str(id),
        "contextId": id.thread,
        "parts": [*parts],
    }


def asked_message(id: TaskId, message: Message) -> dict[str, Json]:
    """A user's message of a task."""
    return {
        "messageId": message["id"],
        "role": "ROLE_USER",
        "taskId": str(id),
        "contextId": id.thread,
        "parts": [*parts_of(message.get("content"))],
    }


def is_spoken(message: Message) -> bool:
    """Whether a message is the agent's own, and says something."""
    return (
        message["role"] == "assistant"
        and isinstance(message.get("content"), str)
        and bool(message["content"])
        and "subagentRunId" not in message
    )


def _artifact(message: Message) -> dict[str, Json]:
    if not is_spoken(message):
        return {}
    return {"artifactId": message["id"], "parts": [{"text": message["content"]}]}


def _result(result: Json) -> list[dict[str, Json]]:
    if result is None:
        return []
    part = {"text": result} if isinstance(result, str) else {"data": result}
    return [{"artifactId": "result", "name": "result", "parts": [part]}]


def _question(ask: Interrupt) -> Mapping[str, Json]:
    """A question whose words say all that it would let run, with the call itself."""
    told = say_call(public_interrupt(ask), ask)
    call = ask.tool_call
    if call is None:
        return told
    return {**told, "toolCall": {"id": call.id, "name": call.name, "args": call.args}}
