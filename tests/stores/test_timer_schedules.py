"""Random schedules of runs that sleep: several processes, and all that may end a sleep, at once."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator

import pytest

from agui_bridge import FunctionRun
from agui_bridge.agents.function.adapter import FunctionAdapter
from agui_bridge.engine.engine import mint
from agui_bridge.engine.recovery import sweep
from agui_bridge.protocol.threads.records import InterruptStatus, ThreadStatus
from agui_bridge.stores.base import QuestionFilter
from tests.stores.conftest import Opener
from tests.support.agents import Bench, outcome
from tests.support.clock import FakeClock

NAPS = (30.0, 60.0, 45.0)
REFUSED = {"INTERRUPT_PENDING", "INTERRUPT_EXPIRED", "INTERRUPT_ALREADY_ANSWERED"}
TOLD = {"success", "interrupt", "cancelled", "RUN_IN_PROGRESS", *REFUSED}


class Napper:
    """Sleeps three times, and acts after each; its next message begins anew."""

    def __init__(self) -> None:
        self.acts: list[tuple[str, int, str]] = []

    async def __call__(self, run: FunctionRun) -> AsyncIterator[str]:
        begun = run.text
        for number, seconds in enumerate(NAPS):
            woken = await run.sleep(seconds)
            await run.step("act", lambda n=number, w=woken: self.acts.append((begun, n, w)))
        yield "Rested."


class Schedule:
    """One thread in several processes, and what happens to it at random."""

    def __init__(self, seed: int, made: list[Bench], clock: FakeClock) -> None:
        self.chance = random.Random(seed)
        self.made = made
        self.clock = clock
        self.messages = 0
        self.stops = 0

    async def run(self) -> None:
        """Have a few things happen at once, several times; then let time end whatever sleeps."""
        await self._say(self.made[0])
        for _ in range(12):
            self.clock.advance(self.chance.choice((1.0, 10.0, 30.0, 60.0)))
            happening = [self._something() for _ in range(self.chance.randint(1, 5))]
            await asyncio.gather(*happening)
            await self._settle()
        for _ in range(len(NAPS) + 1):
            self.clock.advance(max(NAPS))
            await self._sweep(self.made[-1])
            await self._settle()

    async def _something(self) -> None:
        bench = self.chance.choice(self.made)
        match self.chance.choice(("sweep", "sweep", "sweep", "wake", "cancel", "say", "stop")):
            case "sweep":
                await self._sweep(bench)
            case "say":
                await self._say(bench)
            case "stop" if self.chance.random() < 0.3:
                self.stops += 1
                await bench.engine.stop(bench.KEY, timeout=5.0)
            case ("wake" | "cancel") as how:
                asks = (await bench.load()).asks
                entries = [
                    {"interruptId": ask.id, "status": "resolved", "payload": {}}
                    if how == "wake"
                    else {"interruptId": ask.id, "status": "cancelled"}
                    for ask in asks
                ]
                if entries:
                    assert outcome(await bench.say(resume=entries)) in TOLD

    async def _say(self, bench: Bench) -> None:
        self.messages += 1
        assert outcome(await bench.say(f"m{self.messages}")) in TOLD

    async def _sweep(self, bench: Bench) -> None:
        await sweep(bench.store, mint, bench.engine.looks.take)

    async def _settle(self) -> None:
        for bench in self.made:
            await asyncio.gather(*bench.engine._tasks)


@pytest.mark.soak
@pytest.mark.timeout(1200)
@pytest.mark.parametrize(
    "seeds",
    [
        pytest.param(range(4), id="few"),
        pytest.param(range(100, 300), id="many", marks=pytest.mark.soak),
    ],
)
async def test_each_sleep_ends_once_and_each_act_after_it_is_done_once(
    opener: Opener, clock: FakeClock, seeds: range
) -> None:
    stores = [await opener() for _ in range(3)]
    for seed in seeds:
        napper = Napper()
        made = [
            Bench(FunctionAdapter(napper), store=store, clock=clock, thread=f"t{seed}")
            for store in stores
        ]

        schedule = Schedule(seed, made, clock)
        await schedule.run()

        loaded = await made[0].load()
        assert loaded.status is ThreadStatus.IDLE, (seed, loaded.asks)
        acts = [(begun, number) for begun, number, _ in napper.acts]
        assert len(acts) == len(set(acts)), (seed, napper.acts)
        which = QuestionFilter(thread=f"t{seed}")
        rows = await made[0].store.list_interrupts("default", which)
        asks = [row.interrupt for row in rows]
        ended = [ask for ask in asks if ask.status is not InterruptStatus.CANCELLED]
        assert {ask.status for ask in ended} <= {InterruptStatus.RESOLVED, InterruptStatus.EXPIRED}
        # A stop cancels a timer, and so does a cancel, after which the run goes on.
        assert len(acts) <= len(asks), seed
        woken = [how for _, _, how in napper.acts]
        count = [woken.count(how) for how in ("early", "time")]
        # One that a stop meets right after its sleep does not act.
        missing = [
            sum(ask.status is status for ask in ended) - acted
            for status, acted in zip(
                (InterruptStatus.RESOLVED, InterruptStatus.EXPIRED), count, strict=True
            )
        ]
        assert min(missing) >= 0 and sum(missing) <= schedule.stops, seed
