"""Tells OpenTelemetry what a bridge does."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from time import monotonic, perf_counter
from types import TracebackType
from typing import Any, Final

from opentelemetry import context, metrics, propagate, trace
from opentelemetry.context import Context
from opentelemetry.metrics import MeterProvider
from opentelemetry.trace import INVALID_SPAN, TracerProvider

from agui_bridge import __version__
from agui_bridge.adapters import Run
from agui_bridge.engine.input.submission import Submission
from agui_bridge.engine.streaming.event_stream import EventStream
from agui_bridge.engine.telemetry import NO_TELEMETRY, InputTelemetry, Running, Work
from agui_bridge.errors import CODES, Conflict, Refused, StoreUnavailable
from agui_bridge.otel.guard import guarded
from agui_bridge.otel.instruments import (
    DESCRIBING,
    PASSING_ON,
    Instruments,
    Spans,
    describe,
    fail,
    finish,
    id_text,
    inside,
)
from agui_bridge.otel.observed_store import ObservedStore
from agui_bridge.otel.semantic_conventions import (
    AGENT,
    CHANNEL,
    CONVERSATION,
    DECISION,
    DELIVERY,
    ENDING,
    ERROR,
    EVENT,
    OPERATION,
    OUTCOME,
    RUN_ID,
    STATUS,
    STOP_STATUS,
    STORE,
)
from agui_bridge.protocol.contract.requests import Join, Resume, Ruling
from agui_bridge.protocol.contract.transitions import Change
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.records import InterruptStatus, ThreadKey
from agui_bridge.protocol.threads.run_ends import Ending, StopResult
from agui_bridge.stores.base import Store

# --- a store's operations as spans and durations, and what its commits count ---

WAITING: Final = frozenset(
    {InterruptStatus.OPEN, InterruptStatus.ANSWERED, InterruptStatus.CLAIMED}
)
"""The interrupts that are not closed yet."""


_UNOBSERVED: Final = nullcontext()


class StoreTelemetry:
    """A store's operations as spans and durations."""

    def __init__(
        self, spans: Spans, instruments: Instruments, store: str, unheard: Callable[[], bool]
    ) -> None:
        self._spans = spans
        self._instruments = instruments
        self._unheard = unheard
        self._store = store

    def operation(self, name: str) -> AbstractContextManager[object]:
        """Observe one operation."""
        return _UNOBSERVED if self._unheard() else self._observed(name)

    @contextmanager
    def _observed(self, name: str) -> Iterator[None]:
        attributes = {STORE: self._store, OPERATION: name}
        began = perf_counter()
        asked = trace.get_current_span().get_span_context().is_valid
        # Polling would fill a backend with traces of one span.
        span = self._spans.span(f"store.{name}", attributes) if asked else None
        try:
            if span is None:
                yield
                return
            with span as current:
                try:
                    yield
                except (Conflict, asyncio.CancelledError) as error:
                    # A lost race is how the store decides; neither is a failure, here or below.
                    describe(current, {ERROR: type(error).__name__})
                    raise
                except BaseException as error:
                    fail(current, type(error).__name__)
                    raise
        except (Conflict, asyncio.CancelledError):
            raise
        except BaseException as error:
            attributes = {**attributes, ERROR: type(error).__name__}
            raise
        finally:
            seconds = perf_counter() - began
            self._instruments.measure("agui.store.operation.duration", seconds, attributes)

    def committed(self, key: ThreadKey, change: Change) -> None:
        """Count what a commit that counts raised, closed or found lost."""
        count = self._instruments.count
        for ask in change.interrupts:
            if ask.status not in WAITING:
                count("agui.interrupts.closed", {AGENT: key.agent, STATUS: ask.status.value})
            elif len(ask.audit) == 1:
                count("agui.interrupts.raised", {AGENT: key.agent})
        ended = change.record.ended
        if change.record.run is None and ended is not None and ended.outcome == "lost":
            count("agui.runs.lost", {AGENT: key.agent})


# --- the telemetry ---

# --- one input as a span, and what is counted of it ---

_UNTOLD: Final = {"outcome": {"type": "disconnected"}}
"""Stands for the last event of a stream that has none."""

_DECISIONS: Final[Mapping[str, str]] = {"AskAgain": "ask_again", "TakeUp": "take_up"}


