"""A tracing backend in memory, and an OpenTelemetry that tells it alone."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import HistogramDataPoint, InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from agui_bridge.otel import OpenTelemetry

__all__ = ["Backend", "attributes_of", "span_id", "trace_id"]


class Backend:
    """Keeps what it is sent; nothing global is touched."""

    def __init__(self, **options: bool) -> None:
        self._spans = InMemorySpanExporter()
        self._metrics = InMemoryMetricReader()
        self.tracers = TracerProvider(shutdown_on_exit=False)
        self.tracers.add_span_processor(SimpleSpanProcessor(self._spans))
        self.meters = MeterProvider([self._metrics], shutdown_on_exit=False)
        self.telemetry = self.another(**options)

    def another(self, **options: bool) -> OpenTelemetry:
        """Another bridge's telemetry to the same backend."""
        return OpenTelemetry(self.tracers, self.meters, **options)

    @property
    def spans(self) -> list[ReadableSpan]:
        """The spans that have ended, in the order of their ends."""
        return list(self._spans.get_finished_spans())

    def named(self, name: str) -> list[ReadableSpan]:
        """The spans of a name that have ended."""
        return [span for span in self.spans if span.name == name]

    def one(self, name: str) -> ReadableSpan:
        """The only span of a name."""
        (span,) = self.named(name)
        return span

    def forget(self) -> None:
        """Forget the spans, not the metrics."""
        self._spans.clear()

    @property
    def tree(self) -> set[tuple[str, str | None]]:
        """Every kind of span with the kind of its parent, None for a root or a foreign parent."""
        names = {span_id(span): span.name for span in self.spans}
        return {
            (span.name, names.get(f"{span.parent.span_id:016x}") if span.parent else None)
            for span in self.spans
        }

    def points(self, metric: str, *attributes: str) -> dict[Any, float]:
        """A metric's values by their attributes' values (of a histogram the counts).

        Args:
            metric: its name.
            attributes: by which to tell points apart, points of equal ones are added up; one
                gives keys that are no tuples, none a single key None.
        """
        found: dict[Any, float] = {}
        for point in self._points(metric):
            values = tuple((point.attributes or {}).get(name) for name in attributes)
            key = None if not values else values[0] if len(values) == 1 else values
            value = point.count if isinstance(point, HistogramDataPoint) else point.value
            found[key] = found.get(key, 0) + value
        return found

    def metrics(self) -> dict[str, tuple[str, set[str]]]:
        """Every metric that has points: its unit, and the attributes of its points."""
        found: dict[str, tuple[str, set[str]]] = {}
        for metric in self._collected():
            names = {name for point in metric.data.data_points for name in point.attributes or {}}
            found[metric.name] = (metric.unit, names)
        return found

    def everything(self) -> str:
        """All that was exported, as text."""
        data = self._metrics.get_metrics_data()
        spans = [json.loads(span.to_json()) for span in self.spans]
        return json.dumps(spans) + (data.to_json() if data is not None else "")

    def _points(self, name: str) -> list[Any]:
        return [
            point
            for metric in self._collected()
            if metric.name == name
            for point in metric.data.data_points
        ]

    def _collected(self) -> list[Any]:
        data = self._metrics.get_metrics_data()
        return [
            metric
            for resource in (data.resource_metrics if data is not None else ())
            for scope in resource.scope_metrics
            for metric in scope.metrics
        ]


def span_id(span: ReadableSpan) -> str:
    """A span's id as on the wire."""
    assert span.context is not None
    return f"{span.context.span_id:016x}"


def trace_id(span: ReadableSpan) -> str:
    """A span's trace as on the wire."""
    assert span.context is not None
    return f"{span.context.trace_id:032x}"


def attributes_of(span: ReadableSpan) -> Mapping[str, Any]:
    """What a span says."""
    return dict(span.attributes or {})
