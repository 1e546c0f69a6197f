"""Telemetry that raises: the run, the approval, the stop and the store know nothing of it."""

import asyncio
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry import propagate
from opentelemetry.context import Context
from opentelemetry.metrics import NoOpMeterProvider
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from agui_bridge.errors import StoreUnavailable
from agui_bridge.otel import OpenTelemetry, guard
from agui_bridge.protocol.threads.records import InterruptStatus, Principal, ThreadStatus
from tests.engine.run.hooked import HookedStore
from tests.otel.backend import Backend
from tests.support.agents import Answering, Bench, Scripted, eventually, outcome

SECRET = "exporter-password"

SPANS = (
    *("agui.run agent", "agui.adapter agent", "agui.stop agent"),
    *("store.load", "store.commit", ""),
)
"""Beginnings of the names of the spans that fail; all of them at last."""


class Raising(SpanProcessor):
    """Raises when spans start or end."""

    def __init__(self, when: str, name: str) -> None:
        self.when, self.name = when, name
        self.raised = 0

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        self._raise("start", span.name)

    def on_end(self, span: ReadableSpan) -> None:
        self._raise("end", span.name)

    def _raise(self, when: str, name: str | None) -> None:
        if when == self.when and (name or "").startswith(self.name):
            self.raised += 1
            raise RuntimeError(SECRET)


def telemetry(processor: SpanProcessor) -> OpenTelemetry:
    tracers = TracerProvider(shutdown_on_exit=False)
    tracers.add_span_processor(processor)
    return OpenTelemetry(tracers, NoOpMeterProvider())


def fail(*args: Any, **options: Any) -> Any:
    raise RuntimeError(SECRET)


@pytest.fixture(autouse=True)
def _nothing_told() -> Iterator[None]:
    guard._told.clear()
    yield
    guard._told.clear()


async def use(bench: Bench) -> tuple[Any, ...]:
    """Ask, answer, answer again, stop what waits, delete; gives all that can be seen of it."""
    asked = await bench.ask()
    resumed = await bench.say(resume=bench.entries(asked))
    replayed = await bench.say(resume=bench.entries(asked))
    loaded = await bench.load(asked[0]["id"])
    texts = await bench.texts()
    assert loaded.record is not None
    assert loaded.status is ThreadStatus.IDLE
    assert loaded.interrupts[asked[0]["id"]].status is InterruptStatus.RESOLVED
    waiting = await bench.say("more")
    stopped = await bench.engine.stop(bench.KEY, force=False, principal=Principal(actor="ann"))
    after = (await bench.load()).status
    await bench.engine.delete(bench.KEY)
    return (
        [event["type"] for event in resumed],
        outcome(resumed),
        outcome(replayed),
        texts,
        outcome(waiting),
        stopped.status,
        after,
        (await bench.load()).record,
    )


@pytest.mark.parametrize("when", ["start", "end"])
@pytest.mark.parametrize("name", SPANS)
async def test_a_processor_that_raises_changes_nothing(when: str, name: str) -> None:
    quiet, processor = Answering(), Raising(when, name)
    agent = Answering()
    expected = await use(Bench(quiet))

    assert await use(Bench(agent, telemetry=telemetry(processor))) == expected

    assert len(agent.executed) == len(quiet.executed) == 1
    # A run's span ends after its stream.
    await eventually(lambda: processor.raised > 0)


@pytest.mark.parametrize("when", ["start", "end"])
async def test_a_run_that_is_stopped_is_stopped_all_the_same(when: str) -> None:
    async def script(run: Any) -> Any:
        yield "so far"
        await asyncio.Event().wait()

    bench = Bench(Scripted(script), telemetry=telemetry(Raising(when, "")))
    stream = bench.begin("go")
    await stream.until("TEXT_MESSAGE_CONTENT")

    stopped = await bench.engine.stop(bench.KEY, force=True, principal=Principal(actor="ann"))

    assert stopped.status == "success"
    assert outcome(await stream.rest()) == "cancelled"


@pytest.mark.parametrize("when", ["start", "end"])
async def test_what_the_work_raises_is_still_what_is_answered(when: str) -> None:
    store = HookedStore()
    bench = Bench(
        Scripted([ValueError("wrong")]), store=store, telemetry=telemetry(Raising(when, ""))
    )

    assert (await bench.say("go"))[-1]["code"] == "AGENT_ERROR"
    store.down = True
    with pytest.raises(StoreUnavailable):
        await bench.say("go")


@pytest.mark.parametrize("name", ["extract", "inject"])
async def test_a_propagator_that_raises_changes_nothing(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    expected = await use(Bench(Answering()))
    monkeypatch.setattr(propagate, name, fail)
    backend, agent = Backend(), Answering()

    with backend.telemetry.incoming({"traceparent": "00-" + "1" * 32 + "-" + "2" * 16 + "-01"}):
        assert await use(Bench(agent, telemetry=backend.telemetry)) == expected

    assert len(agent.executed) == 1


async def test_instruments_that_raise_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = await use(Bench(Answering()))
    backend, agent = Backend(), Answering()
    instruments = backend.telemetry.instruments
    for instrument in instruments._counters.values():
        monkeypatch.setattr(instrument, "add", fail)
    for histogram in instruments._histograms.values():
        monkeypatch.setattr(histogram, "record", fail)

    assert await use(Bench(agent, telemetry=backend.telemetry)) == expected
    backend.telemetry.refused("INVALID_INPUT")

    assert len(agent.executed) == 1


async def test_each_kind_of_failure_is_logged_once_and_without_its_text(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING, "agui_bridge"):
        await use(Bench(Answering(), telemetry=telemetry(Raising("start", ""))))

    told = [r.getMessage() for r in caplog.records if r.name == "agui_bridge.otel.guard"]
    assert [line.partition(" failed with ")[0] for line in told] == ["telemetry: to start a span"]
    assert "RuntimeError" in told[0] and SECRET not in caplog.text


async def test_where_one_span_fails_those_below_it_get_the_one_above() -> None:
    exporter = InMemorySpanExporter()
    tracers = TracerProvider(shutdown_on_exit=False)
    tracers.add_span_processor(Raising("start", "agui.adapter"))
    tracers.add_span_processor(SimpleSpanProcessor(exporter))
    bench = Bench(Answering(), telemetry=OpenTelemetry(tracers, NoOpMeterProvider()))

    asked = await bench.ask()
    await bench.say(resume=bench.entries(asked))
    await eventually(
        lambda: [s.name for s in exporter.get_finished_spans()].count("agui.run agent") == 2
    )

    runs = [s for s in exporter.get_finished_spans() if s.name == "agui.run agent"]
    above = {s.context.span_id for s in runs if s.context is not None}
    below = [s for s in exporter.get_finished_spans() if s.name.startswith("store.")]
    assert below and all(s.parent is not None and s.parent.span_id in above for s in below)
