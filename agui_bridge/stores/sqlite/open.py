"""From a store's address to a database that is ready for use."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from sqlalchemy import Connection
from sqlalchemy.exc import DatabaseError, OperationalError, SQLAlchemyError

from agui_bridge.errors import ConfigurationError, SchemaMismatch
from agui_bridge.stores.sql.schema import check_revision, upgrade
from agui_bridge.stores.sqlite.database import BUSY_SECONDS, SqliteDatabase, sqlite_engine
from agui_bridge.stores.sqlite.errors import plainly

__all__ = ["open_database"]

MIGRATION_SECONDS = 600
RETRY_PAUSE = 0.02
FORMS = "`sqlite:///relative.db` or `sqlite:////absolute/path.db`"


async def open_database(
    url: str, *, clock: Callable[[], float] | None = None, migrate: bool = True
) -> SqliteDatabase:
    """Open the database of an address, its schema up to date (see `SqliteStore.open`)."""
    path = _path_of(url)
    await asyncio.to_thread(_prepare, path, url, migrate)
    return SqliteDatabase(path, clock or time.time)


def _path_of(url: str) -> str:
    kind, _, path = url.partition("://")
    if kind != "sqlite" or (path and not path.startswith("/")) or "?" in path:
        raise ConfigurationError(f"{url!r} is not the address of a SQL store: write {FORMS}")
    if path in ("", "/", "/:memory:"):
        raise ConfigurationError(
            f"{url!r} would be lost with its connection: use the store `memory:`, or {FORMS}"
        )
    # Connections are made later too, when the working directory may be another.
    return str(Path(path.removeprefix("/")).absolute())


def _prepare(path: str, url: str, migrate: bool) -> None:
    """Check or migrate a file, and set what is kept in the file itself."""
    if not Path(path).parent.is_dir():
        raise ConfigurationError(f"{url!r}: the directory does not exist, create it first")
    if not migrate and not Path(path).exists():
        # To connect would create it.
        raise SchemaMismatch(
            f"there is no database at {url!r}: run `agui-bridge migrate --store {url}`"
        )
    try:
        with sqlite_engine(path).connect() as connection:
            outdated = check_revision(connection, url=url, migrate=migrate)
            connection.rollback()
            _use_wal(connection, url)
            if outdated:
                # Another process may be migrating now, which takes longer than a commit.
                connection.exec_driver_sql(f"PRAGMA busy_timeout={MIGRATION_SECONDS * 1000}")
                connection.rollback()
                connection.exec_driver_sql("BEGIN IMMEDIATE")
                # Another process may have been first.
                if check_revision(connection, url=url, migrate=migrate):
                    upgrade(connection)
                connection.commit()
    except OperationalError as error:
        raise plainly(error) from error
    except DatabaseError as error:
        _refuse(url, error)
    except SQLAlchemyError as error:
        raise plainly(error) from error


def _use_wal(connection: Connection, url: str) -> None:
    """Switch the file to a write-ahead log, which lets readers and a writer work at once."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            mode = connection.exec_driver_sql("PRAGMA journal_mode=WAL").scalar_one()
            break
        except OperationalError:
            # SQLite does not wait by itself when another process switches at this moment.
            connection.rollback()
            if time.monotonic() > deadline:
                raise
            time.sleep(RETRY_PAUSE)
    connection.rollback()
    if mode != "wal":
        raise ConfigurationError(
            f"{url!r}: the file system does not support SQLite's write-ahead log; "
            "put the database on a local disk"
        )


def _refuse(url: str, error: DatabaseError) -> NoReturn:
    if "not a database" in str(error.orig):
        raise ConfigurationError(
            f"{url!r} is a file, but no SQLite database: move it away or name another file"
        ) from error.orig
    raise plainly(error) from error
