"""Pauses that a process keeps: an answer is decided on them once, and on nothing out of date."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

import pytest

from agui_bridge.adapters import Pause, Run, RunItem
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.records import ThreadKey
from agui_bridge.stores.base import Store
from tests.stores.conftest import Opener
from tests.support.agents import Answering, Bench, Scripted, approval, outcome
from tests.support.clock import FakeClock

EXPIRES_IN = 60.0


class Counting:
    """A store that counts how often a thread is read."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.loads = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)

    async def load(self, key: ThreadKey, ids: Sequence[str] = (), **options: Any) -> Loaded:
        self.loads += 1
        return await self.store.load(key, ids, **options)


OpenBench = Callable[[Scripted], Awaitable[Bench]]

Entries = list[dict[str, Any]]


@pytest.fixture
async def process(opener: Opener) -> AsyncIterator[OpenBench]:
    """Gives one more process on the data of this test."""
    opened: list[Bench] = []

    async def open_another(agent: Scripted) -> Bench:
        counting: Any = Counting(await opener())
        opened.append(Bench(agent, store=counting, expires_in=EXPIRES_IN, busy_patience=5.0))
        return opened[-1]

    yield open_another
    for bench in opened:
        await bench.engine.aclose()


def loads(bench: Bench) -> int:
    store: Any = bench.store
    return int(store.loads)


async def test_what_is_kept_is_what_the_store_has_and_an_answer_reads_nothing(
    process: OpenBench,
) -> None:
    agent = Answering(approval("c1", parameters={"type": "object"}), approval("c2"))
    bench = await process(agent)
    asked = await bench.ask()
    kept = bench.engine.threads.pauses._pauses[bench.KEY].loaded
    stored = await bench.load()
    assert kept.record == stored.record
    assert (kept.interrupts, kept.receipts) == (stored.interrupts, stored.receipts)
    assert tuple(kept.messages) == tuple(stored.messages)
    before = loads(bench)
    assert outcome(await bench.say(resume=bench.entries(asked))) == "success"
    assert loads(bench) == before
    assert [call for call, _ in agent.executed] == ["c1", "c2"]
    assert bench.KEY not in bench.engine.threads.pauses


async def test_what_the_agent_does_to_its_objects_is_not_in_what_is_kept(
    process: OpenBench,
) -> None:
    ask, continuation = approval("c1"), {"at": ["step 1"]}
    seen: list[Any] = []

    async def script(run: Run) -> AsyncIterator[RunItem]:
        if run.resume is None:
            yield Pause([ask], continuation)
        else:
            seen.append((run.resume.continuation, run.resume.decisions["native-c1"]))

    bench = await process(Scripted(script))
    asked = await bench.ask()
    spoilt: Any = ask.tool_call
    spoilt.args["to"] = "spoilt"
    continuation["at"].append("spoilt")
    await bench.say(resume=bench.entries(asked))
    ((left, decision),) = seen
    assert (left, decision.args) == ({"at": ["step 1"]}, {"to": "c1"})


async def answered(other: Bench, entries: Entries, clock: FakeClock) -> None:
    assert outcome(await other.say(resume=entries)) == "success"


async def refused(other: Bench, entries: Entries, clock: FakeClock) -> None:
    payload = {"approved": False}
    told = await other.say(resume=[{**entry, "payload": payload} for entry in entries])
    assert outcome(told) == "success"


async def went_on(other: Bench, entries: Entries, clock: FakeClock) -> None:
    await answered(other, entries, clock)
    assert outcome(await other.say("again")) == "interrupt"


async def stopped(other: Bench, entries: Entries, clock: FakeClock) -> None:
    await other.engine.stop(other.KEY)


async def expired(other: Bench, entries: Entries, clock: FakeClock) -> None:
    clock.advance(EXPIRES_IN + 1)


async def deleted(other: Bench, entries: Entries, clock: FakeClock) -> None:
    await other.engine.delete(other.KEY)


MEANWHILE = {
    "answered": (answered, 1),
    "refused": (refused, 0),
    "answered and asked again": (went_on, 1),
    "stopped": (stopped, 0),
    "expired": (expired, 0),
    "deleted": (deleted, 0),
}


@pytest.mark.parametrize("change", MEANWHILE)
async def test_what_is_out_of_date_is_decided_anew(
    change: str, process: OpenBench, clock: FakeClock
) -> None:
    agent = Answering()
    asking, other, fresh = [await process(agent) for _ in range(3)]
    entries = asking.entries(await asking.ask())
    happens, executed = MEANWHILE[change]
    await happens(other, entries, clock)
    assert asking.KEY in asking.engine.threads.pauses
    told = await asking.say(resume=entries)
    assert len(agent.executed) == executed
    assert outcome(told) == outcome(await fresh.say(resume=entries))
    assert len(agent.executed) == executed


async def test_of_answers_at_two_processes_at_once_one_is_carried_out(process: OpenBench) -> None:
    agent = Answering()
    asking, other = await process(agent), await process(agent)
    entries = asking.entries(await asking.ask())
    told = await asyncio.gather(asking.say(resume=entries), other.say(resume=entries))
    assert [outcome(one) for one in told] == ["success", "success"]
    assert len(agent.executed) == 1


async def test_a_refusal_is_decided_on_what_the_store_has(process: OpenBench) -> None:
    agent = Answering()
    bench = await process(agent)
    asked = await bench.ask()
    before = loads(bench)
    wrong = bench.entries(asked, payload={"approved": "perhaps"})
    assert outcome(await bench.say(resume=wrong)) not in ("success", "interrupt")
    assert loads(bench) > before
    assert outcome(await bench.say(resume=bench.entries(asked))) == "success"
    assert len(agent.executed) == 1
