"""What processes announce to each other: nothing but what somebody in another one waits for."""

from __future__ import annotations

import asyncio
import secrets
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from agui_bridge.adapters import Run, RunItem
from agui_bridge.engine.reconnecting import show_thread
from agui_bridge.protocol.threads.records import lease_token
from agui_bridge.stores import announcements
from agui_bridge.stores.announcements import EVERYBODY, Announcements
from agui_bridge.stores.open import open_store
from agui_bridge.stores.postgres.notifications import digest
from agui_bridge.stores.redis.rows import tag_of
from agui_bridge.stores.redis.scripts.reading import MARK
from tests.stores.older_version import AnnouncingAsBefore
from tests.support.agents import Answering, Bench, Reader, Scripted, approval, outcome, text_events
from tests.support.postgres import emptied
from tests.support.redis_server import cluster_url, redis_url
from tests.support.waiting import eventually

pytestmark = pytest.mark.timeout(120)

STORES: dict[str, Callable[[Path], str]] = {
    "postgres": lambda _: emptied(),
    "redis": redis_url,
    "redis-cluster": cluster_url,
}
SLOW = 20.0
"""Seconds within which a hint has come, however busy the machine; polling is put off for longer."""


@dataclass
class Processes:
    """Several processes on one store.

    Attributes:
        benches: one for each.
        go_on: what the run of each waits for.
        sent: the words that were sent, by kind; `all` are those that everybody hears.
        heard: those that arrived.
    """

    benches: list[Bench] = field(default_factory=list)
    go_on: asyncio.Event = field(default_factory=asyncio.Event)
    sent: Counter[str] = field(default_factory=Counter)
    heard: Counter[str] = field(default_factory=Counter)

    async def held(self, _: Run) -> AsyncIterator[RunItem]:
        """A run that lasts until it is let go on."""
        for item in text_events("m", "I work. "):
            yield item
        await self.go_on.wait()
        yield "Done."

    async def begun(self, at: int = 0) -> Reader:
        """Begin a run that lasts."""
        run = self.benches[at].begin("go")
        await run.until("TEXT_MESSAGE_END")
        return run


@pytest.fixture(params=STORES)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return STORES[request.param](tmp_path)


@pytest.fixture
async def opened(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Callable[..., Awaitable[Processes]]]:
    monkeypatch.setattr(announcements, "KEPT_SECONDS", 2 * SLOW)
    monkeypatch.setattr(announcements, "AGAIN_SECONDS", SLOW)
    async with AsyncExitStack() as stack:

        async def open_many(
            many: int, *, old: tuple[int, ...] = (), asks: bool = False, **settings: Any
        ) -> Processes:
            found, thread = Processes(), secrets.token_hex(4)
            for number in range(many):
                store: Any = await open_store(url)
                stack.push_async_callback(store.aclose)
                if number in old:
                    AnnouncingAsBefore.within(store)
                    await store.servers.note(AnnouncingAsBefore.SERVER)
                adapter = Answering(approval()) if asks else Scripted(found.held)
                bench = Bench(adapter, store=store, thread=thread, stop_poll=SLOW, **settings)
                found.benches.append(await stack.enter_async_context(bench.open()))
                count(store._announcements.get(), found, {digest(bench.KEY), tag_of(bench.KEY)})
            for bench in found.benches:
                await listening(bench.store)
            return found

        yield open_many


async def listening(store: Any) -> None:
    """Wait until a process hears what is announced to it."""
    here = store._announcements.get()
    here.start()
    await eventually(lambda: here.alive)


def count(here: Announcements, found: Processes, mine: set[str]) -> None:
    """Count what a process sends and hears; others may speak to everybody on this database."""
    post: Any = here._post
    tell, own, everybody = post.tell, post._hear_own, post._hear_all

    def counted(process: str, word: str) -> None:
        found.sent["all" if process == EVERYBODY else word[0]] += 1
        tell(process, word)

    def heard(word: str) -> None:
        found.heard[word[0]] += 1
        own(word)

    def heard_by_all(word: str) -> None:
        if word in mine:
            found.heard["all"] += 1
        everybody(word)

    post.tell, post._hear_own, post._hear_all = counted, heard, heard_by_all


async def arrived(found: Processes, kind: str, many: int = 1) -> None:
    await eventually(lambda: found.heard[kind] >= many)


# --- how much is announced ---


async def one_run(found: Processes) -> dict[str, int]:
    """A run that asks, and its answer, in one process."""
    first = found.benches[0]
    assert outcome(await first.say(resume=first.entries(await first.ask()))) == "success"
    return {}


async def one_run_in_two(found: Processes) -> dict[str, int]:
    """A run that asks, and its answer to another process."""
    first, *_, last = found.benches
    assert outcome(await last.say(resume=last.entries(await first.ask()))) == "success"
    return {}


async def a_stop(found: Processes) -> dict[str, int]:
    """A stop by another process than the one that runs the thread."""
    run = await found.begun()
    async with asyncio.timeout(SLOW):
        stopped = await found.benches[-1].engine.stop(found.benches[0].KEY)
    assert stopped.status == "success"
    assert outcome(await run.rest()) == "cancelled"
    return {"s": 1, "e": 1}


async def a_message(found: Processes) -> dict[str, int]:
    """A message to another process, which waits for the run to end and is a run then."""
    first = await found.begun()
    second = found.benches[-1].begin("go", "and then?")
    await arrived(found, "i")
    found.go_on.set()
    assert outcome(await first.rest()) == outcome(await second.rest()) == "success"
    return {"i": 1, "e": 1}


