"""One input as a span, and what is counted of it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from time import perf_counter
from types import TracebackType
from typing import Any, Final

from opentelemetry import context, propagate, trace
from opentelemetry.context import Context
from opentelemetry.trace import INVALID_SPAN

from agui_bridge.adapters import Run
from agui_bridge.engine.input.submission import Submission
from agui_bridge.engine.observing.telemetry import Work
from agui_bridge.engine.streaming.event_stream import EventStream
from agui_bridge.errors import CODES, Refused, StoreUnavailable
from agui_bridge.otel.guard import guarded
from agui_bridge.otel.instruments import Instruments
from agui_bridge.otel.semantic_conventions import (
    AGENT,
    CONVERSATION,
    DECISION,
    ENDING,
    ERROR,
    OUTCOME,
    RUN_ID,
)
from agui_bridge.otel.spans import DESCRIBING, PASSING_ON, Spans, describe, fail, finish, id_text
from agui_bridge.protocol.contract.requests import Join, Resume, Ruling
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.run_ends import Ending

__all__ = ["InputSpan"]

_UNTOLD: Final = {"outcome": {"type": "disconnected"}}
"""Stands for the last event of a stream that has none."""

_DECISIONS: Final[Mapping[str, str]] = {"AskAgain": "ask_again"}


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
