"""From the address of a PostgreSQL database to tables that are ready for use."""

from __future__ import annotations

import asyncio
import logging
import uuid
from typing import Any, Final

from agui_bridge.errors import ConfigurationError
from agui_bridge.stores.postgres.address import FORM, Address
from agui_bridge.stores.postgres.connections import connect
from agui_bridge.stores.postgres.errors import FAILURES, refusal
from agui_bridge.stores.sql.schema import VERSION_TABLE, judge_revision, upgrade

__all__ = ["prepare_database"]

logger: Final = logging.getLogger("agui_bridge")

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
    try:
        connection = await _connect(address)
        try:
            pooled, outdated = await _check(connection, address, migrate)
        finally:
            await connection.close(timeout=address.connect_timeout)
        if outdated:
            # Alembic keeps what is under way in globals behind a lock, which would stop the
            # loop: it gets a thread and a loop of its own.
            await asyncio.to_thread(asyncio.run, _migrate(address))
    except FAILURES as error:
        raise refusal(error, address.shown) from None
    return pooled


async def _connect(address: Address) -> Any:
    try:
        return await connect(address, prepare=False)
    except ValueError:
        # The driver's text quotes what it could not read, which may be a piece of a password.
        raise ConfigurationError(
            f"{address.shown!r} is not the address of a PostgreSQL store: use {FORM}, each part "
            "percent-encoded"
        ) from None


async def _check(connection: Any, address: Address, migrate: bool) -> tuple[bool, bool]:
    # In a transaction, so that a pooler keeps the server between preparing and executing.
    async with connection.transaction(readonly=True):
        version = connection.get_server_version()
        pid = await connection.fetchval("SELECT pg_backend_pid()")
        revision = await _revision(connection, address.schema)
        if await connection.fetchval("SELECT current_setting('fsync')") == "off":
            logger.warning(
                "%s runs with fsync=off: a crash of its machine may lose what was acknowledged",
                address.shown,
            )
    if version.major * 10000 < OLDEST_SERVER:
        raise ConfigurationError(
            f"{address.shown!r}: PostgreSQL {version.major} is too old, 12 or later is needed"
        )
    # A pooler invents the number that it gives at the start.
    between = address.pooler or ("none" if pid == connection.get_server_pid() else "transaction")
    outdated = judge_revision(revision, url=address.shown, migrate=migrate)
    return between == "transaction", outdated


async def _revision(connection: Any, schema: str | None) -> str | None:
    table = VERSION_TABLE if schema is None else f"{_quoted(schema)}.{VERSION_TABLE}"
    if await connection.fetchval("SELECT to_regclass($1)", table) is None:
        return None
    revision: str | None = await connection.fetchval(f"SELECT version_num FROM {table}")
    return revision


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


async def _migrate(address: Address) -> None:
    """Bring the tables up to date in one transaction, one process at a time."""
    from sqlalchemy import Connection, NullPool, text
    from sqlalchemy.exc import DBAPIError
    from sqlalchemy.ext.asyncio import create_async_engine

    schema = address.schema

    async def creator() -> Any:
        return await connect(address, prepare=False)

    def steps(connection: Connection) -> None:
        connection.execute(text(f"SET LOCAL lock_timeout = '{MIGRATION_SECONDS}s'"))
        connection.execute(text(f"SELECT pg_advisory_xact_lock({LOCK})"))
        if schema is not None:
            found = text("SELECT count(*) FROM pg_namespace WHERE nspname = :name")
            # IF NOT EXISTS asks for the right to create even when it does.
            if not connection.scalar(found, {"name": schema}):
                connection.execute(text(f"CREATE SCHEMA {_quoted(schema)}"))
            connection.execute(text(f"SET LOCAL search_path TO {_quoted(schema)}"))
        upgrade(connection)

    engine = create_async_engine(
        "postgresql+asyncpg://",
        poolclass=NullPool,
        hide_parameters=True,
        connect_args={
            "async_creator_fn": creator,
            "prepared_statement_cache_size": 0,
            # Behind a pooler two connections may share one server.
            "prepared_statement_name_func": lambda: f"agui_{uuid.uuid4().hex}",
        },
    )
    try:
        async with engine.begin() as connection:
            await connection.run_sync(steps)
    except DBAPIError as error:
        # SQLAlchemy's text holds the statement.
        cause = error.orig.__cause__ if error.orig is not None else None
        raise (cause or error.orig or error) from None
    finally:
        await engine.dispose()
