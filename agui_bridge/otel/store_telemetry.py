"""A store's operations as spans and durations, and what its commits count."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from time import perf_counter
from typing import Final

from opentelemetry import trace

from agui_bridge.errors import Conflict
from agui_bridge.otel.instruments import Instruments
from agui_bridge.otel.semantic_conventions import AGENT, ERROR, OPERATION, STATUS, STORE
from agui_bridge.otel.spans import Spans, describe, fail
from agui_bridge.protocol.contract.transitions import Change
from agui_bridge.protocol.threads.records import InterruptStatus, ThreadKey

__all__ = ["WAITING", "StoreTelemetry"]

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
