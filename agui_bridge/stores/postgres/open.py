"""From the address of a PostgreSQL database to tables that are ready for use."""

from __future__ import annotations

from typing import Any

from agui_bridge.errors import ConfigurationError
from agui_bridge.stores.opening import Preparation, advise, note_preparation
from agui_bridge.stores.postgres.address import FORM, Address
from agui_bridge.stores.postgres.connections import connect
from agui_bridge.stores.postgres.errors import FAILURES, refusal
from agui_bridge.stores.sql.rows import (
    VERSION_TABLE,
    head_of,
    judge_revision,
    upgrade_script,
)

OLDEST_SERVER = 120000
LOCK = int.from_bytes(b"agui", "big")
"""The advisory lock that is held while tables are made."""

MIGRATION_SECONDS = 600


async def prepare_database(address: Address, *, migrate: bool) -> bool:
    """Check the server and the tables, and migrate them when needed.

    Returns:
        Whether a pooler may change the server between two statements.

    Raises:
        ConfigurationError: the server does not let us in or is too old.
        SchemaMismatch: the schema is newer, or older and `migrate` is false.
        StoreUnavailable: the database does not answer.
    """
    pooled, before = await _look(address)
    try:
        if judge_revision("postgres", before, url=address.shown, migrate=migrate):
            before = await _upgrade(address)
    except FAILURES as error:
        raise refusal(error, address.shown) from None
    note_preparation(before, head_of("postgres"))
    return pooled


async def inspect_database(address: Address) -> Preparation:
    """Say which schema a database has and which one it would get, and change nothing.

    Raises:
        ConfigurationError: as `prepare_database`.
        SchemaMismatch: the schema is newer.
        StoreUnavailable: as `prepare_database`.
    """
    _, before = await _look(address)
    judge_revision("postgres", before, url=address.shown, migrate=True)
    return Preparation(before, head_of("postgres"))


async def _look(address: Address) -> tuple[bool, str | None]:
    """Whether a pooler may change the server, and the schema; None where there are no tables."""
    try:
        connection = await _connect(address)
        try:
            return await _check(connection, address)
        finally:
            await connection.close(timeout=address.connect_timeout)
    except FAILURES as error:
        raise refusal(error, address.shown) from None


async def _connect(address: Address) -> Any:
    try:
        return await connect(address, prepare=False)
    except ValueError:
        # The driver's text quotes what it could not read, which may be a piece of a password.
        raise ConfigurationError(
            f"{address.shown!r} is not the address of a PostgreSQL store: use {FORM}, each part "
            "percent-encoded"
        ) from None


async def _check(connection: Any, address: Address) -> tuple[bool, str | None]:
    # In a transaction, so that a pooler keeps the server between preparing and executing.
    async with connection.transaction(readonly=True):
        version = connection.get_server_version()
        pid = await connection.fetchval("SELECT pg_backend_pid()")
        revision = await _revision(connection, address.schema)
        if await connection.fetchval("SELECT current_setting('fsync')") == "off":
            advise(
                "%s runs with fsync=off: a crash of its machine may lose what was acknowledged",
                address.shown,
            )
    if version.major * 10000 < OLDEST_SERVER:
        raise ConfigurationError(
            f"{address.shown!r}: PostgreSQL {version.major} is too old, 12 or later is needed"
        )
    # A pooler invents the number that it gives at the start.
    between = address.pooler or ("none" if pid == connection.get_server_pid() else "transaction")
    return between == "transaction", revision


async def _revision(connection: Any, schema: str | None) -> str | None:
    table = VERSION_TABLE if schema is None else f"{_quoted(schema)}.{VERSION_TABLE}"
    if await connection.fetchval("SELECT to_regclass($1)", table) is None:
        return None
    revision: str | None = await connection.fetchval(f"SELECT version_num FROM {table}")
    return revision


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


async def _upgrade(address: Address) -> str | None:
    """Bring the tables up to date in one transaction, one process at a time.

    Returns:
        The revision that this process found when its turn came.
    """
    connection = await connect(address, prepare=False)
    try:
        # Each statement sees what was committed before it: who had to wait for the lock, too.
        async with connection.transaction(isolation="read_committed"):
            limit = f"'{MIGRATION_SECONDS}s'"
            await connection.execute(
                f"SET LOCAL lock_timeout = {limit}; SET LOCAL statement_timeout = {limit}"
            )
            await connection.execute(
                f"SELECT pg_advisory_xact_lock({LOCK})", timeout=MIGRATION_SECONDS
            )
            if address.schema is not None:
                await _use_schema(connection, address.schema)
            revision = await _revision(connection, address.schema)
            # Another process may have been first.
            if judge_revision("postgres", revision, url=address.shown, migrate=True):
                script = upgrade_script("postgres", revision)
                await connection.execute(script, timeout=MIGRATION_SECONDS)
        return revision
    finally:
        await connection.close(timeout=address.connect_timeout)


async def _use_schema(connection: Any, schema: str) -> None:
    # IF NOT EXISTS asks for the right to create even when it does.
    found = "SELECT count(*) FROM pg_namespace WHERE nspname = $1"
    if not await connection.fetchval(found, schema):
        await connection.execute(f"CREATE SCHEMA {_quoted(schema)}")
    await connection.execute(f"SET LOCAL search_path TO {_quoted(schema)}")
