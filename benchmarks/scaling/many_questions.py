"""What the work on questions costs when many wait, beside the same where few do.

    python -m benchmarks.scaling.many_questions [--stores PostgreSQL Redis] [--few N] [--many N]

Both stores are on one server of our own, filled in the store's own form
(`benchmarks.scaling.cloning`), and
are asked in turn. A row has the median time of each on the clock, and the median of their ratios.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import functools
import itertools
import statistics
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import redis

from agui_bridge import Bridge, Settings
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.records import InterruptStatus, ThreadKey
from agui_bridge.stores.base import (
    ABSENT,
    Expected,
    Place,
    QuestionFilter,
)
from agui_bridge.stores.redis.rows import Keys
from benchmarks.contenders.own_servers import own_database, own_redis, query
from benchmarks.contenders.process import Server
from benchmarks.measuring.load import drive
from benchmarks.measuring.resuming import answering, approving, asking
from benchmarks.scaling.cloning import (
    SPACING,
    change_of,
    clone_in_postgres,
    clone_in_redis,
    name_of,
)

DAY = 86_400.0
OPEN = InterruptStatus.OPEN
SCOPE, AGENT = "default", "ask"
RARE = 20
"""Questions of another agent about another tool, the newest of all."""

IDLE = 2_000
"""Threads that have ended, touched later than those that wait."""

Work = Callable[[], Awaitable[object]]


class Filled:
    """A store with questions in it.

    Args:
        url: of the store.
        questions: how many wait.
    """

    def __init__(self, url: str, questions: int) -> None:
        self.url = url
        self.questions = questions
        self._answered = itertools.count()

    async def fill(self) -> None:
        """Write the threads."""
        with contextlib.closing(Server("bridge", "--store", self.url)) as server:
            server.await_start()
            drive(server.port, [asking("asked"), approving("done")])
        bridge = Bridge(self.url, settings=Settings(sweep_interval=0))
        store = (await bridge.open()).store
        asked = await store.load(ThreadKey(SCOPE, AGENT, "asked"), messages=True)
        done = await store.load(ThreadKey(SCOPE, AGENT, "done"), messages=True)
        await store.delete(_key(asked), _expected(asked))
        asks = {id: replace(a, expires_at=asked.now + DAY) for id, a in asked.interrupts.items()}
        asked = replace(asked, interrupts=asks)
        key = ThreadKey(SCOPE, AGENT, "many-template")
        await store.commit(key, change_of(asked), ABSENT, "template")
        for id in asks:
            await store.deliveries.plan((key, id))
        span = 30 * DAY
        await asyncio.to_thread(self._copy, key, asked, "many", self.questions, 2 * span, told=True)
        await asyncio.to_thread(self._copy, _key(done), done, "done", IDLE, 1.5 * span, told=False)
        for number in range(RARE):
            change = change_of(asked)
            rare = tuple(
                replace(ask, tool_call=replace(ask.tool_call, name="rare_tool"))
                for ask in change.interrupts
                if ask.tool_call is not None
            )
            other = ThreadKey(SCOPE, "rare", name_of("rare", number))
            await store.commit(other, replace(change, interrupts=rare), ABSENT, "rare")
        await bridge.aclose()

    def _copy(
        self, key: ThreadKey, loaded: Loaded, kind: str, count: int, age: float, *, told: bool
    ) -> None:
        address, _, option = self.url.partition("?")
        name = option.partition("=")[2]
        if address.startswith("redis"):
            clone_in_redis(address, Keys(name, 1), loaded, kind, count, age, told=told)
        else:
            clone_in_postgres(address, name, key, kind, count, age)

    @contextlib.asynccontextmanager
    async def works(self) -> Any:
        """What is measured, by name."""
        bridge = Bridge(self.url, settings=Settings(sweep_interval=0))
        store = (await bridge.open()).store

        def some(after: Place | None = None, **which: str) -> Any:
            only = QuestionFilter(**which, status=OPEN)
            return functools.partial(store.list_interrupts, SCOPE, only, after=after, limit=51)

        first = await some()()
        middle = replace(
            first[0], raised_at=first[0].raised_at + self.questions // 2 * SPACING
        ).place
        page = await bridge.pending()
        assert len(page.rows) == 50, "the store is not filled"
        with contextlib.closing(Server("bridge", "--store", self.url)) as server:
            server.await_start()
            drive(server.port, [asking("warm")])

            async def answer() -> None:
                thread = name_of("many", self.questions // 3 + next(self._answered))
                ids = [row.interrupt.id for row in first[:1]]
                await asyncio.to_thread(drive, server.port, [answering(thread, ids[0])])

            yield {
                "page of the inbox": bridge.pending,
                "page of the inbox, mine": functools.partial(bridge.pending, mine=True),
                "list: first page": some(),
                "list: from the middle": some(middle),
                f"list: of an agent with {RARE}": some(agent="rare"),
                f"list: of a tool with {RARE}": some(tool="rare_tool"),
                "list: of one thread": some(thread=name_of("many", 500)),
                "list of threads": functools.partial(store.list_threads, SCOPE, AGENT, limit=50),
                "answer, by HTTP": answer,
                "sweep: what is due": store.due,
                "prune: 500 found": functools.partial(
                    store.prune, 30 * DAY, limit=500, dry_run=True
                ),
                "prune: 50 deleted": functools.partial(store.prune, 30 * DAY, limit=50),
                "channels: what is new": store.deliveries.unannounced,
                "channels: what is over": store.deliveries.over,
            }
        await bridge.aclose()


def _key(loaded: Loaded) -> ThreadKey:
    assert loaded.record is not None
    return loaded.record.key


def _expected(loaded: Loaded) -> Expected:
    assert loaded.record is not None
    return Expected(version=loaded.record.version)


@contextlib.contextmanager
def _addresses(store: str) -> Iterator[tuple[str, str]]:
    if store == "Redis":
        with own_redis() as url:
            yield f"{url}?prefix=few", f"{url}?prefix=many"
    else:
        with own_database() as dsn:
            yield f"{dsn}?schema=few", f"{dsn}?schema=many"


async def _timed(work: Work) -> float:
    began = time.perf_counter()
    await work()
    return time.perf_counter() - began


async def _compare(
    few: Filled, many: Filled, rounds: int, only: str
) -> dict[str, list[tuple[float, float]]]:
    took: dict[str, list[tuple[float, float]]] = {}
    async with few.works() as a, many.works() as b:
        for number in range(-1, rounds):
            for name in (name for name in a if only in name):
                pair = (await _timed(a[name]), await _timed(b[name]))
                if number >= 0:
                    took.setdefault(name, []).append(pair)
    return took


def _size(store: str, url: str) -> str:
    address = url.partition("?")[0]
    if store == "Redis":
        with redis.Redis.from_url(address) as client:
            return f"{client.info('memory')['used_memory'] / 2**20:.0f} MB of memory"
    ((size,),) = query(address, "SELECT pg_database_size(current_database())")
    return f"{size / 2**20:.0f} MB on the disk"


def _show(store: str, took: Mapping[str, list[tuple[float, float]]]) -> None:
    for name, pairs in took.items():
        few, many = (statistics.median(times) * 1_000 for times in zip(*pairs, strict=True))
        ratio = statistics.median(many / few for few, many in pairs)
        print(f"| {store} | {name} | {few:.1f} | {many:.1f} | {ratio:.2f}× |", flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    """Fill, measure, print a table, and leave nothing behind."""
    parser = argparse.ArgumentParser(description="Few questions beside many.")
    parser.add_argument("--stores", nargs="+", default=["PostgreSQL", "Redis"])
    parser.add_argument("--few", type=int, default=1_000)
    parser.add_argument("--many", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--only", default="", metavar="WORDS", help="rows with these words")
    options = parser.parse_args(arguments)
    print(f"| store | what | ms at {options.few} | ms at {options.many} | ratio |")
    print("|---|---|---|---|---|")
    for store in options.stores:
        with _addresses(store) as (one, other):
            few, many = Filled(one, options.few), Filled(other, options.many)
            began = time.monotonic()
            for filled in (few, many):
                asyncio.run(filled.fill())
            if store == "PostgreSQL":
                query(one.partition("?")[0], "VACUUM ANALYZE")
            seconds = time.monotonic() - began
            print(f"{store}: {_size(store, one)}, filled in {seconds:.0f} s", flush=True)
            _show(store, asyncio.run(_compare(few, many, options.rounds, options.only)))


if __name__ == "__main__":
    main()
