"""The instruments of `otel.semantic_conventions.METRICS`, made once for each meter provider."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary, WeakSet

from opentelemetry import metrics
from opentelemetry.metrics import CallbackOptions, MeterProvider, Observation

from agui_bridge import __version__
from agui_bridge.otel.guard import guarded
from agui_bridge.otel.semantic_conventions import AGENT, METRICS

if TYPE_CHECKING:
    from agui_bridge.engine.observing.telemetry import Observed, Running

__all__ = ["Instruments"]

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
