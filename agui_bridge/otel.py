"""The engine's telemetry on OpenTelemetry's API; a program chooses the SDK and its exporters.

No payload, message, argument, answer or exception's text gets into a span or a metric, and
neither does who asks. Names and ids of clients' making are on spans only. What there is stands
in `otel_names` and docs/observability.md.

Nothing that a provider, processor or propagator raises reaches what is observed (`otel_guard`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from time import perf_counter
from types import TracebackType
from typing import Any, Final

from opentelemetry import context, metrics, propagate, trace
from opentelemetry.context import Context
from opentelemetry.metrics import MeterProvider
from opentelemetry.trace import (
    INVALID_SPAN,
    Span,
    Status,
    StatusCode,
    Tracer,
    TracerProvider,
)

from agui_bridge import __version__
from agui_bridge.adapters import Run
from agui_bridge.engine.call import Call
from agui_bridge.engine.endings import Ending
from agui_bridge.engine.observed_store import ObservedStore
from agui_bridge.engine.stopping import StopResult
from agui_bridge.engine.stream import EventStream
from agui_bridge.engine.telemetry import NO_TELEMETRY, InputTelemetry, Running, Work
from agui_bridge.errors import CODES, Conflict, Refused, StoreUnavailable
from agui_bridge.otel_guard import guarded
from agui_bridge.otel_instruments import Instruments
from agui_bridge.otel_names import (
    AGENT,
    CONVERSATION,
    DECISION,
    ENDING,
    ERROR,
    OPERATION,
    OUTCOME,
    RUN_ID,
    STATUS,
    STOP_STATUS,
    STORE,
)
from agui_bridge.protocol.admission import Decision, Join, Resume
from agui_bridge.protocol.records import InterruptStatus, Loaded, ThreadKey
from agui_bridge.protocol.transitions import Change
from agui_bridge.stores.base import Store

__all__ = ["OpenTelemetry"]

_LONGEST_ID: Final = 256
_WAITING: Final = frozenset(
    {InterruptStatus.OPEN, InterruptStatus.ANSWERED, InterruptStatus.CLAIMED}
)
_UNTOLD: Final = {"outcome": {"type": "disconnected"}}
_STARTING: Final = "to start a span"
_DESCRIBING: Final = "to describe a span"
_ENDING_IT: Final = "to end a span"
_PASSING_ON: Final = "to pass trace context on"
_DECISIONS: Final[Mapping[str, str]] = {"AskAgain": "ask_again"}


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
        self.tracer: Tracer = trace.get_tracer("agui_bridge", __version__, tracer_provider)
        self.instruments = Instruments.of(meter_provider or metrics.get_meter_provider())
        self._incoming = incoming
        self._given = tracer_provider is not None or meter_provider is not None

    @property
    def unheard(self) -> bool:
        """Whether nobody listens, for now: there is no SDK, and no trace that passes through.

        Asked for every input and not once, because a program may set its SDK up later.
        """
        with guarded("to find the providers"):
            return (
                not self._given
                and not context.get_current()
                and _is_of_the_api(trace.get_tracer_provider())
                and _is_of_the_api(metrics.get_meter_provider())
            )
        return True

    def incoming(self, headers: Mapping[str, str]) -> AbstractContextManager[object]:
        """Take a request's trace context, unless there is one already."""
        with guarded(_PASSING_ON):
            if self._incoming and not trace.get_current_span().get_span_context().is_valid:
                return _inside(propagate.extract(headers))
        return nullcontext()

    def refused(self, code: str) -> None:
        """Count a request that was answered with an error body."""
        self.instruments.count("agui.http.refusals", {ERROR: code})

    def observe(self, store: Store, engine: Running) -> Store:
        """Observe an engine's running runs and its store."""
        self.instruments.look_at(engine)
        return ObservedStore(store, _Operations(self, type(store).__name__))

    def input(self, call: Call, stream: EventStream) -> AbstractContextManager[InputTelemetry]:
        """Observe one input."""
        return NO_TELEMETRY.input(call, stream) if self.unheard else _Input(self, call, stream)

    async def stop(self, key: ThreadKey, work: Coroutine[Any, Any, StopResult]) -> StopResult:
        """Observe a stop."""
        attributes = {AGENT: key.agent, CONVERSATION: _text(key.thread)}
        with self._span(f"agui.stop {key.agent}", attributes) as span:
            result = await work
            _describe(span, {STOP_STATUS: result.status})
            self.instruments.count("agui.stops", {AGENT: key.agent, STOP_STATUS: result.status})
            return result

    def deleted(self, loaded: Loaded) -> None:
        """Count the interrupts that were deleted while they waited."""
        waiting = [ask for ask in loaded.batch_interrupts() if ask.status in _WAITING]
        if waiting and loaded.record is not None:
            attributes = {AGENT: loaded.record.key.agent, STATUS: "deleted"}
            self.instruments.count("agui.interrupts.closed", attributes, len(waiting))

    @contextmanager
    def _span(self, name: str, attributes: Mapping[str, str]) -> Iterator[Span]:
        """A span as the present one, which no exception's text gets into."""
        span = self._start(name, attributes)
        try:
            with (
                nullcontext() if span is INVALID_SPAN else _inside(trace.set_span_in_context(span))
            ):
                yield span
        finally:
            _end(span)

    def _start(self, name: str, attributes: Mapping[str, str]) -> Span:
        """A span that has begun; `INVALID_SPAN` if it can't, which takes everything."""
        with guarded(_STARTING):
            return self.tracer.start_span(name, attributes=attributes)
        return INVALID_SPAN


