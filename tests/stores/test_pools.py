"""One process with many threads shares the few connections of its pool."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from agui_bridge.adapters import Pause, Run, RunItem
from agui_bridge.stores.open import open_store
from tests.support.agents import Bench, Reader, Scripted, approval, outcome
from tests.support.postgres import execute, new_schema, server, with_schema
from tests.support.redis_server import RedisServer

pytestmark = [pytest.mark.soak, pytest.mark.timeout(900)]

CONNECTIONS = 10
PAUSED, RUNNING, ANSWERED = 2_000, 500, 50
AT_ONCE = 40
LEASE_SECONDS = 30.0
NAME = "agui_pool_test"


@dataclass(frozen=True)
class Pool:
    """A store with few connections.

    Attributes:
        url: its address.
        count: gives how many connections there are.
    """

    url: str
    count: Callable[[], int]


def of_postgres() -> int:
    query = f"SELECT count(*) FROM pg_stat_activity WHERE application_name = '{NAME}'"
    ((row,),) = execute(server().dsn, query)
    return int(row["count"])


def of_redis(redis: RedisServer) -> int:
    with redis.client() as client:
        return sum(one["name"] == "agui-bridge" for one in client.client_list())


@pytest.fixture(params=["postgresql", "redis"])
def pool(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Pool]:
    if request.param == "redis":
        with RedisServer(tmp_path) as redis:
            url = f"{redis.url}?connections={CONNECTIONS}&timeout=60"
            yield Pool(url, lambda: of_redis(redis))
    else:
        with new_schema() as schema:
            url = with_schema(server().dsn, schema)
            url = f"{url}&pool_size={CONNECTIONS}&command_timeout=60&application_name={NAME}"
            yield Pool(url, of_postgres)


async def test_ten_connections_carry_two_thousand_paused_and_five_hundred_running_threads(
    pool: Pool,
) -> None:
    go_on = asyncio.Event()
    executed: list[str] = []

    async def act(run: Run) -> AsyncIterator[RunItem]:
        if run.thread_id.startswith("running"):
            yield "I work. "
            await go_on.wait()
            yield "Done."
        elif run.resume is None:
            yield Pause([approval()], {})
        else:
            executed.append(run.thread_id)
            yield "Done."

    store = await open_store(pool.url)
    bench = Bench(Scripted(act), store=store, stop_poll=0.5, lease_seconds=LEASE_SECONDS)
    slots, most = asyncio.Semaphore(AT_ONCE), 0

    async def watch() -> None:
        nonlocal most
        while True:
            most = max(most, await asyncio.to_thread(pool.count))
            await asyncio.sleep(0.5)

    async def ask(number: int) -> str:
        async with slots:
            events = await bench.say("go", threadId=f"paused-{number}")
        assert outcome(events) == "interrupt", events[-1]
        found: str = events[-1]["outcome"]["interrupts"][0]["id"]
        return found

    async def begin(number: int) -> Reader:
        async with slots:
            reader = bench.begin("go", threadId=f"running-{number}")
            await reader.until("TEXT_MESSAGE_CONTENT")
        return reader

    async def answer(number: int, interrupt: str) -> str:
        async with slots:
            entries = bench.entries([{"id": interrupt}])
            return outcome(await bench.say(threadId=f"paused-{number}", resume=entries))

    async with contextlib.AsyncExitStack() as stack:
        stack.push_async_callback(store.aclose)
        watching = asyncio.create_task(watch())
        stack.callback(watching.cancel)
        await stack.enter_async_context(bench.open())
        asked = await asyncio.gather(*map(ask, range(PAUSED)))
        readers = await asyncio.gather(*map(begin, range(RUNNING)))
        # Each lease is renewed at least once meanwhile, and none is lost.
        await asyncio.sleep(LEASE_SECONDS / 2)
        answers = [answer(number, asked[number]) for number in range(ANSWERED)]
        assert await asyncio.gather(*answers) == ["success"] * ANSWERED
        assert len(bench.engine.running) == RUNNING
        go_on.set()
        ends = [outcome(await reader.rest()) for reader in readers]
        assert not watching.done()
        assert await store.count_interrupts("default") == PAUSED

    assert ends == ["success"] * RUNNING
    assert sorted(executed) == sorted(f"paused-{number}" for number in range(ANSWERED))
    # The one that listens is beside them.
    assert 1 < most <= CONNECTIONS + 1
