"""Open questions about a tool: found without a look at the others, and what that leaves behind."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from agui_bridge.protocol.threads.records import InterruptStatus, ToolCall
from agui_bridge.stores.base import (
    Expected,
    QuestionFilter,
)
from agui_bridge.stores.redis.store import RedisStore
from tests.stores.samples import KEY, OTHER, ask, idle, interrupted, put
from tests.support.clock import FakeClock
from tests.support.redis_server import RedisServer

MANY = 2_500
"""More than a script looks at in one go."""

RARE = QuestionFilter(tool="rare", status=InterruptStatus.OPEN)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def store(server: RedisServer, clock: FakeClock) -> AsyncIterator[RedisStore]:
    """Many questions about one tool, and one about another, older than what is sorted late."""
    store = await RedisStore.open(server.url, clock=clock.time)
    for number in range(5):
        some = tuple(
            ask(f"{number}-{n}", position=n, tool_call=ToolCall("c", "usual", {}))
            for n in range(MANY // 5)
        )
        await put(store, interrupted(replace(KEY, thread=f"many-{number}")), interrupts=some)
        clock.advance(1)
    await put(store, interrupted(), interrupts=(ask("rare", tool_call=ToolCall("c", "rare", {})),))
    clock.advance(100)
    yield store
    await store.aclose()


async def ids(store: RedisStore) -> list[str]:
    return [row.interrupt.id for row in await store.list_interrupts("scope", RARE)]


async def test_questions_about_other_tools_are_looked_at_once(
    store: RedisStore, server: RedisServer
) -> None:
    def looked_at() -> int:
        with server.client() as client:
            return int(client.info("commandstats")["cmdstat_hget"]["calls"])

    before = looked_at()
    assert await ids(store) == ["rare"]
    after = looked_at()
    assert after - before > MANY
    assert await ids(store) == ["rare"]
    assert await store.count_interrupts("scope", RARE) == 1
    assert looked_at() - after < 10


async def test_a_server_that_refuses_writes_still_lists_by_tool(
    store: RedisStore, server: RedisServer
) -> None:
    with server.client() as client:
        client.config_set("maxmemory", "1")
        try:
            assert await ids(store) == ["rare"]
            assert await store.count_interrupts("scope", RARE) == 1
        finally:
            client.config_set("maxmemory", "0")


async def test_nothing_is_left_of_a_question_that_is_answered_or_deleted(
    store: RedisStore, server: RedisServer, clock: FakeClock
) -> None:
    other = ask("other", tool_call=ToolCall("c", "rare", {}))
    await put(store, interrupted(OTHER), interrupts=(other,))
    clock.advance(100)
    listed = await store.list_interrupts("scope", RARE)
    first, second = (row.interrupt for row in listed)
    (key,) = [row.key for row in listed if row.interrupt.id == "other"] or [OTHER]

    def kept() -> list[str]:
        with server.client() as client:
            (name,) = client.keys('*:open "rare"') or [""]
            members: list[str] = client.zrange(name, 0, -1)
            return members

    assert len(kept()) == 2
    resolved = replace(first, status=InterruptStatus.RESOLVED)
    await put(store, idle(KEY), Expected(version=1000), interrupts=(resolved,))
    assert await ids(store) == [second.id]
    assert len(kept()) == 1
    await store.delete(key, Expected(version=1000))
    assert kept() == []
