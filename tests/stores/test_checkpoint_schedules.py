"""Random schedules of runs with checkpoints: processes die anywhere, and all else happens at once.

What acts did is counted outside of the store.
"""

from __future__ import annotations

import asyncio
import os
import random
from collections import Counter
from collections.abc import AsyncIterator, Coroutine
from dataclasses import dataclass
from typing import Any

import pytest

from agui_bridge import FunctionRun
from agui_bridge.agents.function.adapter import FunctionAdapter
from agui_bridge.agents.function.checkpoints import idempotency_key
from agui_bridge.engine.engine import mint
from agui_bridge.engine.recovery import sweep
from agui_bridge.protocol.threads.records import InterruptStatus, ThreadStatus
from agui_bridge.stores.base import QuestionFilter, Store
from tests.stores.conftest import Opener
from tests.support.agents import Bench
from tests.support.clock import FakeClock
from tests.support.mortal import Mortal

LEASE = 30.0
MANY = int(os.environ.get("SCHEDULES", "50"))


@dataclass(frozen=True)
class Act:
    """One act of a run.

    Attributes:
        idempotent: whether it may begin again.
        gated: whether people are asked first.
        sleeps: whether the run sleeps first.
        kills: whether it kills its process, each time.
    """

    number: int
    idempotent: bool
    gated: bool
    sleeps: bool
    kills: bool


class Process:
    """A process that may die."""

    def __init__(self, schedule: Schedule, store: Store, clock: FakeClock, thread: str) -> None:
        self.mortal, mortal = Mortal.store(store)
        self.schedule = schedule
        self.dies_in_act = False
        self.bench = Bench(
            FunctionAdapter(self.agent), store=mortal, clock=clock, thread=thread, checkpoint="step"
        )

    async def agent(self, run: FunctionRun) -> AsyncIterator[str]:
        for act in self.schedule.plan:
            yield f"{act.number} "
            if act.sleeps:
                await run.sleep(60)
            if act.gated:
                approval = await run.approve(f"act{act.number}", {"number": act.number})
                if approval:
                    await run.tool(approval, self.act, idempotent=act.idempotent)
            elif act.number % 2:
                args = {"number": act.number}
                await run.call(f"act{act.number}", args, self.act, idempotent=act.idempotent)
            else:
                await run.step("act", self.act, act.number, idempotent=act.idempotent)
        yield "done"

    async def act(self, number: int) -> str:
        self.schedule.did[number, idempotency_key()] += 1
        if self.dies_in_act or self.schedule.plan[number].kills:
            self.schedule.killed += self.schedule.plan[number].kills
            await self.mortal.die()
        return f"did {number}"