async def followers(found: Processes) -> dict[str, int]:
    """A reader in every other process."""
    run = await found.begun()
    others = found.benches[1:]
    readers = [Reader(*show_thread(b.engine, b.call(runId="mine"))) for b in others for _ in "ab"]
    reading = [asyncio.ensure_future(reader.rest()) for reader in readers]
    await arrived(found, "i", len(others))
    found.go_on.set()
    await run.rest()
    assert {outcome(events) for events in await asyncio.gather(*reading)} == {"success"}
    return {"i": len(others), "e": len(others)}


CASES = {case.__name__: case for case in (one_run, one_run_in_two, a_stop, a_message, followers)}


@pytest.mark.parametrize("many", [2, 4, 8])
@pytest.mark.parametrize("case", CASES)
async def test_nobody_hears_what_is_none_of_their_business(
    case: str, many: int, opened: Callable[..., Awaitable[Processes]]
) -> None:
    found = await opened(many, asks=case.startswith("one_run"), busy_patience=SLOW)
    expected = await CASES[case](found)
    # What is on its way by now comes before this.
    name = found.benches[0].store.process
    for bench in found.benches[1:]:
        store: Any = bench.store
        store._announcements.get()._post.tell(name, "zzz")
    await arrived(found, "z", many - 1)
    sent, heard = ({k: n for k, n in c.items() if k != "z"} for c in (found.sent, found.heard))

    assert (sent, heard) == (expected, expected)


# --- that it is announced in time ---


async def test_who_is_told_of_a_run_that_is_over_answers_at_once(
    opened: Callable[..., Awaitable[Processes]],
) -> None:
    found = await opened(2)
    here: Any = found.benches[0].store
    there: Any = found.benches[1].store
    token = lease_token(here.process, "over")
    told = announcements.Interests(there.process).look("t", token, 0.0)
    assert told is not None
    there._announcements.get()._post.tell(told.to, told.word)

    await arrived(found, "e")
    assert found.sent == {"i": 1, "e": 1}


@pytest.mark.soak
async def test_who_is_to_be_told_by_the_owner_polls_for_nothing_between_its_looks(
    opened: Callable[..., Awaitable[Processes]],
) -> None:
    found = await opened(2)
    run = await found.begun()
    other = found.benches[1]
    store: Any = other.store
    here, names = store._announcements.get(), (digest(other.KEY), tag_of(other.KEY))
    asked: Counter[str] = Counter()
    polled = "_run" if hasattr(store, "_run") else "run"
    of = store if polled == "_run" else store._client
    ask, load, mark = getattr(of, polled), store.load, getattr(store, "_statements", MARK)

    async def asking(what: Any, *arguments: Any, **options: Any) -> Any:
        asked["mark"] += what is getattr(mark, "mark", MARK)
        return await ask(what, *arguments, **options)

    async def loading(*arguments: Any, **options: Any) -> Any:
        asked["load"] += 1
        return await load(*arguments, **options)

    setattr(of, polled, asking)
    store.load = loading
    reading = asyncio.ensure_future(
        Reader(*show_thread(other.engine, other.call(runId="mine"))).rest()
    )
    await eventually(lambda: any(map(here.hears_of, names)))
    before = asked["load"]
    await eventually(lambda: asked["load"] > before)
    asked.clear()
    await eventually(lambda: asked["load"] == 2)
    marks = asked["mark"]
    found.go_on.set()
    await run.rest()

    assert marks == 0
    assert outcome(await reading) == "success"


# --- beside the version before ---


@pytest.mark.parametrize("old", [(0,), (1,)], ids=["an-old-one-runs", "an-old-one-asks"])
@pytest.mark.parametrize("case", ["a_stop", "a_message", "followers", "one_run_in_two"])
async def test_beside_the_version_before_each_hears_the_other(
    case: str, old: tuple[int, ...], opened: Callable[..., Awaitable[Processes]]
) -> None:
    asks = case == "one_run_in_two"
    found = await opened(2, old=old, asks=asks, busy_patience=SLOW)
    if case in ("a_stop", "one_run_in_two"):
        # On PostgreSQL that version hears of a stop by looking only; here all look seldom.
        for bench in found.benches:
            bench.engine._stops._poll = 0.1
        await CASES[case](found)
        await arrived(found, "all")
        return
    run = await found.begun()
    other = found.benches[1]
    if case == "a_message":
        waiting = other.begin("go", "and then?")
    else:
        waiting = Reader(*show_thread(other.engine, other.call(runId="mine")))
    reading = asyncio.ensure_future(waiting.rest())
    await asyncio.sleep(0.1)
    found.go_on.set()
    await run.rest()
    assert outcome(await reading) == "success"
    await arrived(found, "all")


async def test_a_server_of_the_version_before_is_spoken_to_until_it_is_gone(
    opened: Callable[..., Awaitable[Processes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = await opened(2, asks=True)
    store: Any = found.benches[0].store
    await store.servers.note(AnnouncingAsBefore.SERVER)
    await one_run(found)
    await arrived(found, "all")
    await store.servers.forget(AnnouncingAsBefore.SERVER.id)
    monkeypatch.setattr(announcements, "LOOK_SECONDS", 0.0)
    found.sent.clear()
    await found.benches[0].say("go", "again")
    await eventually(lambda: store._announcements.get()._looking is None)

    assert found.sent == {}
