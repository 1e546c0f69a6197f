"""What the engine tells about its work to whoever observes it.

Everything is told once for each input, run, stop or store operation, never for an event, so that
observing costs a stream nothing. Without an observer (`NO_TELEMETRY`) not even the wrappers are
there. `agui_bridge.otel` has the implementation on OpenTelemetry.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol

from agui_bridge.frozen import dataclass
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.records import ThreadKey
from agui_bridge.stores.base import Store

if TYPE_CHECKING:
    from agui_bridge.adapters import Run
    from agui_bridge.engine.input.submission import Submission
    from agui_bridge.engine.streaming.event_stream import EventStream
    from agui_bridge.protocol.contract.requests import Ruling
    from agui_bridge.protocol.threads.run_ends import Ending, StopResult

Work = Callable[[], Coroutine[Any, Any, None]]


class Observed(Protocol):
    """A running run, as far as it is observed."""

    @property
    def run(self) -> Run:
        """What the adapter sees."""
        ...

    @property
    def stream(self) -> EventStream:
        """What its client is told."""
        ...


class Running(Protocol):
    """An engine, as far as its running runs go."""

    @property
    def running(self) -> Mapping[ThreadKey, Observed]:
        """The runs of this process, by thread."""
        ...


class InputTelemetry(Protocol):
    """Observes one input, from its arrival to its last event."""

    def decided(self, ruling: Ruling, loaded: Loaded) -> None:
        """Admission has decided, for the first time or anew, on what was loaded."""
        ...

    def conflicted(self, ruling: Ruling) -> None:
        """Somebody else changed the thread first: the ruling was not carried out."""
        ...

    def adapter(self, run: Run, work: Work) -> Coroutine[Any, Any, None]:
        """Observe the adapter's run: gives what to await in place of `work()`."""
        ...

    def first_item(self) -> None:
        """The adapter gave its first item."""
        ...

    def ended(self, ending: Ending) -> None:
        """The run is over, and its end is stored (or can't be)."""
        ...


class Telemetry(Protocol):
    """Observes one engine, and the HTTP surface before it."""

    def incoming(self, headers: Mapping[str, str]) -> AbstractContextManager[object]:
        """Take a request's trace context for what is done inside."""
        ...

    def refused(self, code: str) -> None:
        """A request was answered with an error body."""
        ...

    def observe(self, store: Store, engine: Running) -> Store:
        """Begin to observe an engine's running runs and its store; gives the store to use."""
        ...

    def input(
        self, submission: Submission, stream: EventStream
    ) -> AbstractContextManager[InputTelemetry]:
        """Observe one input while it is carried out; what ends it by raising passes through."""
        ...

    def stop(
        self, key: ThreadKey, work: Coroutine[Any, Any, StopResult]
    ) -> Coroutine[Any, Any, StopResult]:
        """Observe a stop: gives what to await in place of `work`."""
        ...

    def deleted(self, loaded: Loaded) -> None:
        """A thread was deleted as it was loaded, its open interrupts with it."""
        ...

    def told(self, channel: str, event: str, outcome: str) -> None:
        """A notice of a question was sent, retried, dropped or given up as dead."""
        ...


class _NoInput:
    """Observes nothing."""

    def decided(self, ruling: Ruling, loaded: Loaded) -> None:
        pass

    def conflicted(self, ruling: Ruling) -> None:
        pass

    def adapter(self, run: Run, work: Work) -> Coroutine[Any, Any, None]:
        return work()

    def first_item(self) -> None:
        pass

    def ended(self, ending: Ending) -> None:
        pass


class NoTelemetry:
    """Observes nothing, and puts nothing in between."""

    _input = nullcontext(_NoInput())
    _nothing = nullcontext()

    def incoming(self, headers: Mapping[str, str]) -> AbstractContextManager[object]:
        """Take nothing from the headers."""
        return self._nothing

    def refused(self, code: str) -> None:
        """Count nothing."""

    def observe(self, store: Store, engine: Running) -> Store:
        """The store itself."""
        return store

    def input(
        self, submission: Submission, stream: EventStream
    ) -> AbstractContextManager[InputTelemetry]:
        """One object for every input."""
        return self._input

    def stop(
        self, key: ThreadKey, work: Coroutine[Any, Any, StopResult]
    ) -> Coroutine[Any, Any, StopResult]:
        """The stop itself."""
        return work

    def deleted(self, loaded: Loaded) -> None:
        """Count nothing."""

    def told(self, channel: str, event: str, outcome: str) -> None:
        """Count nothing."""


NO_TELEMETRY: Telemetry = NoTelemetry()
"""What the engine tells when nobody observes it."""


@dataclass(frozen=True, slots=True)
class RunIds:
    """What a log record tells of its run: the client's ids, and the agent's name.

    A context variable, because it reaches what a run begins by itself: its tasks, and the
    threads of `asyncio.to_thread`. So the author's own records carry the ids too.
    """

    agent: str
    thread: str
    run: str


_PRESENT: ContextVar[RunIds | None] = ContextVar("agui_bridge_run", default=None)


def enter_run(ids: RunIds) -> None:
    """Say what the present task carries out, from now to its end."""
    _PRESENT.set(ids)


def present_run() -> RunIds | None:
    """The run that the caller is part of, None outside of all runs."""
    return _PRESENT.get()
