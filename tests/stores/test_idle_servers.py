"""Servers that have nothing to do: what they ask of the store does not grow with their number."""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from agui_bridge.channels.channel import ScopedChannels
from agui_bridge.channels.dispatcher import Dispatcher
from agui_bridge.engine.engine import Engine, mint
from agui_bridge.engine.input.settings import Settings
from agui_bridge.engine.presence import (
    ALIVE_SECONDS,
    BEAT_SECONDS,
    Duties,
    Presence,
    kind_of,
    share_of,
)
from agui_bridge.engine.recovery import sweep_forever
from agui_bridge.engine.telemetry import NO_TELEMETRY
from agui_bridge.engine.unasked_runs import LookAround
from agui_bridge.frozen import replace
from agui_bridge.protocol.threads.records import RECORD_FORMAT, ThreadStatus
from agui_bridge.stores.base import Store
from agui_bridge.stores.memory.store import MemoryStore
from agui_bridge.stores.redis.store import RedisStore
from agui_bridge.stores.servers import Server, server_id
from tests.channels.bridges import INBOX
from tests.channels.test_dispatcher import Told, told
from tests.stores.conftest import BACKENDS, Backend
from tests.stores.samples import KEY, LEASE_SECONDS, ask, interrupted, put, running, stop
from tests.support.clock import FakeClock
from tests.support.redis_server import cluster_url
from tests.support.waiting import eventually

pytestmark = pytest.mark.timeout(240)

INTERVAL = 5.0
SLEEP = 4
"""Tasks of each server that wait by the clock: it sweeps, plans, notes itself, polls for stops."""


@dataclass
class Idle:
    """Servers on one store, in the order of their ids.

    Attributes:
        clock: what all of them wait by.
        stores: one of each.
        told: the channel of each.
        asked: what the stores were asked, by all servers together.
        under_way: how much they are asked at the moment.
    """

    clock: FakeClock
    stores: list[Store] = field(default_factory=list)
    told: list[Told] = field(default_factory=list)
    asked: Counter[str] = field(default_factory=Counter)
    ends: list[Callable[[], Awaitable[None]]] = field(default_factory=list)
    alive: int = 0
    under_way: int = 0

    async def pass_on(self, seconds: float) -> None:
        """Let time pass, an interval at a time, and everybody do what is due."""
        for _ in range(round(seconds / INTERVAL)):
            await eventually(self._rest, 60)
            self.clock.advance(INTERVAL)
        await eventually(self._rest, 60)

    async def _rest(self) -> bool:
        """Whether all wait, and nobody goes on in the next turns of the loop."""
        for _ in range(30):
            if self.clock.sleepers != SLEEP * self.alive or self.under_way:
                return False
            await asyncio.sleep(0)
        return True

    async def kill(self, at: int = 0) -> None:
        """End a server, which says nothing of it."""
        self.alive -= 1
        await self.ends[at]()


Opened = Callable[[list[str]], Awaitable[Idle]]


@pytest.fixture
async def opened(opener: Callable[[], Awaitable[Store]], clock: FakeClock) -> AsyncIterator[Opened]:
    async with AsyncExitStack() as stack:

        async def open_many(kinds: list[str]) -> Idle:
            found = Idle(clock)
            for number, kind in enumerate(kinds):
                store = await opener()
                if store not in found.stores:
                    count(store, found)
                found.stores.append(store)
                engine = Engine(store, Settings(sweep_interval=INTERVAL), clock)
                found.told.append(told())
                dispatcher = Dispatcher(
                    store,
                    ScopedChannels({"ops": found.told[-1]}, {"scope"}),
                    INBOX,
                    telemetry=NO_TELEMETRY,
                    clock=clock,
                    interval=INTERVAL,
                    mint=mint,
                    duties=engine.duties,
                )
                presence = Presence(
                    store, clock, f"{number:03}", (), duties=engine.duties, kind=kind.strip
                )
                presence.start()
                await presence.known()
                engine.start()
                dispatcher.start()
                found.alive += 1

                async def end(e: Any = engine, d: Any = dispatcher, p: Any = presence) -> None:
                    e.leave()
                    d.leave()
                    p.leave()

                found.ends.append(end)
                stack.push_async_callback(end)
            # All have seen all others.
            await found.pass_on(2 * BEAT_SECONDS)
            found.asked.clear()
            return found

        yield open_many


