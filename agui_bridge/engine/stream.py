"""A run's event stream on its way to one client: dialect, encoding, pipe."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from agui_bridge.engine.call import Call
from agui_bridge.engine.pipe import Pipe
from agui_bridge.errors import CODES
from agui_bridge.protocol.json_values import WireEvent
from agui_bridge.protocol.records import Json, Loaded
from agui_bridge.protocol.run_events import (
    messages_snapshot,
    outcome_now,
    run_error,
    run_finished,
    run_started,
    state_snapshot,
)
from agui_bridge.protocol.sse import encode

__all__ = ["EventStream"]


class EventStream:
    """What one client is told.

    Attributes:
        terminal: the last RUN_FINISHED or RUN_ERROR event, in the 1.0 shape; for callers
            without a connection.
    """

    def __init__(self, call: Call, pipe: Pipe) -> None:
        self.pipe = pipe
        self.terminal: WireEvent | None = None
        self._thread_id = call.parsed.input.thread_id
        self._run_id = call.run_id
        self._dialect = call.parsed.dialect
        self._begun = False

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
        self.pipe.write(encode(event))

    def snapshots(self, state: Json, messages: Iterable[Mapping[str, Json]]) -> None:
        """Send the state and the conversation whole."""
        self.send(state_snapshot(state))
        self.send(messages_snapshot(list(messages)))

    def finish(
        self, outcome: Mapping[str, Json], *, result: Json = None, usage: Iterable[Any] = ()
    ) -> None:
        """Send RUN_FINISHED, in the client's dialect."""
        event = run_finished(
            self._thread_id, self._run_id, outcome, result=result, usage=list(usage)
        )
        self.terminal = event
        self.pipe.write(encode(self._dialect.outgoing(event)))

    def fail(self, code: str, message: str | None = None, *, usage: Iterable[Any] = ()) -> None:
        """Send RUN_ERROR with a code of `errors.CODES`; by default with the code's own cause."""
        event = run_error(code, message or CODES[code].cause, usage=list(usage))
        self.terminal = event
        self.pipe.write(encode(event))

    def restate(self, loaded: Loaded, outcome: Mapping[str, Json] | None = None) -> None:
        """Tell where the thread stands: snapshots and its present outcome; nothing is run.

        Snapshots rather than deltas, because deltas would append to what the client has. A
        thread that does not exist (or is another scope's) has no snapshots.
        """
        self.begin()
        if loaded.record is not None:
            self.snapshots(loaded.record.state, [m.message for m in loaded.messages])
        self.finish(outcome if outcome is not None else outcome_now(loaded))