class _Input:
    """One input as a span, and what is counted of it."""

    def __init__(self, otel: OpenTelemetry, call: Call, stream: EventStream) -> None:
        self._otel = otel
        self._stream = stream
        self._agent = {AGENT: call.agent.name}
        self._ids = {
            AGENT: call.agent.name,
            CONVERSATION: _text(call.key.thread),
            RUN_ID: _text(call.run_id),
        }
        self._run: dict[str, str] | None = None
        """What is known of the run's end; None while nothing was run."""

    def __enter__(self) -> _Input:
        self._began = perf_counter()
        name = f"agui.run {self._agent[AGENT]}"
        self._span = self._otel._start(name, self._ids)
        # Without a span of its own what is below gets the one above.
        current = None if self._span is INVALID_SPAN else trace.set_span_in_context(self._span)
        self._token = context.attach(current or context.get_current())
        return self

    def decided(self, decision: Decision, loaded: Loaded) -> None:
        name = _name(decision)
        self._otel.instruments.count("agui.decisions", {**self._agent, DECISION: name})
        _describe(self._span, {DECISION: name})
        batch = loaded.record.batch if loaded.record is not None else None
        with guarded(_DESCRIBING):
            if isinstance(decision, Join):
                self._span.add_event("agui.join")
            if isinstance(decision, Resume) and batch is not None and batch.trace is not None:
                asked = trace.get_current_span(
                    propagate.extract({"traceparent": batch.trace}, Context())
                )
                if asked.get_span_context().is_valid:
                    self._span.add_link(asked.get_span_context())

    def conflicted(self, decision: Decision) -> None:
        attributes = {**self._agent, DECISION: _name(decision)}
        self._otel.instruments.count("agui.claims.lost", attributes)

    def adapter(self, run: Run, work: Work) -> Coroutine[Any, Any, None]:
        self._run = {}
        return self._adapter(run, work)

    async def _adapter(self, run: Run, work: Work) -> None:
        with self._otel._span(f"agui.adapter {run.agent}", self._ids) as span:
            headers: dict[str, str] = {}
            with guarded(_PASSING_ON):
                propagate.inject(headers)
            run.trace_headers = headers
            try:
                await work()
            except asyncio.CancelledError:
                # Stopped on purpose, which is no error; the run's span says what came of it.
                raise
            except BaseException as error:
                _fail(span, type(error).__name__)
                raise

    def first_item(self) -> None:
        seconds = perf_counter() - self._began
        self._otel.instruments.measure("agui.run.time_to_first_event", seconds, self._agent)

    def ended(self, ending: Ending) -> None:
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
        instruments = self._otel.instruments
        if self._run is not None:
            instruments.count("agui.runs", end)
            instruments.measure("agui.run.duration", perf_counter() - self._began, end)
        elif code is not None:
            instruments.count("agui.refusals", {**self._agent, ERROR: code})
        _describe(self._span, end)
        # What the client did wrong is no failure of this service.
        if code is not None and (code not in CODES or CODES[code].status >= 500):
            _fail(self._span, code)
        _end(self._span)


class _Operations:
    """A store's operations as spans and durations."""

    def __init__(self, otel: OpenTelemetry, store: str) -> None:
        self._otel = otel
        self._store = store

    def operation(self, name: str) -> AbstractContextManager[object]:
        return nullcontext() if self._otel.unheard else self._observed(name)

    @contextmanager
    def _observed(self, name: str) -> Iterator[None]:
        attributes = {STORE: self._store, OPERATION: name}
        began = perf_counter()
        asked = trace.get_current_span().get_span_context().is_valid
        # Polling would fill a backend with traces of one span.
        span = self._otel._span(f"store.{name}", attributes) if asked else None
        try:
            if span is None:
                yield
                return
            with span as current:
                try:
                    yield
                except (Conflict, asyncio.CancelledError) as error:
                    # A lost race is how the store decides; neither is a failure.
                    _describe(current, {ERROR: type(error).__name__})
                    raise
                except BaseException as error:
                    _fail(current, type(error).__name__)
                    raise
        except BaseException as error:
            attributes = {**attributes, ERROR: type(error).__name__}
            raise
        finally:
            seconds = perf_counter() - began
            self._otel.instruments.measure("agui.store.operation.duration", seconds, attributes)

    def committed(self, key: ThreadKey, change: Change) -> None:
        count = self._otel.instruments.count
        for ask in change.interrupts:
            if ask.status not in _WAITING:
                count("agui.interrupts.closed", {AGENT: key.agent, STATUS: ask.status.value})
            elif len(ask.audit) == 1:
                count("agui.interrupts.raised", {AGENT: key.agent})
        ended = change.record.ended
        if change.record.run is None and ended is not None and ended.outcome == "lost":
            count("agui.runs.lost", {AGENT: key.agent})


@contextmanager
def _inside(taken: Context) -> Iterator[None]:
    token = context.attach(taken)
    try:
        yield
    finally:
        context.detach(token)


def _is_of_the_api(provider: object) -> bool:
    """Whether a provider is one of those that the API has for want of an SDK's."""
    return type(provider).__module__.startswith(("opentelemetry.trace", "opentelemetry.metrics"))


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


def _fail(span: Span, kind: str) -> None:
    """Mark a span as failed; an exception's text may hold what nobody should read."""
    with guarded(_DESCRIBING):
        span.set_attribute(ERROR, kind)
        span.set_status(Status(StatusCode.ERROR, kind))


def _describe(span: Span, attributes: Mapping[str, str]) -> None:
    with guarded(_DESCRIBING):
        span.set_attributes(attributes)


def _end(span: Span) -> None:
    with guarded(_ENDING_IT):
        span.end()


def _text(value: str) -> str:
    """A client's text as an exporter takes it: short, and without halves of surrogate pairs."""
    return value[:_LONGEST_ID].encode("utf-8", "replace").decode()
