"""What is counted and measured."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from agui_bridge import Bridge, Settings
from agui_bridge.adapters import Pause, Run, RunItem
from agui_bridge.engine.engine import mint
from agui_bridge.engine.recovery import sweep
from agui_bridge.errors import NotDelivered
from agui_bridge.otel.instruments import Instruments
from agui_bridge.otel.semantic_conventions import METRICS
from agui_bridge.stores.memory import MemoryStore
from tests.otel.backend import Backend
from tests.support.agents import (
    Answering,
    Bench,
    Scripted,
    approval,
    eventually,
    pass_time,
    settle,
    text_events,
)
from tests.support.clock import FakeClock
from tests.support.server import client, run_input, serve

RAISED, CLOSED = "agui.interrupts.raised", "agui.interrupts.closed"
STATUS = "agui.interrupt.status"


async def test_runs_are_counted_and_timed_by_how_they_ended() -> None:
    backend = Backend()
    agent = Scripted(["Hello."], [ValueError("no")])
    bench = Bench(agent, telemetry=backend.telemetry)

    for text in ("a", "b", "c"):
        await bench.say(text)
    await settle()

    ended = {("success", "finished", None): 1, ("error", "failed", "AGENT_ERROR"): 2}
    by_end = ("agui.outcome", "agui.ending", "error.type")
    assert backend.points("agui.runs", *by_end) == ended
    assert backend.points("agui.run.duration", *by_end) == ended
    assert backend.points("agui.run.time_to_first_event", "gen_ai.agent.name") == {"agent": 1}
    assert backend.points("agui.refusals") == {}


async def test_inputs_that_run_nothing_are_counted_apart() -> None:
    backend = Backend()
    bench = Bench(Answering(), telemetry=backend.telemetry)

    asked = await bench.ask()
    await bench.say("go", "and?")
    await bench.say(resume=[*bench.entries(asked), *bench.entries(asked)])
    await bench.say(resume=bench.entries(asked))
    await bench.say(resume=bench.entries(asked))
    await settle()

    refused = {"INTERRUPT_PENDING": 1, "INTERRUPT_DUPLICATE": 1}
    assert backend.points("agui.refusals", "error.type") == refused
    assert backend.points("agui.runs", "agui.outcome") == {"interrupt": 1, "success": 1}
    decided = {"start": 1, "reject": 2, "resume": 1, "replay": 1}
    assert backend.points("agui.decisions", "agui.decision") == decided


async def test_interrupts_are_raised_and_closed_by_how() -> None:
    backend = Backend()
    bench = Bench(Answering(approval("a"), approval("b")), telemetry=backend.telemetry)

    first = await bench.ask()
    one, other = bench.entries(first)
    await bench.say(resume=[one, {"interruptId": other["interruptId"], "status": "cancelled"}])
    await bench.say("go", "again")
    await bench.engine.stop(bench.KEY)
    await bench.say("go", "again", "once more")
    await bench.engine.delete(bench.KEY)

    assert backend.points(RAISED) == {None: 6}
    assert backend.points(CLOSED, STATUS) == {"resolved": 1, "cancelled": 3, "deleted": 2}


async def test_questions_that_reopen_are_neither_raised_nor_closed() -> None:
    backend = Backend()
    agent = Scripted([Pause([approval()])], [NotDelivered("refused")])
    bench = Bench(agent, telemetry=backend.telemetry)

    asked = await bench.ask()
    await bench.say(resume=bench.entries(asked))
    await settle()

    assert backend.points(RAISED) == {None: 1}
    assert backend.points(CLOSED) == {}
    by_ending = {"finished": 1, "undelivered": 1}
    assert backend.points("agui.runs", "agui.ending") == by_ending


async def test_what_the_sweeper_closes_is_counted_where_it_was_found() -> None:
    backend = Backend()
    clock = FakeClock()
    store = MemoryStore(clock.time)
    settings: dict[str, Any] = {"store": store, "clock": clock, "expires_in": 5.0}
    bench = Bench(Answering(), telemetry=backend.telemetry, **settings)
    await bench.ask()

    await pass_time(clock, 6.0)
    assert await sweep(bench.engine.store, mint) == 1

    assert backend.points(CLOSED, STATUS) == {"expired": 1}


async def test_a_lost_run_is_counted_by_who_finds_it() -> None:
    backend = Backend()
    clock = FakeClock()
    store = MemoryStore(clock.time)

    async def endless(run: Run) -> AsyncIterator[RunItem]:
        yield "On."
        await run.stop

    gone = Bench(Scripted(endless), store=store, clock=FakeClock(), shutdown_grace=0.0)
    async with gone.open():
        await gone.begin("go").until("TEXT_MESSAGE_CONTENT")
        clock.advance(60.0)
        finder = Bench(Scripted(["Hello."]), store=store, clock=clock, telemetry=backend.telemetry)
        await finder.say("go", "hello?")

    assert backend.points("agui.runs.lost", "gen_ai.agent.name") == {"agent": 1}
    decided = {"recover": 1, "start": 1}
    assert backend.points("agui.decisions", "agui.decision") == decided


async def test_running_runs_and_what_waits_for_clients_are_seen_while_they_last() -> None:
    backend = Backend()
    bench = Bench(Scripted(_waiting, stop=True), telemetry=backend.telemetry)
    reader = bench.begin("go")
    await eventually(lambda: backend.points("agui.pipe.chunks") == {None: 3})

    assert backend.points("agui.runs.active", "gen_ai.agent.name") == {"agent": 1}
    assert backend.points("agui.pipe.bytes")[None] > 1000
    await reader.until("TEXT_MESSAGE_CONTENT")
    assert backend.points("agui.pipe.bytes") == {None: 0}
    await bench.engine.stop(bench.KEY)
    await reader.rest()
    await settle()
    assert backend.points("agui.runs.active", "gen_ai.agent.name") == {"agent": 0}


async def _waiting(run: Run) -> AsyncIterator[RunItem]:
    yield "x" * 1000
    await run.stop


async def test_two_bridges_on_one_provider_are_seen_together() -> None:
    backend = Backend()
    benches = [Bench(Scripted(_waiting), telemetry=backend.another()) for _ in range(2)]
    readers = [bench.begin("go") for bench in benches]
    for reader in readers:
        await reader.until("TEXT_MESSAGE_CONTENT")

    assert backend.points("agui.runs.active") == {None: 2}
    for bench, reader in zip(benches, readers, strict=True):
        await bench.engine.stop(bench.KEY, force=True)
        await reader.rest()


async def test_refused_requests_are_counted_by_code() -> None:
    backend = Backend()
    bridge = Bridge(settings=Settings(shutdown_grace=0.1), telemetry=backend.telemetry)
    async with serve(bridge.app(anonymous=True)) as base, client(base) as http:
        await http.post("/agents/nobody", json=run_input())
        await http.get("/agents/nobody/threads/t")
        await http.request("PATCH", "/agents")
        await http.post("/agents/nobody", content="{")

    refused = backend.points("agui.http.refusals", "error.type")
    assert refused == {"AGENT_NOT_FOUND": 3, "METHOD_NOT_ALLOWED": 1}


async def test_an_event_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    for method in ("count", "measure"):
        original = getattr(Instruments, method)

        def counting(
            self: Instruments, name: str, *rest: Any, original: Any = original, **more: Any
        ) -> None:
            calls.append(name)
            original(self, name, *rest, **more)

        monkeypatch.setattr(Instruments, method, counting)

    async def told(events: int) -> tuple[list[str], list[str]]:
        calls.clear()
        backend = Backend()
        # The clock stands still, so that nothing is written behind meanwhile.
        agent = Scripted(text_events("m", *("x" for _ in range(events))))
        bench = Bench(agent, clock=FakeClock(), telemetry=backend.telemetry)
        await bench.say("go")
        await settle()
        return list(calls), [span.name for span in backend.spans]

    assert await told(1) == await told(3000)


async def test_every_metric_is_as_its_table_says() -> None:
    backend = Backend()
    bench = Bench(Answering(), telemetry=backend.telemetry)
    await bench.ask()
    await bench.say("go", "and?")
    await bench.engine.stop(bench.KEY)
    backend.telemetry.refused("NOT_FOUND")

    seen = backend.metrics()
    assert {"agui.runs", "agui.refusals", "agui.stops", RAISED, CLOSED} <= seen.keys()
    for name, (unit, attributes) in seen.items():
        assert unit == METRICS[name].unit
        assert attributes <= set(METRICS[name].attributes), name
