"""A Redis of these tests' own, because they disturb it."""

from collections.abc import AsyncIterator, Iterator

import pytest

from agui_bridge.stores.redis.store import RedisStore
from tests.support.redis_server import RedisServer

SOON = 0.4
"""Seconds after which a store in these tests gives a call up."""


@pytest.fixture(scope="module")
def shared_server() -> Iterator[RedisServer]:
    """A server of these tests' own, because they disturb it."""
    with RedisServer() as server:
        yield server


@pytest.fixture
def server(shared_server: RedisServer) -> RedisServer:
    with shared_server.client() as client:
        client.flushall()
    return shared_server


@pytest.fixture
async def store(server: RedisServer) -> AsyncIterator[RedisStore]:
    store = await RedisStore.open(f"{server.url}?timeout={SOON}")
    yield store
    await store.aclose()
