"""Of one scope only so much is in hand at once; what comes beyond that waits."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import pytest

from agui_bridge.engine.fairness import ScopeQueue

MB = 1_000_000


class Holder:
    """Somebody with a body of a size."""

    def __init__(self, budget: ScopeQueue, scope: str, size: int) -> None:
        self.has = asyncio.Event()
        self.over = asyncio.Event()
        self.task = asyncio.ensure_future(self._hold(budget, scope, size))

    async def _hold(self, budget: ScopeQueue, scope: str, size: int) -> None:
        async with budget.hold(scope, size):
            self.has.set()
            await self.over.wait()


@asynccontextmanager
async def holders(budget: ScopeQueue, *sizes: int, scope: str = "a") -> AsyncIterator[list[Holder]]:
    async with AsyncExitStack() as stack:
        found = [Holder(budget, scope, size) for size in sizes]
        for holder in found:
            stack.callback(holder.over.set)
        for _ in range(5):
            await asyncio.sleep(0)
        yield found
    await asyncio.gather(*(holder.task for holder in found), return_exceptions=True)


def having(found: list[Holder]) -> list[bool]:
    return [holder.has.is_set() for holder in found]


async def test_what_there_is_no_room_for_waits_for_its_turn() -> None:
    budget = ScopeQueue(10 * MB)
    async with holders(budget, 6 * MB, 4 * MB, 6 * MB, 2 * MB) as found:
        assert having(found) == [True, True, False, False]
        found[0].over.set()
        await asyncio.wait_for(found[2].has.wait(), 30)
        assert having(found) == [True, True, True, False]
        found[1].over.set()
        await asyncio.wait_for(found[3].has.wait(), 30)


async def test_another_scope_and_what_counts_for_nothing_do_not_wait() -> None:
    budget = ScopeQueue(10 * MB)
    async with (
        holders(budget, 10 * MB, 0, 1 * MB) as ours,
        holders(budget, 10 * MB, scope="b") as theirs,
    ):
        assert having(ours) == [True, True, False]
        assert having(theirs) == [True]


async def test_a_body_beyond_the_limit_is_taken_alone() -> None:
    budget = ScopeQueue(1 * MB)
    async with holders(budget, 2 * MB, 2 * MB) as found:
        assert having(found) == [True, False]


@pytest.mark.parametrize("given", [False, True])
async def test_who_gives_up_waiting_makes_room(given: bool) -> None:
    budget = ScopeQueue(10 * MB)
    async with holders(budget, 10 * MB, 9 * MB, 10 * MB) as (first, gone, last):
        if given:
            first.over.set()
            # The first one frees its bytes in this round; who is given them has not gone on yet.
            await asyncio.sleep(0)
        gone.task.cancel()
        first.over.set()
        await asyncio.wait_for(last.has.wait(), 30)


async def test_a_scope_that_is_gone_takes_no_memory() -> None:
    budget = ScopeQueue(MB)
    async with holders(budget, MB, MB):
        assert vars(budget)["_scopes"]
    assert not vars(budget)["_scopes"]
