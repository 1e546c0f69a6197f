"""Shows a returning client the thread, then follows its run.

Nothing is begun and nothing is changed, except a recovery that was due. Source: docs/contract.md,
W31 to W36; reload in CopilotKit's runtime (its `show_thread`).
"""

from __future__ import annotations

import contextlib

from agui_bridge.engine.engine import Engine, mint
from agui_bridge.engine.input.submission import Submission
from agui_bridge.engine.input.weight import are_long
from agui_bridge.engine.recovery import recover_thread
from agui_bridge.engine.run.execution import Execution
from agui_bridge.engine.run_elsewhere import RunElsewhere
from agui_bridge.engine.streaming.event_stream import EventStream
from agui_bridge.engine.streaming.failures import failures_told
from agui_bridge.engine.streaming.pipe import Pipe
from agui_bridge.engine.waiting import finish_unless_gone
from agui_bridge.errors import Conflict
from agui_bridge.protocol.threads.loaded import Loaded

__all__ = ["show_thread"]


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
    elsewhere = RunElsewhere(engine.store, engine.reads, submission.key, stream)
    while stream.terminal is None:
        if (run := _joinable(engine, submission)) is not None:
            elsewhere.end()
            await _follow(engine, submission, run, stream)
            continue
        async with engine.reads.whole(submission.key) as loaded:
            record = loaded.record
            if record is None and not stream.begun:
                return
            if record is None or record.run is None:
                elsewhere.end(loaded.messages)
                stream.restate(loaded)
                return
            if not (loaded.run_lost or stream.begun):
                stream.begin()
                stream.snapshots(record.state, [m.message for m in loaded.messages])
                elsewhere.shown(loaded.messages)
        if loaded.run_lost:
            with contextlib.suppress(Conflict):
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
        untold = execution.unsent and execution.unsent["messageId"]
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
    """Wait until a run that can't be followed is over, or can be, or its lease is over."""
    assert loaded.run is not None, "only a run is waited for"
    token = loaded.run.token
    if (ending := engine.running.get(submission.key)) is not None and ending.owner.token == token:
        await ending.over.wait()
        return

    def over(seen: Loaded) -> bool:
        if engine.closing or _joinable(engine, submission) is not None:
            return True
        return not seen.runs(token)

    await elsewhere.follow(over)