class InputSpan:
    """One input as a span, and what is counted of it."""

    def __init__(
        self, spans: Spans, instruments: Instruments, submission: Submission, stream: EventStream
    ) -> None:
        self._spans = spans
        self._instruments = instruments
        self._stream = stream
        self._agent = {AGENT: submission.agent.name}
        self._ids = {
            AGENT: submission.agent.name,
            CONVERSATION: id_text(submission.key.thread),
            RUN_ID: id_text(submission.run_id),
        }
        self._run: dict[str, str] | None = None
        """What is known of the run's end; None while nothing was run."""

    def __enter__(self) -> InputSpan:
        self._began = perf_counter()
        name = f"agui.run {self._agent[AGENT]}"
        self._span = self._spans.start(name, self._ids)
        # Without a span of its own what is below gets the one above.
        current = None if self._span is INVALID_SPAN else trace.set_span_in_context(self._span)
        self._token = context.attach(current or context.get_current())
        return self

    def decided(self, ruling: Ruling, loaded: Loaded) -> None:
        """Tell what admission decided; a resume is linked to the run that asked."""
        name = _name(ruling)
        self._instruments.count("agui.decisions", {**self._agent, DECISION: name})
        describe(self._span, {DECISION: name})
        batch = loaded.record.batch if loaded.record is not None else None
        with guarded(DESCRIBING):
            if isinstance(ruling, Join):
                self._span.add_event("agui.join")
            if isinstance(ruling, Resume) and batch is not None and batch.trace is not None:
                asked = trace.get_current_span(
                    propagate.extract({"traceparent": batch.trace}, Context())
                )
                if asked.get_span_context().is_valid:
                    self._span.add_link(asked.get_span_context())

    def conflicted(self, ruling: Ruling) -> None:
        """Count a claim that another one was faster than."""
        attributes = {**self._agent, DECISION: _name(ruling)}
        self._instruments.count("agui.claims.lost", attributes)

    def adapter(self, run: Run, work: Work) -> Coroutine[Any, Any, None]:
        """Observe the adapter's part of a run, and give the run the headers to pass on."""
        self._run = {}
        return self._adapter(run, work)

    async def _adapter(self, run: Run, work: Work) -> None:
        with self._spans.span(f"agui.adapter {run.agent}", self._ids) as span:
            headers: dict[str, str] = {}
            with guarded(PASSING_ON):
                propagate.inject(headers)
            run.trace_headers = headers
            try:
                await work()
            except asyncio.CancelledError:
                # Stopped on purpose, which is no error; the run's span says what came of it.
                raise
            except BaseException as error:
                fail(span, type(error).__name__)
                raise

    def first_item(self) -> None:
        """Measure the seconds until the adapter said something."""
        seconds = perf_counter() - self._began
        self._instruments.measure("agui.run.time_to_first_event", seconds, self._agent)

    def ended(self, ending: Ending) -> None:
        """Note how the run ended."""
        self._run = {ENDING: _name(ending)}

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        context.detach(self._token)
        told: Mapping[str, Any] = self._stream.terminal or _UNTOLD
        code: str | None = told.get("code") if error is None else _code(error)
        end = {**self._agent, **(self._run or {})}
        if code is None:
            end[OUTCOME] = told["outcome"]["type"]
        else:
            end[OUTCOME] = "refused" if self._run is None else "error"
            end[ERROR] = code
        instruments = self._instruments
        if self._run is not None:
            instruments.count("agui.runs", end)
            instruments.measure("agui.run.duration", perf_counter() - self._began, end)
        elif code is not None:
            instruments.count("agui.refusals", {**self._agent, ERROR: code})
        describe(self._span, end)
        # What the client did wrong is no failure of this service.
        if code is not None and (code not in CODES or CODES[code].status >= 500):
            fail(self._span, code)
        finish(self._span)


def _name(value: object) -> str:
    """`Resume()` as `resume`."""
    name = type(value).__name__
    return _DECISIONS.get(name, name.lower())


def _code(error: BaseException) -> str:
    """The code with which the engine answers an exception."""
    if isinstance(error, Refused):
        return error.code
    if isinstance(error, StoreUnavailable):
        return "STORE_UNAVAILABLE"
    return "SHUTTING_DOWN" if isinstance(error, asyncio.CancelledError) else "INTERNAL_ERROR"


# --- the telemetry ---

LOOK_SECONDS: Final = 1.0
"""Seconds between two looks for an SDK: each reads the environment."""


