"""The backends that the shared suite runs on: a new one is a line in BACKENDS."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from redis._parsers.commands import AsyncCommandsParser

from agui_bridge.stores.base import Store
from agui_bridge.stores.memory import MemoryStore
from agui_bridge.stores.postgres.store import PostgresStore
from agui_bridge.stores.redis.store import RedisStore
from agui_bridge.stores.sqlite.store import SqliteStore
from tests.support.clock import FakeClock
from tests.support.postgres import emptied
from tests.support.redis_server import cluster_url, redis_url

Opener = Callable[[], Awaitable[Store]]
"""Opens one more store on the data of this test."""


@dataclass(frozen=True)
class Backend:
    """A kind of store.

    Attributes:
        url: address of the test's own data below a directory; None when a store of this kind
            can't be opened twice.
        slow: whether random schedules on it take too long.
    """

    name: str
    open: Callable[[str, FakeClock], Awaitable[Store]]
    url: Callable[[Path], str] | None = None
    slow: bool = False


async def open_memory(_url: str, clock: FakeClock) -> Store:
    return MemoryStore(clock.time)


async def open_sql(url: str, clock: FakeClock) -> Store:
    return await SqliteStore.open(url, clock=clock.time)


async def open_postgres(url: str, clock: FakeClock) -> Store:
    return await PostgresStore.open(url, clock=clock.time)


async def open_redis(url: str, clock: FakeClock) -> Store:
    return await RedisStore.open(url, clock=clock.time)


BACKENDS = [
    Backend("memory", open_memory),
    Backend("sqlite", open_sql, lambda directory: f"sqlite:///{directory / 'store.db'}"),
    Backend("postgres", open_postgres, lambda _: emptied()),
    Backend("redis", open_redis, redis_url),
    Backend("redis-cluster", open_redis, cluster_url, slow=True),
]
SHARED = [backend for backend in BACKENDS if backend.url]
COMPARED = [backend for backend in SHARED if not backend.slow]


@pytest.fixture(scope="session", autouse=True)
def commands_are_read_once() -> Iterator[None]:
    """Let the clients of a cluster share the list of its commands, which takes each 30 ms to read.

    One that misses a command in it reads the list anew, as ever.
    """
    read = AsyncCommandsParser.initialize
    known: dict[str, Any] = {}

    async def initialize(self: AsyncCommandsParser, node: Any = None) -> None:
        if node is None or not known:
            await read(self, node)
            known.update(self.commands)
        else:
            self.node, self.commands = node, known

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(AsyncCommandsParser, "initialize", initialize)
        yield


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(params=BACKENDS, ids=lambda backend: backend.name)
def backend(request: pytest.FixtureRequest) -> Backend:
    chosen: Backend = request.param
    return chosen


@pytest.fixture
def url(backend: Backend, tmp_path: Path) -> str:
    return backend.url(tmp_path) if backend.url else ""


@pytest.fixture
async def opener(backend: Backend, url: str, clock: FakeClock) -> AsyncIterator[Opener]:
    opened: list[Store] = []

    async def open_another() -> Store:
        if opened and backend.url is None:
            return opened[0]
        opened.append(await backend.open(url, clock))
        return opened[-1]

    yield open_another
    for store in opened:
        await store.aclose()


@pytest.fixture
async def store(opener: Opener) -> Store:
    return await opener()
