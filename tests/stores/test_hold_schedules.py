"""Random schedules of held questions: several processes that die, and all that may end a hold."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Awaitable
from typing import Any

import pytest

from agui_bridge.engine.engine import mint
from agui_bridge.engine.recovery import sweep
from agui_bridge.errors import StoreUnavailable
from agui_bridge.protocol.threads.records import InterruptStatus, ThreadStatus
from agui_bridge.stores.base import QuestionFilter, Store
from agui_bridge.stores.memory import MemoryStore
from tests.stores.conftest import Opener
from tests.support.agents import Bench, outcome, settle
from tests.support.clock import FakeClock
from tests.support.holding import Holding, Outside

TOLD = {
    *("success", "interrupt", "cancelled", "RUN_IN_PROGRESS", "RUN_INDETERMINATE"),
    *("INTERRUPT_PENDING", "INTERRUPT_EXPIRED", "INTERRUPT_ALREADY_ANSWERED"),
    *("INTERRUPT_NOT_FOUND", "STORE_UNAVAILABLE"),
}
STEPS = ("yes", "yes", "yes", "no", "say", "stop", "sweep", "let go", "side dies", "kill", "wait")


class Cut:
    """A store as one process has it: gone once that is killed."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.dead = False

    def __getattr__(self, name: str) -> Any:
        if self.dead and name != "process":
            raise StoreUnavailable("the process is dead")
        return getattr(self._store, name)


class Schedule:
    """One thread in several processes, and what happens to it at random."""

    def __init__(self, seed: int, stores: list[Store], clock: FakeClock) -> None:
        self.chance = random.Random(seed)
        self.thread = f"t{seed}"
        self.outside = Outside()
        self.clock = clock
        self.stores = stores
        self.number = self.chance.choice((1, 1, 2))
        self.expires = self.chance.choice((None, None, 60.0))
        self.patient = isinstance(stores[0], MemoryStore)
        self.made = [self.begin(store) for store in stores]
        self.tasks: list[asyncio.Task[Any]] = []
        self.texts = 0

    def begin(self, store: Store) -> tuple[Bench, Holding, Cut]:
        """A new process."""
        agent = Holding(self.outside, number=self.number, expires_in=self.expires)
        cut: Any = Cut(store)
        bench = Bench(
            agent,
            store=cut,
            clock=self.clock,
            thread=self.thread,
            hold_seconds=self.chance.choice((40.0, 900.0)),
            store_retry=0.0,
        )
        return bench, agent, cut

    async def run(self) -> None:
        """Have things happen at once, several times; then let the processes see it through."""
        await self.say(self.made[0][0])
        for _ in range(self.chance.randint(3, 10)):
            self.clock.advance(self.chance.choice((0.0, 1.0, 5.0, 12.0, 31.0)))
            for _ in range(self.chance.randint(1, 4)):
                self.tasks.append(asyncio.ensure_future(self.something()))
            await self.pause()
        for _ in range(100):
            self.clock.advance(11.0)
            await asyncio.gather(*(self.sweep(bench) for bench, _, _ in self.made))
            await self.pause()
            if all(task.done() for task in self.tasks) and not await self.unsettled():
                break
            # Whoever waits for another process looks once a second of real time.
            await asyncio.sleep(0.03)
        for task in self.tasks:
            task.result()

    async def unsettled(self) -> bool:
        loaded = await self.stores[0].load(self.made[0][0].KEY)
        return loaded.status is ThreadStatus.RUNNING or loaded.only_answered or loaded.hold_over

    async def pause(self) -> None:
        await settle(40)
        if not self.patient:
            await asyncio.sleep(0.03)

    async def something(self) -> None:
        # A process that was killed does nothing more, and nobody hears of it.
        with contextlib.suppress(StoreUnavailable):
            await self.one_thing()

    async def one_thing(self) -> None:
        at = self.chance.randrange(len(self.made))
        bench, agent, cut = self.made[at]
        match self.chance.choice(STEPS):
            case ("yes" | "no") as said:
                loaded = await self.stores[0].load(bench.KEY)
                given = {"approved": said == "yes"}
                resume = bench.entries([{"id": ask.id} for ask in loaded.asks], given)
                if resume:
                    await self.heard(bench.say(resume=resume))
            case "say":
                await self.say(bench)
            case "stop" if self.chance.random() < 0.3:
                await bench.engine.stop(bench.KEY, timeout=5.0)
            case "sweep":
                await self.sweep(bench)
            case "let go":
                await bench.engine.holds.let_go_all()
            case "side dies":
                for side in agent.sides.values():
                    side.alive = False
            case "kill" if self.chance.random() < 0.5:
                cut.dead = agent.dead = True
                for side in agent.sides.values():
                    side.alive = False
                self.made[at] = self.begin(self.stores[at])

    async def say(self, bench: Bench) -> None:
        self.texts += 1
        await self.heard(bench.say(f"m{self.texts}"))

    async def heard(self, saying: Awaitable[list[dict[str, Any]]]) -> None:
        found = outcome(await saying)
        assert found in TOLD, found

    async def sweep(self, bench: Bench) -> None:
        await sweep(bench.store, mint, bench.engine.looks.take)

    async def close(self) -> None:
        for bench, _, _ in self.made:
            await bench.engine.aclose()


@pytest.mark.timeout(1200)
@pytest.mark.parametrize(
    "seeds",
    [
        pytest.param(range(3), id="few"),
        pytest.param(range(100, 320), id="many", marks=pytest.mark.soak),
    ],
)
async def test_each_answer_is_carried_out_once_or_told_of_and_nothing_waits_in_vain(
    opener: Opener, clock: FakeClock, seeds: range
) -> None:
    stores = [await opener() for _ in range(3)]
    if not isinstance(stores[0], MemoryStore):
        seeds = seeds[:20]
    for seed in seeds:
        schedule = Schedule(seed, stores, clock)
        await schedule.run()

        key, acts = schedule.made[0][0].KEY, schedule.outside.acts
        assert len(acts) == len(set(acts)), (seed, acts)
        loaded = await stores[0].load(key)
        assert loaded.status is not ThreadStatus.RUNNING, seed
        assert not loaded.only_answered, (seed, "an acknowledged answer is carried out by nobody")
        rows = await stores[0].list_interrupts("default", QuestionFilter(thread=key.thread))
        for row in rows:
            ask = row.interrupt
            assert ask.tool_call is not None
            done = ask.tool_call.id in acts
            approved = ask.answer is not None and ask.answer.payload == {"approved": True}
            if done:
                assert approved, (seed, ask.id, "executed unapproved")
                assert ask.status in (InterruptStatus.RESOLVED, InterruptStatus.INDETERMINATE), (
                    seed, ask.status, "executed, and told as not executed",
                )  # fmt: skip
            if ask.status is InterruptStatus.RESOLVED and approved:
                assert done, (seed, ask.id, "told as carried out")
        assert {row.interrupt.tool_call.id for row in rows if row.interrupt.tool_call} >= set(acts)
        waiting = [s for _, agent, _ in schedule.made for s in agent.sides.values()]
        assert len(waiting) <= (loaded.status is ThreadStatus.INTERRUPTED), (seed, "waits in vain")
        await schedule.close()