class OpenTelemetry:
    """Tells OpenTelemetry what a bridge does.

    Args:
        tracer_provider: where spans go; the global one by default.
        meter_provider: where metrics go; the global one by default.
        incoming: whether a request's `traceparent` and `baggage` headers are believed. The span
            of an instrumented server comes first either way.
    """

    def __init__(
        self,
        tracer_provider: TracerProvider | None = None,
        meter_provider: MeterProvider | None = None,
        *,
        incoming: bool = True,
    ) -> None:
        self._spans = Spans(trace.get_tracer("agui_bridge", __version__, tracer_provider))
        self.instruments: Instruments = Instruments.of(
            meter_provider or metrics.get_meter_provider()
        )
        self._incoming = incoming
        self._given = tracer_provider is not None or meter_provider is not None
        self._lacks_sdk, self._looked_at = True, -math.inf

    @property
    def unheard(self) -> bool:
        """Whether nobody listens, for now: there is no SDK, and no trace that passes through.

        A program may set its SDK up later, so it is looked for again and again; but not for each
        operation of the store.
        """
        with guarded("to find the providers"):
            if self._given or context.get_current():
                return False
            if (now := monotonic()) >= self._looked_at + LOOK_SECONDS:
                self._lacks_sdk, self._looked_at = _lacks_sdk(), now
            return self._lacks_sdk
        return True

    def incoming(self, headers: Mapping[str, str]) -> AbstractContextManager[object]:
        """Take a request's trace context, unless there is one already.

        Args:
            headers: the request's; names in lower case.
        """
        with guarded(PASSING_ON):
            if self._incoming and not trace.get_current_span().get_span_context().is_valid:
                return inside(propagate.extract(headers))
        return nullcontext()

    def refused(self, code: str) -> None:
        """Count a request that was answered with an error body.

        Args:
            code: the one in the body.
        """
        self.instruments.count("agui.http.refusals", {ERROR: code})

    def observe(self, store: Store, engine: Running) -> Store:
        """Observe an engine's running runs and its store.

        Args:
            store: where threads live.
            engine: its queues are looked at when a metric is collected.

        Returns:
            The store to use instead.
        """
        self.instruments.look_at(engine)
        return ObservedStore(
            store,
            StoreTelemetry(
                self._spans, self.instruments, type(store).__name__, lambda: self.unheard
            ),
        )

    def input(
        self, submission: Submission, stream: EventStream
    ) -> AbstractContextManager[InputTelemetry]:
        """Observe one input.

        Args:
            submission: the input.
            stream: what its client is told.
        """
        return (
            NO_TELEMETRY.input(submission, stream)
            if self.unheard
            else InputSpan(self._spans, self.instruments, submission, stream)
        )

    async def stop(self, key: ThreadKey, work: Coroutine[Any, Any, StopResult]) -> StopResult:
        """Observe a stop.

        Args:
            key: the thread.
            work: the stop, which is awaited within a span.
        """
        attributes = {AGENT: key.agent, CONVERSATION: id_text(key.thread)}
        with self._spans.span(f"agui.stop {key.agent}", attributes) as span:
            result = await work
            describe(span, {STOP_STATUS: result.status})
            self.instruments.count("agui.stops", {AGENT: key.agent, STOP_STATUS: result.status})
            return result

    def deleted(self, loaded: Loaded) -> None:
        """Count the interrupts that were deleted while they waited.

        Args:
            loaded: the thread as it was.
        """
        waiting = [ask for ask in loaded.batch_interrupts() if ask.status in WAITING]
        if waiting and loaded.record is not None:
            attributes = {AGENT: loaded.record.key.agent, STATUS: "deleted"}
            self.instruments.count("agui.interrupts.closed", attributes, len(waiting))

    def told(self, channel: str, event: str, outcome: str) -> None:
        """Count a notice of a question.

        Args:
            channel: name of the channel.
            event: what was told.
            outcome: `sent`, `retried`, `dropped` or `dead`.
        """
        attributes = {CHANNEL: channel, EVENT: event, DELIVERY: outcome}
        self.instruments.count("agui.deliveries", attributes)


def _lacks_sdk() -> bool:
    tracers, meters = trace.get_tracer_provider(), metrics.get_meter_provider()
    return _is_of_the_api(tracers) and _is_of_the_api(meters)


def _is_of_the_api(provider: object) -> bool:
    """Whether a provider is one of those that the API has for want of an SDK's."""
    return type(provider).__module__.startswith(("opentelemetry.trace", "opentelemetry.metrics"))
