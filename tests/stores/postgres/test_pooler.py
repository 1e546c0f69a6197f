"""PostgreSQL behind PgBouncer, found out by itself in either of its modes."""

import asyncio
from collections.abc import Iterator

import pytest

from agui_bridge.errors import Conflict
from agui_bridge.stores.announcements import DEAF
from agui_bridge.stores.base import Change, Expected
from agui_bridge.stores.postgres.store import PostgresStore
from tests.stores.postgres.pgbouncer import pgbouncer
from tests.stores.samples import KEY, OTHER, ask, idle, message, put, running, write_id
from tests.support.postgres import emptied, execute, new_schema, server, with_schema


@pytest.fixture(scope="module")
def behind() -> Iterator[int]:
    with pgbouncer(server(), "transaction") as port:
        yield port


def by_way_of(port: int, url: str, **options: str) -> str:
    """The address of a store by way of another port."""
    more = "".join(f"&{name}={value}" for name, value in options.items())
    return url.replace(f":{server().port}/", f":{port}/") + more


async def test_many_calls_at_once_share_few_servers(behind: int) -> None:
    store = await PostgresStore.open(by_way_of(behind, emptied()))
    for key in (KEY, OTHER):
        await put(store, idle(key, version=0), messages=(message("m", 1),))

    async def turn(number: int) -> int:
        key = (KEY, OTHER)[number % 2]
        loaded = await store.load(key, ["a"], messages=True)
        assert loaded.record is not None
        change = Change(idle(), interrupts=(ask(f"i{number}"),))
        try:
            await store.commit(key, change, Expected(loaded.record.version), write_id())
        except Conflict:
            return 0
        return 1

    won = sum(await asyncio.gather(*map(turn, range(100))))
    records = [(await store.load(key)).record for key in (KEY, OTHER)]
    await store.aclose()

    assert sum(record.version for record in records if record) == won > 1


@pytest.mark.parametrize("options", [{}, {"listen": "off"}])
async def test_changes_of_another_process_are_found_where_notifications_do_not_arrive(
    behind: int, options: dict[str, str]
) -> None:
    url = emptied()
    store = await PostgresStore.open(by_way_of(behind, url, **options))
    other = await PostgresStore.open(url)
    try:
        changes = store.watch(KEY)
        await anext(changes)
        waiting = asyncio.ensure_future(anext(changes))
        await put(other, running())
        await asyncio.wait_for(waiting, 20)
        await changes.aclose()
    finally:
        await store.aclose()
        await other.aclose()


async def test_tables_are_made_by_way_of_a_pooler(behind: int) -> None:
    with new_schema() as schema:
        url = by_way_of(behind, with_schema(server().dsn, schema))
        store = await PostgresStore.open(url)
        done = await put(store, idle())
        await store.aclose()
        (rows,) = execute(server().dsn, f"SELECT version FROM {schema}.agui_threads")

    assert [row[0] for row in rows] == [done.record.version]


async def test_a_pooler_that_keeps_sessions_is_used_in_full_when_the_address_says_so() -> None:
    url = emptied()
    with pgbouncer(server(), "session") as port:
        store = await PostgresStore.open(by_way_of(port, url, pooler="session", pool_size="1"))
        other = await PostgresStore.open(url)
        notifications = store._announcements.get()
        changes = store.watch(KEY)
        async with asyncio.timeout(20):
            while not notifications.alive:
                await anext(changes)
        waiting = asyncio.ensure_future(anext(changes))
        await put(other, idle())
        await asyncio.wait_for(waiting, 20)
        await changes.aclose()
        await store.aclose()
        await other.aclose()


async def test_as_behind_a_pooler_a_call_prepares_nothing_that_stays_and_leaves_nothing_open() -> (
    None
):
    store = await PostgresStore.open(emptied() + "&pooler=transaction&pool_size=1")
    done = await put(store, idle(), messages=(message("m", 1),))
    with pytest.raises(Conflict):
        await put(store, idle(), Expected(version=1))
    loaded = await store.load(KEY, messages=True)
    async with store._connections._here.get().pool.acquire() as connection:
        prepared = await connection.fetchval("SELECT count(*) FROM pg_prepared_statements")
        open_transaction = connection.is_in_transaction()
    process = store.process
    await store.aclose()

    assert (loaded.record, loaded.messages) == (done.record, (message("m", 1),))
    # The question itself is the unnamed one, which the view does not show.
    assert (prepared, open_transaction, process) == (0, False, DEAF)
