"""A primary dies while three hundred threads are answered, and each client comes again.

What was executed is counted by the tool; docs/failover.md says what holds.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agui_bridge.adapters import Pause, Run, RunItem
from agui_bridge.errors import StoreUnavailable
from agui_bridge.protocol.threads.records import InterruptStatus, ThreadKey
from agui_bridge.stores.open import open_store
from tests.failovers.clusters import redis_cluster
from tests.failovers.test_failovers import pair_of
from tests.support.agents import Bench, Scripted, approval, outcome, result

THREADS = 300
AT_ONCE = 12
BEFORE = 60
"""How many are answered before the replica falls behind."""
LAGS = 0.3
"""Seconds for which the replica gets nothing, until the primary dies."""

SETTINGS = {
    "redis": "",
    "redis cluster": "",
    "redis with wait": "&wait=1&wait_timeout=0.5",
    "postgres": "",
    "synchronous postgres": "&command_timeout=2",
}


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", SETTINGS)
async def test_no_thread_pays_twice_and_no_history_denies_what_was_paid(
    kind: str, tmp_path: Path
) -> None:
    paid, told, refused = Counter[str](), dict[str, str](), Counter[str]()

    async def pay(run: Run) -> AsyncIterator[RunItem]:
        if run.resume is None:
            yield Pause([approval()])
            return
        run.check_lease()
        paid[run.thread_id] += 1
        yield result("c1", f"paid {run.thread_id}")
        await asyncio.sleep(0.1)
        yield "Done."

    servers = (
        redis_cluster() if kind == "redis cluster" else pair_of(kind.split(" with")[0], tmp_path)
    )
    async with servers as pair:
        store = await open_store(pair.url + SETTINGS[kind])
        bench = Bench(Scripted(pay), store=store, lease_seconds=6.0, store_retry=4.0)
        gate, dies = asyncio.Semaphore(AT_ONCE), asyncio.Event()
        asked: dict[str, list[dict[str, str]]] = {}

        async def ask(thread: str) -> None:
            async with gate:
                events = await bench.say("go", threadId=thread, runId=f"ask {thread}")
                asked[thread] = bench.entries(events[-1]["outcome"]["interrupts"])

        async def answer(thread: str, number: int) -> None:
            async with gate:
                if number == BEFORE:
                    dies.set()
                while thread not in told:
                    try:
                        events = await bench.say(messages=[], threadId=thread, resume=asked[thread])
                        told[thread] = outcome(events)
                    except StoreUnavailable:
                        refused[thread] += 1
                        await asyncio.sleep(0.1)

        async def fail_over() -> None:
            await dies.wait()
            pair.lag()
            await asyncio.sleep(LAGS)
            told_before = len(told)
            await pair.fail_over()
            assert told_before < THREADS - AT_ONCE, "it came too late"

        try:
            async with bench.open():
                threads = [f"t{number}" for number in range(THREADS)]
                await asyncio.gather(*map(ask, threads))
                await pair.replicated()
                answers = (answer(thread, number) for number, thread in enumerate(threads))
                await asyncio.gather(fail_over(), *answers)

                assert len(told) == THREADS
                assert set(told.values()) <= {"success", "RUN_INDETERMINATE"}
                assert max(paid.values()) == 1
                for thread in threads:
                    key = ThreadKey("default", bench.agent.name, thread)
                    (entry,) = asked[thread]
                    loaded = await store.load(key, [entry["interruptId"]], messages=True)
                    said = [m.message for m in loaded.messages if m.message["role"] == "tool"]
                    results = [str(message["content"]) for message in said]
                    status = loaded.interrupts[entry["interruptId"]].status
                    where = (thread, told[thread], paid[thread], status, results)
                    if told[thread] == "success":
                        assert paid[thread] == 1, where
                    if paid[thread]:
                        assert "not executed" not in str(results), where
                    if told[thread] == "success" and kind in (
                        "redis with wait",
                        "synchronous postgres",
                    ):
                        assert status is InterruptStatus.RESOLVED, where
                        assert results == [f"paid {thread}"], where
        finally:
            await store.aclose()
    unknown = Counter(told.values())["RUN_INDETERMINATE"]
    print(f"{kind}: {sum(paid.values())} paid, {unknown} unknown, {len(refused)} asked again")
