"""Spans that can't harm what they observe, and that no exception's text gets into."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import Final

from opentelemetry import context, trace
from opentelemetry.context import Context
from opentelemetry.trace import INVALID_SPAN, Span, Status, StatusCode, Tracer

from agui_bridge.otel.guard import guarded
from agui_bridge.otel.semantic_conventions import ERROR

__all__ = ["DESCRIBING", "PASSING_ON", "Spans", "describe", "fail", "finish", "id_text", "inside"]

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
