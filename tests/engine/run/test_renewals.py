"""Leases that are renewed together: one call of the store, and each run's own consequence."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

from agui_bridge.adapters import Run, RunItem
from agui_bridge.engine.telemetry import present_run
from agui_bridge.protocol.threads.records import ThreadKey
from agui_bridge.stores.base import Change, Expected
from tests.engine.run.hooked import HookedStore
from tests.support.agents import Bench, Reader, Scripted, outcome, pass_time, settle, text_events
from tests.support.clock import FakeClock

THREADS = ["a", "b", "c"]


class Quiet:
    """Runs that say one thing and then nothing until `release` is set."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.store = HookedStore(self.clock.time)
        self.release = asyncio.Event()
        self.bench = Bench(Scripted(self._script), store=self.store, clock=self.clock)

    async def _script(self, run: Run) -> AsyncIterator[RunItem]:
        yield "x"
        await self.release.wait()

    async def begin(self) -> dict[str, Reader]:
        readers = {thread: self.bench.begin("go", threadId=thread) for thread in THREADS}
        for reader in readers.values():
            await reader.until("TEXT_MESSAGE_CONTENT")
        return readers

    async def take_over(self, thread: str) -> None:
        """Have somebody else own a thread that is running here."""
        key = ThreadKey("default", "agent", thread)
        record = (await self.store.load(key)).record
        assert record is not None and record.run is not None
        taken = replace(record, run=replace(record.run, token="another's"))
        change = Change(taken, lease_seconds=1000.0)
        await self.store.commit(key, change, Expected(version=record.version), "taken over")


async def test_leases_of_many_runs_are_renewed_in_one_call() -> None:
    quiet = Quiet()
    readers = await quiet.begin()
    await pass_time(quiet.clock, 60)
    assert 4 <= len(quiet.store.renewals) <= 6
    assert all(len(tokens) == len(THREADS) for tokens in quiet.store.renewals)
    quiet.release.set()
    assert [outcome(await reader.rest()) for reader in readers.values()] == ["success"] * 3


async def test_only_the_run_whose_lease_is_anothers_ends_as_indeterminate() -> None:
    quiet = Quiet()
    readers = await quiet.begin()
    await quiet.take_over("b")
    await pass_time(quiet.clock, 12)
    assert outcome(await readers["b"].rest()) == "RUN_INDETERMINATE"
    await pass_time(quiet.clock, 60)
    quiet.release.set()
    assert outcome(await readers["a"].rest()) == "success"
    assert outcome(await readers["c"].rest()) == "success"


async def test_a_store_that_is_back_in_time_renews_all_leases() -> None:
    quiet = Quiet()
    readers = await quiet.begin()
    quiet.store.down = True
    await pass_time(quiet.clock, 20)
    quiet.store.down = False
    await pass_time(quiet.clock, 60)
    quiet.release.set()
    assert [outcome(await reader.rest()) for reader in readers.values()] == ["success"] * 3


async def test_runs_whose_leases_can_not_be_renewed_stop_before_these_end() -> None:
    quiet = Quiet()
    readers = await quiet.begin()
    quiet.store.down = True
    await pass_time(quiet.clock, 28)
    ended = [asyncio.create_task(reader.rest()) for reader in readers.values()]
    await settle()
    quiet.store.down = False
    assert [outcome(await rest) for rest in ended] == ["RUN_INDETERMINATE"] * 3


async def test_a_run_that_ends_while_its_lease_is_renewed_is_not_lost() -> None:
    quiet = Quiet()
    asked, go = asyncio.Event(), asyncio.Event()

    async def slow() -> None:
        asked.set()
        await go.wait()

    quiet.store.before_renewal = slow
    readers = await quiet.begin()
    await pass_time(quiet.clock, 12)
    assert asked.is_set()
    quiet.release.set()
    assert [outcome(await reader.rest()) for reader in readers.values()] == ["success"] * 3
    go.set()
    await settle()
    for thread in THREADS:
        record = (await quiet.store.load(ThreadKey("default", "agent", thread))).record
        assert record is not None and record.ended is not None
        assert record.ended.outcome == "finished"


async def test_a_run_that_has_something_to_store_renews_its_lease_with_that() -> None:
    quiet = Quiet()
    written = asyncio.Event()

    async def script(run: Run) -> AsyncIterator[RunItem]:
        yield "x"
        await written.wait()
        for item in text_events("m", "finished"):
            yield item
        await quiet.release.wait()

    bench = Bench(Scripted(script), store=quiet.store, clock=quiet.clock)
    reader = bench.begin("go")
    await reader.until("TEXT_MESSAGE_CONTENT")
    await pass_time(quiet.clock, 9)
    written.set()
    await pass_time(quiet.clock, 9)
    assert len(quiet.store.commits) == 2 and quiet.store.renewals == []
    quiet.release.set()
    assert outcome(await reader.rest()) == "success"


async def test_what_is_written_for_a_run_is_written_in_its_own_context() -> None:
    quiet = Quiet()
    seen: list[str] = []

    async def note(change: object) -> None:
        ids = present_run()
        assert ids is not None
        seen.append(ids.thread)

    async def script(run: Run) -> AsyncIterator[RunItem]:
        for item in text_events(f"m-{run.thread_id}", "finished"):
            yield item
        await quiet.release.wait()

    bench = Bench(Scripted(script), store=quiet.store, clock=quiet.clock)
    readers = {thread: bench.begin("go", threadId=thread) for thread in THREADS}
    for reader in readers.values():
        await reader.until("TEXT_MESSAGE_END")
    quiet.store.before = note
    await pass_time(quiet.clock, 2)
    assert sorted(seen) == THREADS
    quiet.release.set()
    for reader in readers.values():
        await reader.rest()