def count(store: Any, found: Idle) -> None:
    """Count what a store is asked."""

    def counting(of: Any, name: str) -> None:
        method = getattr(of, name)

        async def counted(*arguments: Any, **options: Any) -> Any:
            found.asked[name] += 1
            found.under_way += 1
            try:
                return await method(*arguments, **options)
            finally:
                found.under_way -= 1

        setattr(of, name, counted)

    for name in ("due", "load", "stops", "ping", "commit"):
        counting(store, name)
    for name in ("unannounced", "over", "claim", "plan", "finish", "of_question"):
        counting(store.deliveries, name)
    for name in ("note", "look"):
        counting(store.servers, name)


# --- how much is asked ---

TICKS = 60
"""Five minutes of intervals."""

AT_MOST = {
    "due": TICKS * 5 / 3,
    "unannounced": TICKS * 5 / 3,
    "over": TICKS * 5 / 3,
    # One for the steps of escalations, one for the channel.
    "claim": 2 * TICKS * 5 / 3,
    "look": TICKS * INTERVAL / BEAT_SECONDS * 5 / 3,
}


@pytest.mark.parametrize("many", [1, 6, pytest.param(20, marks=pytest.mark.soak)])
async def test_idle_servers_together_ask_less_than_two_would(opened: Opened, many: int) -> None:
    found = await opened(["kind"] * many)
    await found.pass_on(TICKS * INTERVAL)

    notes = found.asked.pop("note")
    assert notes == pytest.approx(many * TICKS * INTERVAL / BEAT_SECONDS, abs=many)
    assert set(found.asked) == set(AT_MOST)
    for name, most in AT_MOST.items():
        # Each may have begun to count before.
        assert TICKS * (0.1 if name == "look" else 1) <= found.asked[name] <= most + many, name


async def test_servers_that_can_do_other_work_do_not_leave_it_to_each_other(
    opened: Opened,
) -> None:
    found = await opened(["one", "two", ""])
    await found.pass_on(12 * INTERVAL)

    assert found.asked["due"] == 3 * 12


SHARES: list[tuple[str, list[str], list[int]]] = [
    ("alone", ["a.1"], [1]),
    ("of one kind", ["a.1", "a.2", "a.3", "a.4"], [1, 3, 6, 12]),
    ("of two kinds", ["a.1", "b.1", "a.2", "b.2"], [1, 1, 3, 3]),
    ("of none", ["1", "2"], [1, 1]),
    ("beside a server of before", ["a.1", "a.2"], [1, 3]),
]


@pytest.mark.parametrize(("case", "ids", "shares"), SHARES, ids=lambda value: str(value)[:24])
def test_each_further_server_does_half_as_often_what_the_one_before_does(
    case: str, ids: list[str], shares: list[int]
) -> None:
    servers = [Server(f"+{id}", "0.1.0", RECORD_FORMAT) for id in ids]
    before = Server("a.0", "0.1.0", RECORD_FORMAT)

    assert [share_of(one, [*servers, before]) for one in servers] == shares


def test_all_together_ask_less_than_twice_as_often_as_one() -> None:
    servers = [Server(server_id("kind", f"{n:03}"), "0.1.0", 1) for n in range(100)]
    assert sum(1 / share_of(one, servers) for one in servers) < 2
    assert kind_of(["a", "b"], []) == kind_of(["b", "a"], []) != kind_of(["a"], ["b"])


def test_a_duty_falls_here_at_every_so_many_intervals() -> None:
    duties = Duties()
    duties.share = 3
    duty = duties.one()

    found = [duty.falls_here() for _ in range(7)]

    assert found == [False, False, True, False, False, True, False]


async def test_a_sweep_goes_on_at_once_as_long_as_many_are_due(clock: FakeClock) -> None:
    store = MemoryStore(clock.time)
    looks = LookAround(store, {}, _never, _never, mint)
    for number in range(250):
        record = replace(interrupted(), key=replace(KEY, thread=f"t{number}"))
        await put(store, record, interrupts=(ask("i1", expires_at=clock.time() + 1),))
    sweeping = asyncio.ensure_future(
        sweep_forever(store, clock, INTERVAL, mint, looks.take, Duties().one())
    )
    await eventually(lambda: clock.sleepers == 1)

    clock.advance(INTERVAL)
    await eventually(lambda: clock.sleepers == 1)

    assert await store.due() == []
    sweeping.cancel()


