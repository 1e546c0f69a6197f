"""PostgreSQL that is there but unwilling: locks, limits, rights, a server that only reads."""

import os
import time
from collections.abc import Iterator
from dataclasses import replace

import asyncpg
import pytest

from agui_bridge.errors import StoreError, StoreUnavailable, WritesRefused
from agui_bridge.stores.base import Expected
from agui_bridge.stores.postgres import errors
from agui_bridge.stores.postgres.store import PostgresStore
from tests.stores.samples import KEY, idle, put
from tests.support.postgres import emptied, execute, server


@pytest.fixture
def url() -> str:
    return emptied()


async def test_a_row_that_another_session_locks_is_waited_for_in_bounds(url: str) -> None:
    store = await PostgresStore.open(f"{url}&command_timeout=2")
    await put(store, idle())
    other = await asyncpg.connect(server().dsn)
    schema = url.partition("schema=")[2]
    holding = other.transaction()
    await holding.start()
    await other.execute(f"SELECT FROM {schema}.agui_threads FOR UPDATE")

    began = time.monotonic()
    with pytest.raises(StoreUnavailable):
        await put(store, idle(), Expected(version=1000))
    assert time.monotonic() - began < 20  # it waits for two
    assert (await store.load(KEY)).record is not None

    await holding.rollback()
    # Nobody waits on behind our back: the refused write stays unwritten.
    done = await put(store, idle(), Expected(version=1000))
    assert done.record.version == 1001
    await other.close()
    await store.aclose()


async def test_a_server_that_only_reads_is_an_unavailable_store_that_can_be_read(
    url: str,
) -> None:
    writer = await PostgresStore.open(url)
    done = await put(writer, idle())
    store = await PostgresStore.open(f"{url}&default_transaction_read_only=on")

    with pytest.raises(WritesRefused, match="read-only"):
        await put(store, idle(), Expected(version=1000))
    with pytest.raises(WritesRefused, match="read-only"):
        await store.ping()
    assert (await store.load(KEY)).record == done.record
    await store.aclose()
    await writer.aclose()


@pytest.fixture
def role() -> Iterator[str]:
    """A role that may do nothing yet but connect."""
    name = f"agui_test_{os.getpid()}"
    execute(server().dsn, f"CREATE ROLE {name} LOGIN")
    yield name
    execute(server().dsn, f"DROP OWNED BY {name}", f"DROP ROLE {name}")


async def test_too_many_connections_are_an_unavailable_store(url: str, role: str) -> None:
    schema = url.partition("schema=")[2]
    execute(
        server().dsn,
        f"GRANT USAGE ON SCHEMA {schema} TO {role}",
        f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {role}",
    )
    ours = url.replace(f"//{server().user}@", f"//{role}@")
    store = await PostgresStore.open(ours)
    execute(server().dsn, f"ALTER ROLE {role} CONNECTION LIMIT 0")
    with pytest.raises(StoreUnavailable, match="too many connections"):
        await store.load(KEY)

    execute(server().dsn, f"ALTER ROLE {role} CONNECTION LIMIT 5")
    await store.load(KEY)
    with pytest.raises(StoreError, match="InsufficientPrivilege") as caught:
        await put(store, idle(state="secret"))
    assert not isinstance(caught.value, StoreUnavailable)
    assert_no_data(caught.value)
    await store.aclose()


@pytest.mark.parametrize(
    ("error", "wanted"),
    [
        (asyncpg.DiskFullError("could not extend file"), WritesRefused),
        (asyncpg.OutOfMemoryError("out of memory"), StoreUnavailable),
        (
            asyncpg.LockNotAvailableError("canceling statement due to lock timeout"),
            StoreUnavailable,
        ),
        (asyncpg.QueryCanceledError("canceling statement"), StoreUnavailable),
        (asyncpg.AdminShutdownError("terminating connection"), StoreUnavailable),
        (asyncpg.CannotConnectNowError("the database system is starting up"), StoreUnavailable),
        (asyncpg.ReadOnlySQLTransactionError("cannot execute UPDATE"), WritesRefused),
        (asyncpg.DeadlockDetectedError("deadlock detected"), StoreUnavailable),
        (asyncpg.InterfaceError("connection is closed"), StoreUnavailable),
        (ConnectionResetError(104, "reset by peer"), StoreUnavailable),
        (TimeoutError(), StoreUnavailable),
        (asyncpg.DataError("invalid input for query argument $1: 'secret'"), StoreError),
        (asyncpg.UndefinedTableError('relation "secret" does not exist'), StoreError),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_an_error_of_the_driver_says_whether_to_try_again_and_shows_no_data(
    error: Exception, wanted: type[StoreError]
) -> None:
    told = errors.plainly(error)

    assert type(told) is wanted
    assert "secret" not in str(told)


def assert_no_data(error: BaseException | None) -> None:
    while error is not None:
        assert "secret" not in str(error)
        assert "INSERT" not in str(error)
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


async def test_a_table_that_an_upgrade_made_and_nobody_granted_is_named_with_the_page(
    url: str, role: str
) -> None:
    schema = url.partition("schema=")[2]
    execute(
        server().dsn,
        f"GRANT USAGE ON SCHEMA {schema} TO {role}",
        f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO {role}",
        f"REVOKE ALL ON {schema}.agui_probe FROM {role}",
    )
    store = await PostgresStore.open(url.replace(f"//{server().user}@", f"//{role}@"))

    await put(store, idle())
    with pytest.raises(StoreError, match=r"an upgrade .*docs/stores-postgres\.md"):
        await store.ping()
    await store.aclose()


async def test_an_id_that_no_index_takes_is_refused_with_the_reason(url: str) -> None:
    store = await PostgresStore.open(url)
    long = replace(KEY, thread=os.urandom(4000).hex())

    with pytest.raises(StoreError, match="too long"):
        await put(store, idle(long))
    assert (await store.load(long)).record is None
    await store.aclose()


async def test_a_pooler_that_was_not_noticed_is_told_with_the_option_that_helps() -> None:
    told = errors.plainly(asyncpg.InvalidSQLStatementNameError("prepared statement is gone"))

    assert "pooler=transaction" in str(told)
