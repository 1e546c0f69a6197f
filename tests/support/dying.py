"""Processes that share a store and die, and what their acts did, counted outside of it."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from agui_bridge import FunctionRun
from agui_bridge.adapters import Adapter
from agui_bridge.agents.function.adapter import FunctionAdapter
from agui_bridge.agents.function.checkpoints import idempotency_key
from agui_bridge.engine.engine import mint
from agui_bridge.engine.recovery import sweep
from agui_bridge.stores.base import Store
from agui_bridge.stores.memory import MemoryStore
from tests.support.agents import Bench, Reader, settle
from tests.support.clock import FakeClock
from tests.support.mortal import Mortal

STEPS = 10
LATER = 100.0
"""Seconds after which a lease is over, and the next attempt is due."""


class MortalBench(Bench):
    """A process that may die.

    Attributes:
        mortal: its way to the store, by which it dies.
    """

    def __init__(
        self,
        adapter: Adapter,
        *,
        store: Store,
        dies_at: int | None = None,
        written: bool = False,
        **how: Any,
    ) -> None:
        self.mortal, own = Mortal.store(store, dies_at=dies_at, written=written)
        super().__init__(adapter, store=own, **how)


@dataclass
class World:
    """Processes that share a store, and what their acts did, counted outside of it.

    Attributes:
        function: the agent.
        effects: how often each act did what it does.
        keys: the keys that each act had.
    """

    function: Callable[[World, FunctionRun], Any]
    clock: FakeClock = field(default_factory=FakeClock)
    effects: Counter[Any] = field(default_factory=Counter)
    keys: dict[Any, set[str | None]] = field(default_factory=dict)
    made: list[MortalBench] = field(default_factory=list)
    at_act: Callable[[Any], Awaitable[None]] | None = None

    def __post_init__(self) -> None:
        self.store = MemoryStore(self.clock.time)

    def process(self, **how: Any) -> MortalBench:
        """One more process."""

        async def agent(run: FunctionRun) -> AsyncIterator[str]:
            async for item in self.function(self, run):
                yield item

        given: dict[str, Any] = {"checkpoint": "step", **how}
        bench = MortalBench(FunctionAdapter(agent), store=self.store, clock=self.clock, **given)
        self.made.append(bench)
        return bench

    async def act(self, what: Any) -> str:
        """Do something outside."""
        self.keys.setdefault(what, set()).add(idempotency_key())
        self.effects[what] += 1
        if self.at_act is not None:
            await self.at_act(what)
        return f"did {what}"

    async def over(self) -> None:
        """Let the lease of a dead process be over."""
        self.clock.advance(LATER)
        await settle()

    async def sweep(self, bench: Bench) -> int:
        """Have a process look around, and see what it takes up through."""
        found = await sweep(bench.store, mint, bench.engine.looks.take)
        async with asyncio.timeout(20):
            await asyncio.gather(*list(bench.engine._tasks))
        return found

    async def aclose(self) -> None:
        for bench in self.made:
            await bench.mortal.bury(list(bench.engine._tasks))


async def dies(reader: Reader, bench: MortalBench) -> None:
    """Read until the process is dead."""
    reading = asyncio.create_task(reader.rest())
    for _ in range(2000):
        await asyncio.sleep(0)
        if bench.mortal.dead or reading.done():
            break
    await settle()
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)


async def ten_steps(world: World, run: FunctionRun) -> AsyncIterator[str]:
    for number in range(STEPS):
        yield f"{number} "
        await run.step("act", world.act, number)
    yield "done"