def _never(*_: object) -> Any:
    raise AssertionError("nobody begins anything here")


# --- what is to be done is done, whoever dies ---

Case = tuple[Callable[[Store, FakeClock], Awaitable[object]], Callable[[Idle], Awaitable[bool]]]


async def _expires(store: Store, clock: FakeClock) -> None:
    await put(store, interrupted(), interrupts=(ask("i1", expires_at=clock.time() + 1),))


async def _loses_its_process(store: Store, _: FakeClock) -> None:
    await put(store, running(), lease_seconds=0.5)


async def _asks(store: Store, _: FakeClock) -> None:
    await put(store, interrupted(), interrupts=(ask("i1", expires_at=None),))


async def _idle(found: Idle) -> bool:
    record = (await found.stores[-1].load(KEY)).record
    return record is not None and record.status is ThreadStatus.IDLE


async def _told(found: Idle) -> bool:
    return any(one.events for one in found.told)


CASES: dict[str, Case] = {
    "an expired question": (_expires, _idle),
    "a lost run": (_loses_its_process, _idle),
    "a question that nobody was told of": (_asks, _told),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("dead", [0, 1], ids=["nobody dies", "the first dies"])
async def test_what_is_due_is_done_within_three_intervals(
    opened: Opened, case: str, dead: int
) -> None:
    found = await opened(["kind"] * 3)
    becomes_due, done = CASES[case]
    for number in range(dead):
        await found.kill(number)
    await becomes_due(found.stores[-1], found.clock)
    intervals = 0
    while not await done(found):
        intervals += 1
        assert intervals <= 3, "it is left undone"
        await found.pass_on(INTERVAL)

    assert intervals <= (3 if dead else 1)


async def test_the_second_is_the_first_once_that_is_known_to_be_gone(opened: Opened) -> None:
    found = await opened(["kind"] * 3)
    await found.kill()
    await found.pass_on(ALIVE_SECONDS + BEAT_SECONDS)
    found.asked.clear()
    await found.pass_on(12 * INTERVAL)

    assert 12 + 4 - 1 <= found.asked["due"] <= 12 + 4 + 1


async def test_an_agent_that_is_added_makes_another_kind(store: Store, clock: FakeClock) -> None:
    kinds = ["few"]
    duties = Duties()
    presence = Presence(store, clock, "own", (), duties=duties, kind=lambda: kinds[-1])
    await store.servers.note(Server(server_id("few", "0"), "0.1.0", RECORD_FORMAT))
    await presence._beat()
    before = duties.share
    kinds.append("more")
    await presence._beat()

    assert (before, duties.share) == (3, 1)
    noted = {one.id for one in (await store.servers.look()).noted}
    assert noted == {server_id("few", "0"), server_id("more", "own")}


# --- a cluster is asked where there is something to find ---


async def test_a_cluster_is_asked_for_stops_in_the_shards_of_the_runs(
    tmp_path: Path, clock: FakeClock
) -> None:
    cluster = next(one for one in BACKENDS if one.name == "redis-cluster")
    store: Any = await _cluster(cluster, tmp_path, clock)
    calls: list[int] = []
    run_each = store._client.run_each

    async def counted(script: Any, asked: Any) -> Any:
        calls.append(len(asked))
        return await run_each(script, asked)

    await put(store, running(), lease_seconds=LEASE_SECONDS)
    await store.request_stop(KEY, stop())
    store._client.run_each = counted
    own = await store.stops([stop().token])
    of_others = await store.stops(["another's"])
    await store.ping()
    await store.aclose()

    assert [one.token for one in own] == [stop().token]
    assert of_others == []
    # The one of the run; all six; one on each of the three servers. A busy one is asked again.
    assert [count for count, _again in itertools.groupby(calls)] == [1, 6, 3]


async def _cluster(backend: Backend, tmp_path: Path, clock: FakeClock) -> RedisStore:
    store = await backend.open(cluster_url(tmp_path), clock)
    assert isinstance(store, RedisStore)
    return store
