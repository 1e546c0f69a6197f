"""The instruments of `otel.semantic_conventions.METRICS`, made once for each meter provider."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary, WeakSet

from opentelemetry import context, metrics, trace
from opentelemetry.context import Context
from opentelemetry.metrics import CallbackOptions, MeterProvider, Observation
from opentelemetry.trace import INVALID_SPAN, Span, Status, StatusCode, Tracer

from agui_bridge import __version__
from agui_bridge.otel.guard import guarded
from agui_bridge.otel.semantic_conventions import AGENT, ERROR, METRICS

if TYPE_CHECKING:
    from agui_bridge.engine.telemetry import Observed, Running

# --- spans that can't harm what they observe, and that no exception's text gets into ---

_LONGEST_ID: Final = 256
"""Characters of a client's text that a span shows."""
_STARTING: Final = "to start a span"
DESCRIBING: Final = "to describe a span"
_ENDING_IT: Final = "to end a span"
PASSING_ON: Final = "to pass trace context on"


class Spans:
    """Makes the spans of one tracer."""

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer

    @contextmanager
    def span(self, name: str, attributes: Mapping[str, str]) -> Iterator[Span]:
        """A span as the present one, which no exception's text gets into."""
        span = self.start(name, attributes)
        try:
            with nullcontext() if span is INVALID_SPAN else inside(trace.set_span_in_context(span)):
                yield span
        finally:
            finish(span)

    def start(self, name: str, attributes: Mapping[str, str]) -> Span:
        """A span that has begun; `INVALID_SPAN` if it can't, which takes everything."""
        with guarded(_STARTING):
            return self._tracer.start_span(name, attributes=attributes)
        return INVALID_SPAN


def fail(span: Span, kind: str) -> None:
    """Mark a span as failed; an exception's text may hold what nobody should read."""
    with guarded(DESCRIBING):
        span.set_attribute(ERROR, kind)
        span.set_status(Status(StatusCode.ERROR, kind))


def describe(span: Span, attributes: Mapping[str, str]) -> None:
    """Set attributes of a span."""
    with guarded(DESCRIBING):
        span.set_attributes(attributes)


def finish(span: Span) -> None:
    """End a span."""
    with guarded(_ENDING_IT):
        span.end()


def id_text(value: str) -> str:
    """A client's text as an exporter takes it: short, and without halves of surrogate pairs."""
    return value[:_LONGEST_ID].encode("utf-8", "replace").decode()


@contextmanager
def inside(taken: Context) -> Iterator[None]:
    """Make a context the present one."""
    token = context.attach(taken)
    try:
        yield
    finally:
        context.detach(token)


_MEASURING: Final = "to measure"

_OBSERVED: Final[Mapping[str, Callable[[Observed], int]]] = {
    "agui.runs.active": lambda run: 1,
    "agui.pipe.chunks": lambda run: run.stream.pipe.waiting[0],
    "agui.pipe.bytes": lambda run: run.stream.pipe.waiting[1],
}
"""What an observable instrument counts of a running run."""


class Instruments:
    """The bridge's instruments on one meter provider, and the engines that they look at.

    A provider takes the callbacks of an observable instrument once, so that all bridges of a
    process share one object (`of`). It keeps no engine alive.
    """

    def __init__(self, provider: MeterProvider) -> None:
        meter = provider.get_meter("agui_bridge", __version__)
        self._counters: dict[str, metrics.Counter] = {}
        self._histograms: dict[str, metrics.Histogram] = {}
        self._engines: WeakSet[Running] = WeakSet()
        self._lock = threading.Lock()
        self._agents: set[str] = set()
        for name, metric in METRICS.items():
            if metric.kind == "counter":
                self._counters[name] = meter.create_counter(name, metric.unit, metric.about)
            elif metric.kind == "histogram":
                self._histograms[name] = meter.create_histogram(
                    name,
                    metric.unit,
                    metric.about,
                    explicit_bucket_boundaries_advisory=metric.buckets,
                )
            else:
                look = self._looking(_OBSERVED[name])
                meter.create_observable_up_down_counter(name, [look], metric.unit, metric.about)

    @classmethod
    def of(cls, provider: MeterProvider) -> Instruments:
        """The instruments on a provider, made when they are first asked for."""
        with _lock:
            found = _shared.get(provider)
            if found is None:
                found = _shared[provider] = cls(provider)
            return found

    def count(self, name: str, attributes: Mapping[str, str], amount: int = 1) -> None:
        """Add to a counter."""
        with guarded(_MEASURING):
            self._counters[name].add(amount, attributes)

    def measure(self, name: str, seconds: float, attributes: Mapping[str, str]) -> None:
        """Record a duration."""
        with guarded(_MEASURING):
            self._histograms[name].record(seconds, attributes)

    def look_at(self, engine: Running) -> None:
        """Observe an engine's running runs for as long as it lives."""
        with self._lock:
            self._engines.add(engine)

    def _looking(
        self, value: Callable[[Observed], int]
    ) -> Callable[[CallbackOptions], Iterable[Observation]]:
        def look(_: CallbackOptions) -> Iterable[Observation]:
            # Called on the exporter's thread: what it looks at is copied in one step first.
            with self._lock:
                runs = [run for engine in self._engines for run in list(engine.running.values())]
                totals = Counter(dict.fromkeys(self._agents, 0))
                for run in runs:
                    totals[run.run.agent] += value(run)
                # An agent that once ran is told of as 0: a series that ends is no zero.
                self._agents.update(totals)
            return [Observation(total, {AGENT: agent}) for agent, total in totals.items()]

        return look


_lock = threading.Lock()
_shared: WeakKeyDictionary[MeterProvider, Instruments] = WeakKeyDictionary()
