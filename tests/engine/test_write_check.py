"""What is remembered of a store that takes no writes, and how often it is looked at."""

import asyncio

import pytest

from agui_bridge.engine.repository import LOOK_SECONDS, WriteCheck
from agui_bridge.errors import StoreUnavailable, WritesRefused
from agui_bridge.stores.base import ABSENT, Change, Committed, Expected, ThreadKey
from agui_bridge.stores.memory import MemoryStore
from tests.stores.samples import KEY, idle
from tests.support.clock import FakeClock


class ReadOnlyStore(MemoryStore):
    """A store that can be told to take no writes; counts the looks."""

    refuses = down = False
    looks = 0

    async def ping(self) -> float:
        self.looks += 1
        self._check()
        return await super().ping()

    async def commit(
        self, key: ThreadKey, change: Change, expected: Expected, write_id: str
    ) -> Committed:
        self._check()
        return await super().commit(key, change, expected, write_id)

    def _check(self) -> None:
        if self.down:
            raise StoreUnavailable("gone")
        if self.refuses:
            raise WritesRefused("only reads")


@pytest.fixture
def store() -> ReadOnlyStore:
    return ReadOnlyStore()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def check(store: ReadOnlyStore, clock: FakeClock) -> WriteCheck:
    return WriteCheck(store, clock)


async def write(check: WriteCheck) -> None:
    await check.commit(KEY, Change(idle()), ABSENT, "w")


async def test_many_looks_at_once_are_one(store: ReadOnlyStore, check: WriteCheck) -> None:
    await asyncio.gather(*(check.look() for _ in range(20)))
    assert store.looks == 1


async def test_a_refused_write_is_remembered_until_a_look_passes(
    store: ReadOnlyStore, check: WriteCheck, clock: FakeClock
) -> None:
    await check.let_write()
    store.refuses = True
    with pytest.raises(WritesRefused):
        await write(check)
    for _ in range(5):
        with pytest.raises(WritesRefused, match="only reads"):
            await check.let_write()
        with pytest.raises(WritesRefused):
            await check.look()
    assert store.looks == 0

    clock.advance(LOOK_SECONDS)
    with pytest.raises(WritesRefused):
        await check.let_write()
    store.refuses = False
    with pytest.raises(WritesRefused):
        await check.let_write()
    assert store.looks == 1

    clock.advance(LOOK_SECONDS)
    await check.let_write()
    await check.look()
    assert store.looks == 2


async def test_a_write_that_passes_ends_it(store: ReadOnlyStore, check: WriteCheck) -> None:
    store.refuses = True
    with pytest.raises(WritesRefused):
        await check.look()
    store.refuses = False
    await write(check)
    await check.let_write()
    await check.look()


async def test_a_store_that_does_not_answer_is_looked_at_each_time(
    store: ReadOnlyStore, check: WriteCheck
) -> None:
    store.down = True
    for _ in range(3):
        with pytest.raises(StoreUnavailable, match="gone"):
            await check.look()
    store.down = False
    await check.look()
    assert store.looks == 4
