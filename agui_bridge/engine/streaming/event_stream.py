"""A run's event stream on its way to one client, and to those that follow it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any

from agui_bridge.engine.input.submission import Submission
from agui_bridge.engine.streaming.pipe import Pipe
from agui_bridge.errors import CODES
from agui_bridge.protocol.contract.requests import Ruling
from agui_bridge.protocol.dialects import proposal_of
from agui_bridge.protocol.json_values import WireEvent
from agui_bridge.protocol.lifecycle.late_reader import Openings
from agui_bridge.protocol.threads.records import Json, Loaded
from agui_bridge.protocol.wire.run_events import (
    messages_snapshot,
    outcome_now,
    run_error,
    run_finished,
    run_started,
    state_snapshot,
)
from agui_bridge.protocol.wire.sse import encode

__all__ = ["EventStream"]

FOLLOWER_PATIENCE = 2.0
"""Seconds that a run waits for one who only looks on."""


class EventStream:
    """What one client is told.

    Attributes:
        terminal: the last RUN_FINISHED or RUN_ERROR event, in the 1.0 shape; for callers
            without a connection.
        ruling: what admission made of the input, for surfaces that answer with an HTTP status.
        followers: streams that get what this one gets, each with its own ids and dialect. They
            hold the run back too, but not for long.
    """

    def __init__(self, submission: Submission, pipe: Pipe) -> None:
        self.pipe = pipe
        self.terminal: WireEvent | None = None
        self.ruling: Ruling | None = None
        self.followers: list[EventStream] = []
        self._thread_id = submission.parsed.input.thread_id
        self._run_id = submission.run_id
        self._dialect = submission.parsed.dialect
        self._told: list[Mapping[str, Json]] = []
        self._begun = False
        self._openings = Openings()

    @property
    def begun(self) -> bool:
        """Whether RUN_STARTED is out: from then on an error is an event, no HTTP status."""
        return self._begun

    def begin(self) -> None:
        """Send RUN_STARTED, once."""
        if not self._begun:
            self._begun = True
            self.pipe.write(encode(run_started(self._thread_id, self._run_id)))

    def send(self, event: WireEvent) -> None:
        """Send a content event."""
        self._openings.note(event)
        self.pipe.write(chunk := encode(event))
        self.relay(chunk)

    def relay(self, chunk: bytes) -> None:
        """Pass a content event on, as it was written to this stream's own pipe."""
        for follower in self.followers:
            follower.pipe.write(chunk)

    def snapshots(self, state: Json, messages: Iterable[Mapping[str, Json]]) -> None:
        """Send the state and the conversation whole."""
        self.send(state_snapshot(state))
        self._told = list(messages)
        for follower in self.followers:
            follower._told = self._told
        self.send(messages_snapshot(self._told))

    def finish(
        self, outcome: Mapping[str, Json], *, result: Json = None, usage: Iterable[Any] = ()
    ) -> None:
        """Send RUN_FINISHED, in the client's dialect."""
        event = run_finished(
            self._thread_id, self._run_id, outcome, result=result, usage=list(usage)
        )
        self.terminal = event
        for each in self._dialect.outgoing(event, self._call_of):
            self.pipe.write(encode(each))
        for follower in self.followers:
            follower.finish(outcome, result=result, usage=usage)

    def fail(self, code: str, message: str | None = None, *, usage: Iterable[Any] = ()) -> None:
        """Send RUN_ERROR with a code of `errors.CODES`; by default with the code's own cause."""
        event = run_error(code, message or CODES[code].cause, usage=list(usage))
        self.terminal = event
        self.pipe.write(encode(event))
        for follower in self.followers:
            follower.fail(code, message, usage=usage)

    def _call_of(self, call_id: str) -> dict[str, Any] | None:
        """A tool call as the last snapshot told it, for dialects that name it in the question."""
        return proposal_of(self._told, call_id)

    def restate(self, loaded: Loaded, outcome: Mapping[str, Json] | None = None) -> None:
        """Tell where the thread stands: snapshots and its present outcome; nothing is run.

        Snapshots rather than deltas, because deltas would append to what the client has. A
        thread that does not exist (or is another scope's) has no snapshots.
        """
        self.begin()
        if loaded.record is not None:
            self.snapshots(loaded.record.state, [m.message for m in loaded.messages])
        self.finish(outcome if outcome is not None else outcome_now(loaded))

    # --- those that follow it ---

    def let_follow(
        self, follower: EventStream, state: Json, messages: Iterable[Mapping[str, Json]]
    ) -> None:
        """Let another stream follow this one, from now on.

        Args:
            follower: is told where the run is, then all that this stream is told.
            state: the shared state as this stream has told it.
            messages: the conversation as this stream has told it.
        """
        shown, events = self._openings.catch_up(messages)
        follower.begin()
        follower.snapshots(state, shown)
        for event in events:
            follower.send(event)
        self.followers.append(follower)

    async def drained(self) -> None:
        """Wait until every reader has room, or has gone, or the run is released.

        A follower that takes nothing for `FOLLOWER_PATIENCE` is let go: it can come back.
        """
        await self.pipe.drained()
        for follower in tuple(self.followers):
            try:
                async with asyncio.timeout(FOLLOWER_PATIENCE):
                    await follower.pipe.drained()
            except TimeoutError:
                follower.pipe.detach()

    def release(self) -> None:
        """Hold the run back no longer: it is about to end, and must not wait for a reader."""
        self.pipe.release()
        for follower in self.followers:
            follower.pipe.release()
