"""Trace context: from a request's headers or the caller to the run, and on to the framework."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from opentelemetry import baggage

from agui_bridge import Bridge, FunctionRun, Settings
from agui_bridge.adapters import Run, RunItem
from tests.otel.backend import Backend, attributes_of, span_id, trace_id
from tests.support.agents import Answering, Scripted, eventually
from tests.support.server import client, post, run_input, serve

CALLER = "0af7651916cd43dd8448eb211c80319c"
PARENT = "b7ad6b7169203331"
HEADERS = {"traceparent": f"00-{CALLER}-{PARENT}-01", "baggage": "tenant=blue"}


def bridge_of(backend: Backend, agent: Any = None) -> Bridge:
    bridge = Bridge(settings=Settings(shutdown_grace=0.1), telemetry=backend.telemetry)
    bridge.add("agent", agent or Answering())
    return bridge


async def run(base: str, headers: dict[str, str], text: str = "go") -> None:
    async with client(base) as http:
        response = await http.post("/agents/agent", json=run_input(text), headers=headers)
        assert response.status_code == 200


async def test_the_requests_trace_context_is_the_runs_parent() -> None:
    backend = Backend()
    async with serve(bridge_of(backend).app(anonymous=True)) as base:
        await run(base, HEADERS)
        await eventually(lambda: bool(backend.named("agui.run agent")))

    span = backend.one("agui.run agent")
    assert trace_id(span) == CALLER
    assert span.parent is not None
    assert f"{span.parent.span_id:016x}" == PARENT


@pytest.mark.parametrize("headers", [{}, {"traceparent": "nonsense"}, {"traceparent": "00-0-0-1"}])
async def test_without_a_valid_trace_context_a_run_begins_a_trace(headers: dict[str, str]) -> None:
    backend = Backend()
    async with serve(bridge_of(backend).app(anonymous=True)) as base:
        await run(base, headers)
        await eventually(lambda: bool(backend.named("agui.run agent")))

    assert backend.one("agui.run agent").parent is None


async def test_headers_are_not_believed_where_they_should_not_be() -> None:
    backend = Backend(incoming=False)
    async with serve(bridge_of(backend).app(anonymous=True)) as base:
        await run(base, HEADERS)
        await eventually(lambda: bool(backend.named("agui.run agent")))

    assert trace_id(backend.one("agui.run agent")) != CALLER


async def test_the_span_of_an_instrumented_server_comes_before_the_headers() -> None:
    backend = Backend()
    inner = bridge_of(backend).app(anonymous=True)

    async def instrumented(scope: Any, receive: Any, send: Any) -> None:
        with backend.tracers.get_tracer("server").start_as_current_span("POST"):
            await inner(scope, receive, send)

    async with serve(instrumented, lifespan="off") as base:
        await run(base, HEADERS)
        await eventually(lambda: bool(backend.named("POST")))

    assert ("agui.run agent", "POST") in backend.tree


async def test_a_stop_over_http_belongs_to_its_requests_trace() -> None:
    backend = Backend()
    async with serve(bridge_of(backend).app(anonymous=True)) as base, client(base) as http:
        await post(base, **run_input("go"))
        stopped = await http.post("/agents/agent/threads/t/stop", headers=HEADERS)

    assert stopped.status_code == 200
    assert trace_id(backend.one("agui.stop agent")) == CALLER


async def test_an_adapter_gets_the_headers_that_make_upstream_spans_its_children() -> None:
    backend = Backend()
    seen: list[dict[str, str]] = []

    async def remote(run: Run) -> AsyncIterator[RunItem]:
        def answer(request: httpx.Request) -> httpx.Response:
            seen.append(dict(request.headers))
            return httpx.Response(200)

        async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as upstream:
            await upstream.get("http://upstream.example", headers=run.trace_headers)
        yield str(baggage.get_baggage("tenant"))

    async with serve(bridge_of(backend, Scripted(remote)).app(anonymous=True)) as base:
        await run(base, HEADERS)
        await eventually(lambda: bool(backend.named("agui.run agent")))

    adapter = backend.one("agui.adapter agent")
    assert seen[0]["traceparent"] == f"00-{CALLER}-{span_id(adapter)}-01"
    assert seen[0]["baggage"] == "tenant=blue"


async def test_a_function_agent_sees_the_headers_and_its_spans_stand_below_the_adapter() -> None:
    backend = Backend()
    bridge = Bridge(telemetry=backend.telemetry)
    seen: list[str] = []

    @bridge.agent("agent")
    async def ask(run: FunctionRun) -> str:
        async def look() -> int:
            with backend.tracers.get_tracer("app").start_as_current_span("query"):
                return 1

        seen.append(run.trace_headers["traceparent"])
        return str(await run.step("look", look))

    async with serve(bridge.app(anonymous=True)) as base:
        await run(base, {})
        await eventually(lambda: bool(backend.named("agui.run agent")))

    assert span_id(backend.one("agui.adapter agent")) in seen[0]
    assert ("query", "agui.adapter agent") in backend.tree


async def test_without_telemetry_there_are_no_headers() -> None:
    agent = Answering()
    bridge = Bridge(telemetry=False)
    bridge.add("agent", agent)
    async with serve(bridge.app(anonymous=True)) as base:
        await run(base, HEADERS)

    assert agent.runs[0].trace_headers == {}


async def test_an_answer_from_code_belongs_to_the_callers_trace() -> None:
    backend = Backend()
    bridge = bridge_of(backend)
    async with serve(bridge.app(anonymous=True)) as base:
        stream = await post(base, **run_input("go"))
        (ask,) = stream.events[-1]["outcome"]["interrupts"]
        await eventually(lambda: bool(backend.named("agui.run agent")))
        backend.forget()
        with backend.tracers.get_tracer("host").start_as_current_span("webhook"):
            await bridge.resume("agent", "t", {ask["id"]: {"approved": True}})
        await eventually(lambda: bool(backend.named("agui.run agent")))

    assert ("agui.run agent", "webhook") in backend.tree
    assert attributes_of(backend.one("agui.run agent"))["agui.decision"] == "resume"


async def test_what_goes_on_beside_the_inputs_is_in_nobodys_trace() -> None:
    backend = Backend()
    bridge = Bridge(settings=Settings(sweep_interval=0.001), telemetry=backend.telemetry)
    with backend.tracers.get_tracer("host").start_as_current_span("first request"):
        engine = await bridge.open()
    swept = "agui.store.operation.duration", "db.operation.name"
    await eventually(lambda: "due" in backend.points(*swept))
    await bridge.aclose()

    assert engine.running == {}
    assert backend.tree == {("first request", None)}
