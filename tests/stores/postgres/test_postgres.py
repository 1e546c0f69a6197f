"""What is PostgreSQL's own: its clock, its guards under concurrency, its notifications."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest

from agui_bridge.errors import Fenced
from agui_bridge.protocol.threads.records import ThreadKey, lease_token
from agui_bridge.stores.announcements import Interests
from agui_bridge.stores.base import Change, Expected
from agui_bridge.stores.postgres.notifications import MOST_AT_ONCE, digest
from agui_bridge.stores.postgres.store import PostgresStore
from tests.stores.samples import (
    KEY,
    LEASE,
    idle,
    interrupted,
    message,
    put,
    running,
    stop,
    write_id,
)
from tests.support.postgres import emptied, server
from tests.support.waiting import eventually


@pytest.fixture
def url() -> str:
    return emptied()


@pytest.fixture
async def store(url: str) -> AsyncIterator[PostgresStore]:
    store = await PostgresStore.open(url)
    yield store
    await store.aclose()


@pytest.fixture
async def control() -> AsyncIterator[Any]:
    """A session of its own on the same database."""
    connection = await asyncpg.connect(server().dsn)
    yield connection
    await connection.close()


def table(url: str) -> str:
    return f"{url.partition('schema=')[2]}.agui_threads"


# --- time and guards ---


async def test_the_stores_time_is_the_databases(
    store: PostgresStore, control: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.time", lambda: 0.0)
    query = "SELECT extract(epoch FROM clock_timestamp())::float8"
    before = await control.fetchval(query)
    done = await put(store, running(), lease_seconds=30.0)
    now = await store.ping()
    after = await control.fetchval(query)

    assert before <= done.now <= now <= after
    assert done.record.created_at == done.record.updated_at == done.now
    assert done.record.run is not None
    assert done.record.run.ends_at == pytest.approx(done.now + 30, abs=1e-3)
    loaded = await store.load(KEY)
    assert loaded.record == done.record
    assert now <= loaded.now


async def test_a_lease_that_ends_while_its_owner_waits_for_the_row_is_over(
    store: PostgresStore, control: Any, url: str
) -> None:
    await put(store, running())
    async with control.transaction():
        await control.execute(f"SELECT FROM {table(url)} FOR UPDATE")
        waiting = asyncio.ensure_future(put(store, running(state="late"), LEASE))
        # It was in time when it began to wait.
        await until_blocked(control)
        # It ends before the row is let go. A short lease might end before the wait begins.
        ended = "SET lease_ends_at = extract(epoch FROM clock_timestamp())"
        await control.execute(f"UPDATE {table(url)} {ended}")

    with pytest.raises(Fenced):
        await waiting
    record = (await store.load(KEY)).record
    assert record is not None
    assert record.state is None


async def until_blocked(control: Any) -> None:
    # Not `pg_stat_activity`: a transaction sees it as it was at its first look, without the
    # connections that were opened since.
    query = "SELECT count(*) FROM pg_locks WHERE NOT granted AND $1 = ANY (pg_blocking_pids(pid))"
    await eventually(lambda: control.fetchval(query, control.get_server_pid()))


async def test_a_load_never_sees_half_a_commit(store: PostgresStore, url: str) -> None:
    other = await PostgresStore.open(url)
    await put(store, idle(version=0), messages=(message("m0", 0),))

    async def write() -> None:
        for number in range(1, 60):
            rows = (message(f"m{number}", number),)
            change = Change(idle(state=number), messages=rows)
            await other.commit(KEY, change, Expected(version=number - 1), write_id())

    writing = asyncio.ensure_future(write())
    seen = set()
    while not writing.done():
        loaded = await store.load(KEY, messages=True)
        assert loaded.record is not None
        seen.add(loaded.record.version)
        assert len(loaded.messages) == loaded.record.version + 1
    await writing
    await other.aclose()
    assert len(seen) > 2


async def test_a_commit_and_a_load_are_one_statement_each(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    statements: list[str] = []
    run = store._connections.run

    async def counted(statement: Any, values: Any, *, repeatable: bool = True) -> Any:
        statements.append(statement.sql)
        return await run(statement, values, repeatable=repeatable)

    # Else it looks later whether a server of the version before is there.
    await store.servers.look()
    monkeypatch.setattr(store._connections, "run", counted)
    await put(store, running(), messages=(message("m", 1),))
    await store.load(KEY, ["a"], messages=True)
    await put(store, interrupted(), LEASE, messages=(message("n", 2),), superseded=("m",))
    await store.request_stop(KEY, stop())

    own = [sql for sql in statements if not sql.startswith("SELECT pg_notify")]
    assert len(own) == 4


@pytest.mark.parametrize("durable", ["off", "local"])
async def test_a_commit_waits_for_the_disk_though_the_server_would_not(
    url: str, durable: str
) -> None:
    store = await PostgresStore.open(f"{url}&synchronous_commit={durable}")
    pool = await store._connections._here.get().pool
    setting = await pool.fetchval("SELECT current_setting('synchronous_commit')")
    await store.aclose()

    assert setting == {"off": "on", "local": "local"}[durable]


# --- notifications ---


async def alive(store: PostgresStore) -> None:
    """Wait until notifications arrive."""
    announcements = store._announcements.get()
    announcements.start()
    await eventually(lambda: announcements.alive)


async def test_a_hint_says_nothing_of_scope_or_thread_and_fits_in_a_notification() -> None:
    word = digest(ThreadKey("company", "agent", "secret plans"))

    assert len(word) == 16
    assert word != digest(ThreadKey("company", "agents", "ecret plans"))
    told = Interests("0123456789abcdef").look("t", lease_token("fedcba9876543210", "secret"), 0.0)
    assert told is not None
    assert "secret" not in told.word
    assert MOST_AT_ONCE * (len(told.word) + 1) < 8000


async def test_watching_by_notification_asks_the_database_nothing(
    store: PostgresStore, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = await PostgresStore.open(url)
    await alive(store)
    await alive(other)

    async def unwanted(*_: Any, **__: Any) -> Any:
        raise AssertionError("it polls")

    token = lease_token(other.process, "r1")
    await put(other, running(token=token))
    changes = store.watch(KEY)
    await anext(changes)
    await store.load(KEY)
    with monkeypatch.context() as patch:
        patch.setattr(store._connections, "run", unwanted)
        waiting = asyncio.ensure_future(anext(changes))
        await asyncio.sleep(0.2)
        assert not waiting.done()
        await put(other, idle(), Expected(lease=token))
        await asyncio.wait_for(waiting, 20)
        await changes.aclose()


async def test_what_no_process_announces_is_looked_for(store: PostgresStore, url: str) -> None:
    """A thread that does not exist has no owner who could tell."""
    other = await PostgresStore.open(url)
    await alive(store)
    changes = store.watch(KEY)
    took = []
    for _ in range(5):  # one of them, at least, on a machine that has other things to do
        await anext(changes)
        assert (await store.load(KEY)).record is None
        began = asyncio.get_running_loop().time()
        done = await put(other, idle())
        await anext(changes)
        took.append(asyncio.get_running_loop().time() - began)
        await other.delete(KEY, Expected(version=done.record.version))
        await anext(changes)
    await changes.aclose()
    assert min(took) < 0.6, took
    await other.aclose()