class Schedule:
    """One thread in several processes, and what happens to it at random."""

    def __init__(self, seed: int, stores: list[Store], clock: FakeClock, thread: str) -> None:
        self.chance = random.Random(seed)
        chance = self.chance
        number = chance.choice((2, 3, 5))
        poison = chance.randrange(number) if chance.random() < 0.15 else None
        self.plan = [
            Act(n, chance.random() < 0.4, chance.random() < 0.3, chance.random() < 0.2, n == poison)
            for n in range(number)
        ]
        self.stores, self.clock, self.thread = stores, clock, thread
        self.did: Counter[tuple[int, str | None]] = Counter()
        self.killed = self.stops = 0
        self.made: list[Process] = []
        self.alive = [self._process(store) for store in stores]

    def _process(self, store: Store) -> Process:
        self.made.append(Process(self, store, self.clock, self.thread))
        return self.made[-1]

    async def run(self) -> None:
        await self._all([self._do(self.alive[0], self.alive[0].bench.say("go"))])
        for _ in range(self.chance.choice((4, 8, 12))):
            self.clock.advance(self.chance.choice((0.5, 5.0, LEASE, 40.0, 70.0)))
            happening = [self._something() for _ in range(self.chance.randint(1, 3))]
            await self._all(happening)
        for process in self.made:
            process.mortal.dies_at, process.dies_in_act = None, False
        for _ in range(40):
            self._replace_dead()
            self.clock.advance(LEASE + 70.0)
            process = self.alive[-1]
            await self._all([self._do(process, self._sweep(process.bench))])
            await self._all([self._do(process, self._answer(process.bench, approve=True))])
            if (await self.look()).status is ThreadStatus.IDLE:
                break

    async def look(self) -> Any:
        return await self.stores[0].load(self.made[0].bench.KEY, messages=True)

    def _replace_dead(self) -> None:
        for at, process in enumerate(self.alive):
            if process.mortal.dead:
                self.alive[at] = self._process(self.stores[at])

    def _something(self) -> Coroutine[Any, Any, None]:
        self._replace_dead()
        process = self.chance.choice(self.alive)
        bench = process.bench
        match self.chance.choice(("die", "die", "die at act", "sweep", "sweep", "say", "answer")):
            case "die":
                process.mortal.dies_at = process.mortal.commits + self.chance.randint(1, 6)
                process.mortal.written = self.chance.random() < 0.5
            case "die at act":
                process.dies_in_act = True
            case "say":
                return self._do(process, bench.say(f"m{self.chance.random()}"[:8]))
            case "answer":
                return self._do(process, self._answer(bench, self.chance.random() < 0.7))
        if self.chance.random() < 0.06:
            self.stops += 1
            return self._do(process, bench.engine.stop(bench.KEY, timeout=5.0))
        return self._do(process, self._sweep(bench))

    async def _sweep(self, bench: Bench) -> None:
        await sweep(bench.store, mint, bench.engine.looks.take)
        if bench.engine._tasks:
            await asyncio.wait(list(bench.engine._tasks))

    async def _answer(self, bench: Bench, approve: bool) -> None:
        asks = [ask for ask in (await bench.load()).asks if not ask.is_timer]
        payload = {"approved": approve}
        entries = Bench.entries([{"id": ask.id} for ask in asks], payload)
        if entries:
            await bench.say(resume=entries)

    async def _do(self, process: Process, work: Coroutine[Any, Any, Any]) -> None:
        """Do something in a process, until it is done or dead."""
        task = asyncio.ensure_future(work)
        while not (task.done() or process.mortal.dead):
            await asyncio.wait({task}, timeout=0.005)
        if task.done():
            task.result()
        else:
            await process.mortal.bury([task])

    async def _all(self, happening: list[Coroutine[Any, Any, None]]) -> None:
        together = asyncio.gather(*happening)
        waited = 0
        while not together.done():
            await asyncio.wait({together}, timeout=0.05)
            waited += 1
            if waited > 4:
                # Whoever waits for a dead process's lease.
                self.clock.advance(5.0)
        together.result()

    async def aclose(self) -> None:
        for process in self.made:
            await process.mortal.bury(list(process.bench.engine._tasks))


@pytest.mark.timeout(1200)
@pytest.mark.parametrize(
    "seeds",
    [
        pytest.param(range(4), id="few"),
        pytest.param(range(100, 100 + MANY), id="many", marks=pytest.mark.soak),
    ],
)
async def test_each_act_is_done_once_whatever_dies(
    opener: Opener, clock: FakeClock, seeds: range
) -> None:
    stores = [await opener() for _ in range(3)]
    ends: Counter[str] = Counter()
    for seed in seeds:
        schedule = Schedule(seed, stores, clock, f"t{seed}")
        await schedule.run()
        await schedule.aclose()

        loaded = await schedule.look()
        where = (seed, schedule.plan, schedule.did)
        assert loaded.status is ThreadStatus.IDLE, where
        ended = loaded.record.ended
        if ended is None:
            # It died before its claim.
            assert not schedule.did, where
            continue
        ends[ended.outcome] += 1
        rows = await stores[0].list_interrupts("default", QuestionFilter(thread=f"t{seed}"))
        asks = {r.interrupt.tool_call.name: r.interrupt for r in rows if r.interrupt.tool_call}
        messages = {m.message["toolCallId"]: m.message["content"] for m in loaded.messages
                    if m.message["role"] == "tool"}  # fmt: skip
        runs = sum(m.message["role"] == "user" for m in loaded.messages)
        for act in schedule.plan:
            keys = [key for number, key in schedule.did if number == act.number]
            times = sum(schedule.did[act.number, key] for key in keys)
            assert len(keys) <= runs, where
            if not act.idempotent:
                assert times == len(keys), where
        # A stop may close the question with which a run has finished.
        if runs == 1 and not schedule.stops and ended.outcome == "finished":
            for act in schedule.plan:
                ask = asks.get(f"act{act.number}")
                answer = ask.answer if ask is not None else None
                approved = ask is None or (answer and answer.payload == {"approved": True})
                done = {number for number, _ in schedule.did}
                assert (act.number in done) == bool(approved), where
        for ask in asks.values():
            assert ask.status is not InterruptStatus.CLAIMED, where
        assert not any("was executed" in text and "unknown" not in text
                       for text in messages.values()), where  # fmt: skip
        assert schedule.killed <= 4 * runs, where
    print(f"{len(seeds)} schedules: {dict(ends)}")
