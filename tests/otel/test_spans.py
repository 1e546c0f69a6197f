"""What a trace shows of runs, refusals, replays, stops and failures."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from opentelemetry.trace import StatusCode

from agui_bridge.adapters import Pause, Run, RunItem
from agui_bridge.engine.streaming.event_stream import EventStream
from agui_bridge.engine.streaming.pipe import Pipe
from agui_bridge.errors import Refused, StoreUnavailable, UpstreamError
from agui_bridge.protocol.contract.transitions import Change
from agui_bridge.protocol.threads.records import Principal, ThreadKey
from tests.engine.run.hooked import HookedStore, claims
from tests.otel.backend import Backend, attributes_of, span_id, trace_id
from tests.support.agents import Answering, Bench, Scripted, eventually, outcome

RUN, ADAPTER = "agui.run agent", "agui.adapter agent"


async def test_a_run_is_a_trace_with_the_adapter_and_the_store_below_it() -> None:
    backend = Backend()
    bench = Bench(Scripted(["Hello."]), telemetry=backend.telemetry)

    await bench.say("go")
    await eventually(lambda: bool(backend.named(RUN)))

    assert backend.tree == {
        (RUN, None),
        (ADAPTER, RUN),
        ("store.load", RUN),
        ("store.commit", RUN),
    }
    run = backend.one(RUN)
    assert {trace_id(span) for span in backend.spans} == {trace_id(run)}
    attributes = dict(attributes_of(run))
    assert str(attributes.pop("agui.run.id")).startswith("run-")
    assert attributes == {
        "gen_ai.agent.name": "agent",
        "gen_ai.conversation.id": "t",
        "agui.decision": "start",
        "agui.outcome": "success",
        "agui.ending": "finished",
    }
    assert run.status.status_code is StatusCode.UNSET
    assert attributes_of(backend.named("store.commit")[0]) == {
        "agui.store": "MemoryStore",
        "db.operation.name": "commit",
    }


async def test_what_the_adapter_makes_the_engine_store_stands_below_the_adapter() -> None:
    backend = Backend()
    bench = Bench(Answering(), telemetry=backend.telemetry)
    asked = await bench.ask()
    backend.forget()

    await bench.say(resume=bench.entries(asked))
    await eventually(lambda: bool(backend.named(RUN)))

    # The result of the gated call is stored before it is sent.
    assert ("store.commit", ADAPTER) in backend.tree


async def test_a_resumed_run_links_to_the_run_that_asked() -> None:
    backend = Backend()
    bench = Bench(Answering(), telemetry=backend.telemetry)

    asked = await bench.ask()
    await eventually(lambda: bool(backend.named(RUN)))
    asking = backend.one(RUN)
    adapter = backend.one(ADAPTER)
    backend.forget()
    await bench.say(resume=bench.entries(asked))
    await eventually(lambda: bool(backend.named(RUN)))
    resumed = backend.one(RUN)

    assert attributes_of(asking)["agui.outcome"] == "interrupt"
    assert attributes_of(resumed)["agui.decision"] == "resume"
    assert attributes_of(resumed)["agui.outcome"] == "success"
    assert trace_id(resumed) != trace_id(asking)
    (link,) = resumed.links
    assert f"{link.context.trace_id:032x}" == trace_id(asking)
    assert f"{link.context.span_id:016x}" == span_id(adapter)


async def test_a_run_that_nobody_traced_is_resumed_without_a_link() -> None:
    backend = Backend()
    silent = Bench(Answering())
    asked = await silent.ask()
    bench = Bench(Answering(), store=silent.store, telemetry=backend.telemetry)

    events = await bench.say(resume=bench.entries(asked))
    await eventually(lambda: bool(backend.named(RUN)))

    assert outcome(events) == "success"
    assert backend.one(RUN).links == ()


async def test_a_refusal_has_its_code_and_is_no_failure_of_the_service() -> None:
    backend = Backend()
    bench = Bench(Answering(), telemetry=backend.telemetry)
    await bench.ask()
    await eventually(lambda: bool(backend.named(RUN)))
    backend.forget()

    events = await bench.say("go", "and now?")
    await eventually(lambda: bool(backend.named(RUN)))

    assert outcome(events) == "INTERRUPT_PENDING"
    run = backend.one(RUN)
    assert attributes_of(run)["agui.outcome"] == "refused"
    assert attributes_of(run)["agui.decision"] == "reject"
    assert attributes_of(run)["error.type"] == "INTERRUPT_PENDING"
    assert run.status.status_code is StatusCode.UNSET
    assert backend.named(ADAPTER) == []


async def test_a_replay_shows_that_nothing_was_run() -> None:
    backend = Backend()
    bench = Bench(Answering(), telemetry=backend.telemetry)
    asked = await bench.ask()
    await bench.say(resume=bench.entries(asked))
    await eventually(lambda: len(backend.named(RUN)) == 2)
    backend.forget()

    await bench.say(resume=bench.entries(asked))
    await eventually(lambda: bool(backend.named(RUN)))

    run = backend.one(RUN)
    assert attributes_of(run)["agui.decision"] == "replay"
    assert attributes_of(run)["agui.outcome"] == "success"
    assert "agui.ending" not in attributes_of(run)
    assert backend.tree == {(RUN, None), ("store.load", RUN)}


async def test_a_join_is_an_event_of_its_span_and_ends_as_a_replay() -> None:
    backend = Backend()
    agent = Answering()
    bench = Bench(agent, telemetry=backend.telemetry)
    asked = await bench.ask()
    await eventually(lambda: bool(backend.named(RUN)))
    backend.forget()
    going = asyncio.Event()
    agent.before_tool = going.wait

    first = bench.begin(resume=bench.entries(asked))
    await first.until("TEXT_MESSAGE_CONTENT")
    second = bench.begin(resume=bench.entries(asked))
    await second.until("RUN_STARTED")
    await eventually(lambda: "join" in backend.points("agui.decisions", "agui.decision"))
    going.set()
    await first.rest()
    await second.rest()
    await eventually(lambda: len(backend.named(RUN)) == 2)

    joined = next(span for span in backend.named(RUN) if span.events)
    assert [event.name for event in joined.events] == ["agui.join"]
    assert attributes_of(joined)["agui.decision"] == "replay"


async def test_a_lost_claim_shows_as_a_conflict_and_another_decision() -> None:
    backend = Backend()
    store = HookedStore()
    agent = Answering()
    bench = Bench(agent, store=store, telemetry=backend.telemetry)
    other = Bench(agent, store=store)
    asked = await bench.ask()
    await eventually(lambda: bool(backend.named(RUN)))
    backend.forget()

    async def let_the_other_win(change: Change) -> None:
        if claims(change) and not won:
            won.append(True)
            assert outcome(await other.say(resume=other.entries(asked))) == "success"

    won: list[bool] = []
    store.before = let_the_other_win
    events = await bench.say(resume=bench.entries(asked))
    await eventually(lambda: bool(backend.named(RUN)))

    assert outcome(events) == "success"
    assert len(agent.executed) == 1
    lost = backend.one("store.commit")
    assert attributes_of(lost)["error.type"] == "Conflict"
    assert lost.status.status_code is StatusCode.UNSET
    timed = backend.points("agui.store.operation.duration", "error.type")
    assert set(timed) == {None}
    run = backend.one(RUN)
    assert attributes_of(run)["agui.decision"] == "replay"
    # The decision of the run that asked is in the metrics too.
    points = backend.points("agui.decisions", "agui.decision")
    assert points == {"start": 1, "resume": 1, "replay": 1}
    assert backend.points("agui.claims.lost", "agui.decision") == {"resume": 1}
    assert backend.points("agui.runs", "agui.outcome") == {"interrupt": 1}


async def test_a_stopped_run_is_cancelled_and_the_stop_has_a_span_of_its_own() -> None:
    backend = Backend()

    async def endless(run: Run) -> AsyncIterator[RunItem]:
        yield "On and on."
        await asyncio.Event().wait()

    bench = Bench(Scripted(endless), telemetry=backend.telemetry)
    reader = bench.begin("go")
    await reader.until("TEXT_MESSAGE_CONTENT")

    with backend.tracers.get_tracer("host").start_as_current_span("button"):
        stopped = await bench.engine.stop(bench.KEY, force=True)
    await reader.rest()
    await eventually(lambda: bool(backend.named(RUN)))

    assert stopped.status == "success"
    assert {("agui.stop agent", "button"), ("store.request_stop", "agui.stop agent")} <= {
        *backend.tree
    }
    assert attributes_of(backend.one("agui.stop agent"))["agui.stop.status"] == "success"
    run = backend.one(RUN)
    assert attributes_of(run)["agui.outcome"] == "cancelled"
    assert attributes_of(run)["agui.ending"] == "stopped"
    assert run.status.status_code is StatusCode.UNSET
    # To be stopped is no error of the adapter.
    assert backend.one(ADAPTER).status.status_code is StatusCode.UNSET
    assert backend.points("agui.stops", "agui.stop.status") == {"success": 1}


async def test_a_run_that_is_stopped_before_it_begins_leaves_nothing_unawaited() -> None:
    backend = Backend()
    bench = Bench(Scripted(["Hello."]), telemetry=backend.telemetry)
    call = bench.call("go")
    run = Run("agent", "t", "r", call.parsed.input, call.principal)
    called: list[bool] = []

    async def pump() -> None:
        called.append(True)

    with backend.telemetry.input(call, EventStream(call, Pipe())) as watch:
        task = asyncio.create_task(watch.adapter(run, pump))
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    assert called == []
    assert backend.named(ADAPTER) == []


async def test_an_agent_that_raises_is_an_error_by_class_and_code() -> None:
    backend = Backend()
    bench = Bench(Scripted([ValueError("the secret")]), telemetry=backend.telemetry)

    events = await bench.say("go")
    await eventually(lambda: bool(backend.named(RUN)))

    assert outcome(events) == "AGENT_ERROR"
    run, adapter = backend.one(RUN), backend.one(ADAPTER)
    assert attributes_of(run)["error.type"] == "AGENT_ERROR"
    assert attributes_of(run)["agui.outcome"] == "error"
    assert (run.status.status_code, run.status.description) == (StatusCode.ERROR, "AGENT_ERROR")
    assert attributes_of(adapter)["error.type"] == "ValueError"
    assert (adapter.status.status_code, adapter.events) == (StatusCode.ERROR, ())


async def test_a_store_that_does_not_answer_is_an_error_of_its_operation_and_of_the_input() -> None:
    backend = Backend()
    store = HookedStore()
    bench = Bench(Answering(), store=store, telemetry=backend.telemetry)
    store.down = True

    with pytest.raises(StoreUnavailable):
        await bench.say("go")
    await eventually(lambda: bool(backend.named(RUN)))

    load, run = backend.one("store.load"), backend.one(RUN)
    assert attributes_of(load)["error.type"] == "StoreUnavailable"
    assert load.status.status_code is StatusCode.ERROR
    assert attributes_of(run)["error.type"] == "STORE_UNAVAILABLE"
    assert run.status.status_code is StatusCode.ERROR
    durations = backend.points("agui.store.operation.duration", "db.operation.name", "error.type")
    assert durations == {("load", "StoreUnavailable"): 1}


async def test_a_claim_is_tried_again_in_spans_of_its_own() -> None:
    backend = Backend()
    store = HookedStore()
    bench = Bench(Scripted(["Hello."]), store=store, telemetry=backend.telemetry)
    store.fail(claims, times=1, written=True)

    events = await bench.say("go")
    await eventually(lambda: bool(backend.named(RUN)))

    assert outcome(events) == "success"
    kinds = [attributes_of(span).get("error.type") for span in backend.named("store.commit")]
    assert kinds == ["StoreUnavailable", None, None]


async def test_a_run_that_the_shutdown_refuses_says_so() -> None:
    backend = Backend()
    bench = Bench(Scripted(["Hello."]), telemetry=backend.telemetry)
    bench.engine.closing = True

    with pytest.raises(Refused):
        await bench.say("go")
    await eventually(lambda: bool(backend.named(RUN)))

    assert attributes_of(backend.one(RUN))["error.type"] == "SHUTTING_DOWN"
    assert backend.points("agui.refusals", "error.type") == {"SHUTTING_DOWN": 1}


async def test_ids_of_clients_are_short_and_can_be_exported() -> None:
    backend = Backend()
    bench = Bench(Scripted(["Hello."]), telemetry=backend.telemetry)

    await bench.say("go", runId="r" * 1000)
    await eventually(lambda: bool(backend.named(RUN)))

    assert attributes_of(backend.one(RUN))["agui.run.id"] == "r" * 256
    await bench.engine.stop(ThreadKey("default", "agent", "half \ud800 of a pair"))
    stop = backend.one("agui.stop agent")
    assert attributes_of(stop)["gen_ai.conversation.id"] == "half ? of a pair"


async def test_nothing_that_people_or_agents_said_is_exported() -> None:
    backend = Backend()
    marker = "M4rk3r"

    async def telling(run: Run) -> AsyncIterator[RunItem]:
        if run.resume is None:
            yield f"I say {marker}. "
            run.result = {marker: marker}
            yield Pause(Answering().asks, {marker: marker})
        else:
            raise UpstreamError(f"upstream said {marker}")

    store = HookedStore()
    bench = Bench(Scripted(telling), store=store, telemetry=backend.telemetry, store_retry=0.0)
    events = await bench.say(
        f"{marker}",
        actor=marker,
        state={marker: marker},
        forwardedProps={marker: marker},
        context=[{"description": marker, "value": marker}],
    )
    asked = events[-1]["outcome"]["interrupts"]
    wrong = bench.entries(asked, {"approved": marker})
    await bench.say(resume=wrong, principal=Principal(actor=marker))
    await bench.say(resume=bench.entries(asked, {"approved": False, "reason": marker}))
    await bench.engine.stop(bench.KEY, principal=Principal(actor=marker))

    async def fail(change: Change) -> None:
        raise StoreUnavailable(f"the database said {marker}")

    store.before = fail
    with pytest.raises(StoreUnavailable):
        await bench.say(marker, "again")
    await eventually(lambda: len(backend.named(RUN)) == 4)

    assert len(backend.spans) > 10
    assert marker not in backend.everything()
    assert "ann" not in {v for s in backend.spans for v in attributes_of(s).values()}
