"""Shows a returning client the thread, then follows its run.

Nothing is begun and nothing is changed, except a recovery that was due. Source: docs/contract.md,
W31 to W36; reload in CopilotKit's runtime (its `show_thread`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from agui_bridge.engine.engine import Engine, mint
from agui_bridge.engine.fairness import are_long
from agui_bridge.engine.input.submission import Submission
from agui_bridge.engine.recovery import recover_thread
from agui_bridge.engine.repository import Repository
from agui_bridge.engine.run.execution import Execution
from agui_bridge.engine.streaming.event_stream import EventStream, failures_told
from agui_bridge.engine.streaming.pipe import Pipe
from agui_bridge.engine.waiting import finish_unless_gone
from agui_bridge.errors import Conflict
from agui_bridge.protocol.lifecycle.event_rules import delta_event, end_event, start_event
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.records import ThreadKey
from agui_bridge.stores.base import StoredMessage


def show_thread(engine: Engine, submission: Submission) -> tuple[Pipe, EventStream]:
    """Begin to show a thread; the pipe gives the bytes.

    A thread that does not exist gives none. One on which nothing runs is told as snapshots and
    the outcome that it has now, with the open questions. A run of this process is followed
    event by event. Of one of another process its text is told as far as it is kept, and the rest
    when it has ended.

    Args:
        engine: the engine.
        submission: names the thread and the reader; what else its input holds is not looked at.

    Raises:
        Refused: TOO_MANY_RUNS: as many readers of the scope are there.
    """
    scope = submission.key.scope
    engine.follow_slots.take(scope)
    pipe = Pipe(engine.settings.pipe_events, engine.settings.pipe_bytes)
    stream = EventStream(submission, pipe)
    task = engine.spawn(_serve(engine, submission, stream))
    task.add_done_callback(lambda _: engine.follow_slots.free(scope))
    return pipe, stream


async def _serve(engine: Engine, submission: Submission, stream: EventStream) -> None:
    with failures_told(stream):
        await finish_unless_gone(_show(engine, submission, stream), stream.pipe)


async def _show(engine: Engine, submission: Submission, stream: EventStream) -> None:
    """Tell how the thread stands until it has been told to an end."""
    elsewhere = RunElsewhere(engine.threads, submission.key, stream)
    while stream.terminal is None:
        if (run := _joinable(engine, submission)) is not None:
            elsewhere.end()
            await _follow(engine, submission, run, stream)
            continue
        async with engine.threads.whole(submission.key) as loaded:
            record = loaded.record
            if record is None and not stream.begun:
                return
            answered = loaded.held_by is not None and loaded.only_answered
            if record is None or (record.run is None and not answered):
                elsewhere.end(loaded.messages)
                stream.restate(loaded)
                return
            if (loaded.way_on is not None or not loaded.run_lost) and not stream.begun:
                stream.begin()
                stream.snapshots(record.state, [m.message for m in loaded.messages])
                elsewhere.shown(loaded.messages)
        if loaded.run_lost and loaded.way_on != "later":
            with contextlib.suppress(Conflict):
                if loaded.way_on == "now":
                    await engine.looks.go_on(submission.agent, submission.key, loaded)
                else:
                    await recover_thread(engine.store, submission.key, loaded, mint)
        else:
            await _wait(engine, submission, loaded, elsewhere)
            if engine.closing:
                elsewhere.end()
                stream.fail("SHUTTING_DOWN")


def _joinable(engine: Engine, submission: Submission) -> Execution | None:
    run = engine.running.get(submission.key)
    return run if run is not None and run.joinable else None


async def _follow(
    engine: Engine, submission: Submission, execution: Execution, stream: EventStream
) -> None:
    history = execution.history
    is_long = are_long(history.messages, history.state)
    async with engine.turns.turn(submission.key.scope, is_long):
        if not execution.joinable:
            # It ended while this waited for its turn.
            return
        untold = execution.said.unsent and execution.said.unsent["messageId"]
        told = [message for message in history.messages if message["id"] != untold]
        execution.stream.let_follow(stream, history.state, told)
    try:
        with execution.listeners.present():
            await execution.over.wait()
    finally:
        execution.stream.followers.remove(stream)


async def _wait(
    engine: Engine, submission: Submission, loaded: Loaded, elsewhere: RunElsewhere
) -> None:
    """Wait until a run that can't be followed is over, or can be, or its lease is over.

    Or until a pause that is answered is claimed by whoever holds it.
    """
    if (run := loaded.run) is None:
        await elsewhere.follow(lambda seen: engine.closing or seen.held_by != loaded.held_by)
        return
    token = run.token
    if (ending := engine.running.get(submission.key)) is not None and ending.owner.token == token:
        await ending.over.wait()
        return

    def over(seen: Loaded) -> bool:
        if engine.closing or _joinable(engine, submission) is not None:
            return True
        return not seen.runs(token)

    await elsewhere.follow(over)


# --- what is told of a run that another process carries out: its text, as far as that is kept ---
#
# That process keeps it now and then, beside the thread (`engine/run/keeper.py`). It is no message
# of the thread yet: it may be longer by the time it is one, and then that counts.

Message = Mapping[str, Any]


def messages_so_far(loaded: Loaded, words: StoredMessage | None) -> list[Message]:
    """The messages of a thread, with the one that its run is saying.

    Args:
        loaded: the thread.
        words: what `Store.words` gave, asked for before the thread was loaded.
    """
    messages: list[Message] = [stored.message for stored in loaded.messages]
    stored = {message.id for message in loaded.messages}
    if words is not None and loaded.run is not None and words.id not in stored:
        messages.append(words.message)
    return messages


class RunElsewhere:
    """Tells one reader what a thread's runs are saying in other processes.

    A message is opened once, grows as what is kept of it does, and is closed when it is stored.

    Args:
        threads: loads the thread.
        key: the thread.
        stream: the reader's.
    """

    def __init__(self, threads: Repository, key: ThreadKey, stream: EventStream) -> None:
        self._store = threads.store
        self._threads = threads
        self._key = key
        self._stream = stream
        self._open: dict[str, str] = {}
        # Told whole, or within the snapshot.
        self._told: set[str] = set()
        self._latest: str | None = None

    def shown(self, messages: Iterable[StoredMessage]) -> None:
        """Take note of the messages of the snapshot that the reader has."""
        self._told.update(message.id for message in messages)

    async def follow(self, over: Callable[[Loaded], bool]) -> None:
        """Tell what is said until something holds: when it changes, and once a second.

        What is open then stays open, for `end`.

        Args:
            over: whether there is nothing more to wait for, by what the thread is now.
        """
        async with contextlib.aclosing(self._store.watch(self._key)) as changes:
            async for _ in changes:
                if over(await self._store.load(self._key)):
                    return
                await self._look()
                await self._stream.drained()

    async def _look(self) -> None:
        words = await self._store.words(self._key)
        saying = words.id if words is not None else None
        if self._latest not in (None, saying):
            async with self._threads.whole(self._key) as loaded:
                self._close(loaded.messages)
        self._latest = saying
        if words is not None and words.id not in self._told:
            self._tell(words)

    def end(self, messages: Iterable[StoredMessage] = ()) -> None:
        """Close what is open: with the rest of it, where it is among the messages."""
        self._close(messages)
        for message_id in tuple(self._open):
            self._end(message_id)

    def _tell(self, words: StoredMessage) -> None:
        message, known = words.message, self._open.get(words.id)
        if known is None:
            start = {"messageId": words.id, "role": message["role"]}
            if "name" in message:
                start["name"] = message["name"]
            self._stream.send(start_event("text", start))
        self._grow(words.id, message["content"])

    def _grow(self, message_id: str, text: object) -> None:
        known = self._open.setdefault(message_id, "")
        # What was replaced meanwhile is put right by the snapshot at the end.
        if isinstance(text, str) and len(text) > len(known) and text.startswith(known):
            self._stream.send(delta_event("text", message_id, None, text[len(known) :]))
            self._open[message_id] = text

    def _close(self, messages: Iterable[StoredMessage]) -> None:
        if self._open:
            for stored in messages:
                if stored.id in self._open:
                    self._grow(stored.id, stored.message.get("content"))
                    self._end(stored.id)

    def _end(self, message_id: str) -> None:
        del self._open[message_id]
        self._told.add(message_id)
        self._stream.send(end_event("text", message_id, None))
