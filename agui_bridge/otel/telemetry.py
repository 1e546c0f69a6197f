"""Tells OpenTelemetry what a bridge does."""

from __future__ import annotations

import math
from collections.abc import Coroutine, Mapping
from contextlib import AbstractContextManager, nullcontext
from time import monotonic
from typing import Any, Final

from opentelemetry import context, metrics, propagate, trace
from opentelemetry.metrics import MeterProvider
from opentelemetry.trace import TracerProvider

from agui_bridge import __version__
from agui_bridge.engine.input.submission import Submission
from agui_bridge.engine.observing.telemetry import NO_TELEMETRY, InputTelemetry, Running
from agui_bridge.engine.streaming.event_stream import EventStream
from agui_bridge.otel.guard import guarded
from agui_bridge.otel.input_telemetry import InputSpan
from agui_bridge.otel.instruments import Instruments
from agui_bridge.otel.observed_store import ObservedStore
from agui_bridge.otel.semantic_conventions import (
    AGENT,
    CHANNEL,
    CONVERSATION,
    DELIVERY,
    ERROR,
    EVENT,
    STATUS,
    STOP_STATUS,
)
from agui_bridge.otel.spans import PASSING_ON, Spans, describe, id_text, inside
from agui_bridge.otel.store_telemetry import WAITING, StoreTelemetry
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.records import ThreadKey
from agui_bridge.protocol.threads.run_ends import StopResult
from agui_bridge.stores.base import Store

__all__ = ["LOOK_SECONDS", "OpenTelemetry"]

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
