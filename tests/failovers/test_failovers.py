"""Failovers of real servers: what is executed, what is told, and what the history says then.

The executions are counted by the tool itself. docs/failover.md says what holds, by store and
setting.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agui_bridge.adapters import Pause, Run, RunItem
from agui_bridge.errors import StoreUnavailable
from agui_bridge.protocol.threads.records import InterruptStatus
from agui_bridge.stores.base import Store
from agui_bridge.stores.open import open_store
from tests.failovers.pairs import Pair, PostgresPair, postgres_pair, redis_pair, until
from tests.support.agents import Bench, Reader, Scripted, approval, outcome, result

pytestmark = pytest.mark.timeout(240)


class Paying(Scripted):
    """Asks, pays once it may, and says its last words once it is told to.

    Attributes:
        paid: how often the tool was executed.
        before: awaited before it is.
    """

    def __init__(self) -> None:
        super().__init__(self._script)
        self.paid = 0
        self.before: Any = None
        self.go = asyncio.Event()

    async def _script(self, run: Run) -> AsyncIterator[RunItem]:
        if run.resume is None:
            yield Pause([approval()])
            return
        if self.before is not None:
            await self.before()
        run.check_lease()
        self.paid += 1
        yield result("c1", f"paid {self.paid}")
        await self.go.wait()
        yield "Done."


@dataclass
class Scene:
    """An agent that has asked, on a store with a replica."""

    pair: Any
    agent: Paying
    bench: Bench
    asked: str

    def answer(self) -> Reader:
        """Begin to approve."""
        return self.bench.begin(resume=self.bench.entries([{"id": self.asked}]))

    async def stand_still(self) -> None:
        """Have the replica lack what is written from now on."""
        await self.pair.replicated()
        self.pair.link.stall()

    async def again(self) -> str:
        """Approve once more, as soon as the store answers; how that ended."""
        while True:
            try:
                return outcome(await self.answer().rest())
            except StoreUnavailable:
                await asyncio.sleep(0.1)

    async def status(self) -> InterruptStatus:
        loaded = await self.bench.load(self.asked)
        return loaded.interrupts[self.asked].status

    async def told_of_the_call(self) -> list[str]:
        """What the history says of it."""
        messages = [row.message for row in (await self.bench.load()).messages]
        return [m["content"] for m in messages if m["role"] == "tool"]


@asynccontextmanager
async def scene(pair: Pair, options: str = "", **settings: Any) -> AsyncIterator[Scene]:
    store: Store = await open_store(pair.url + options)
    agent = Paying()
    bench = Bench(agent, store=store, **settings)
    try:
        async with bench.open():
            (ask,) = await bench.ask()
            yield Scene(pair, agent, bench, ask["id"])
    finally:
        await store.aclose()


@asynccontextmanager
async def pair_of(kind: str, folder: Path) -> AsyncIterator[Pair]:
    if kind == "redis":
        async with redis_pair(folder) as redis:
            yield redis
    else:
        async with postgres_pair(synchronous=kind == "synchronous postgres") as postgres:
            yield postgres


# --- a result that the replica lacks ---


@pytest.mark.soak
@pytest.mark.parametrize(
    ("kind", "options"),
    [("redis", ""), ("redis", "&wait=1"), ("postgres", "")],
    ids=["redis", "redis with wait", "postgres"],
)
async def test_a_result_that_was_told_is_in_the_history_after_a_failover(
    kind: str, options: str, tmp_path: Path
) -> None:
    async with pair_of(kind, tmp_path) as pair, scene(pair, options) as it:
        it.agent.before = it.stand_still
        reader = it.answer()
        await reader.until("TOOL_CALL_RESULT")
        await pair.fail_over()
        it.agent.go.set()
        assert outcome(await reader.rest()) == "success"

        assert await it.status() is InterruptStatus.RESOLVED
        assert await it.told_of_the_call() == ["paid 1"]
        assert await it.again() == "success"
        assert it.agent.paid == 1


# --- a claim that the replica lacks ---


@pytest.mark.soak
@pytest.mark.parametrize("kind", ["redis", "postgres"])
async def test_a_claim_that_was_lost_while_its_run_lives_is_not_executed_again(
    kind: str, tmp_path: Path
) -> None:
    async with pair_of(kind, tmp_path) as pair, scene(pair, lease_seconds=6.0) as it:
        await it.stand_still()
        reader = it.answer()
        await reader.until("TOOL_CALL_RESULT")
        await pair.fail_over()
        it.agent.go.set()
        assert outcome(await reader.rest()) == "RUN_INDETERMINATE"

        assert await it.status() is InterruptStatus.RESOLVED
        assert await it.told_of_the_call() == ["paid 1"]
        assert await it.again() == "RUN_INDETERMINATE"
        assert it.agent.paid == 1


async def cut_off_by_time(it: Scene) -> None:
    """The driver gives up waiting."""


async def cancelled(it: Scene) -> None:
    """Somebody cancels the wait: the COMMIT then says that all is well."""
    await _each_that_waits(it.pair, "pg_cancel_backend")


async def terminated(it: Scene) -> None:
    """Somebody ends the session."""
    await _each_that_waits(it.pair, "pg_terminate_backend")


async def restarted(it: Scene) -> None:
    """The primary is restarted, and has the claim."""
    if isinstance(it.pair, PostgresPair):
        await until(it.pair.waiting, "nothing waits for the standby")
    await it.pair.restart()


async def _each_that_waits(pair: PostgresPair, what: str) -> None:
    await until(pair.waiting, "nothing waits for the standby")
    for (pid,) in await pair.waiting():
        await pair.execute(f"SELECT {what}({pid})")


@pytest.mark.soak
@pytest.mark.parametrize(
    ("kind", "harm"),
    [
        ("redis", cut_off_by_time),
        ("redis", restarted),
        ("synchronous postgres", cut_off_by_time),
        ("synchronous postgres", cancelled),
        pytest.param("synchronous postgres", terminated, marks=pytest.mark.soak),
        pytest.param("synchronous postgres", restarted, marks=pytest.mark.soak),
    ],
)
async def test_a_claim_that_is_not_known_to_be_replicated_executes_nothing(
    kind: str, harm: Any, tmp_path: Path
) -> None:
    options = "&wait=1&wait_timeout=0.3" if kind == "redis" else "&command_timeout=2"
    async with pair_of(kind, tmp_path) as pair, scene(pair, options, store_retry=4.0) as it:
        it.agent.go.set()
        await it.stand_still()
        first = asyncio.ensure_future(it.answer().rest())
        await harm(it)
        with pytest.raises(StoreUnavailable):
            await first
        assert it.agent.paid == 0

        await pair.fail_over()
        assert await it.again() == "success"
        assert it.agent.paid == 1
        assert await it.told_of_the_call() == ["paid 1"]


@pytest.mark.soak
@pytest.mark.parametrize("kind", ["redis", "synchronous postgres"])
async def test_an_answer_that_was_given_back_is_taken_once_the_replica_is_there_again(
    kind: str, tmp_path: Path
) -> None:
    options = "&wait=1&wait_timeout=0.3" if kind == "redis" else "&command_timeout=1"
    async with pair_of(kind, tmp_path) as pair, scene(pair, options, store_retry=1.0) as it:
        it.agent.go.set()
        await it.stand_still()
        with pytest.raises(StoreUnavailable):
            await it.answer().rest()
        pair.link.go_on()

        assert await it.again() == "success"
        assert it.agent.paid == 1


# --- an end that the replica lacks ---


@pytest.mark.soak
@pytest.mark.parametrize("kind", ["redis", "synchronous postgres"])
async def test_an_end_that_is_not_known_to_be_replicated_is_not_told(
    kind: str, tmp_path: Path
) -> None:
    options = "&wait=1&wait_timeout=0.3" if kind == "redis" else "&command_timeout=1"
    quick = {"store_retry": 2.0, "lease_seconds": 6.0}
    async with pair_of(kind, tmp_path) as pair, scene(pair, options, **quick) as it:
        reader = it.answer()
        await reader.until("TOOL_CALL_RESULT")
        await it.stand_still()
        it.agent.go.set()
        assert outcome(await reader.rest()) == "RUN_INDETERMINATE"

        await pair.fail_over()
        assert await it.again() in ("RUN_INDETERMINATE", "success")
        assert it.agent.paid == 1
        assert "not executed" not in str(await it.told_of_the_call())
