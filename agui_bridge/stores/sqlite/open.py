"""From a store's address to a database that is ready for use."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from agui_bridge.errors import ConfigurationError, SchemaMismatch
from agui_bridge.stores.opening import Preparation, note_preparation
from agui_bridge.stores.sql.rows import (
    INTERRUPTS,
    MESSAGES,
    RECEIPTS,
    VERSION_TABLE,
    head_of,
    judge_revision,
    upgrade_script,
)
from agui_bridge.stores.sqlite.database import SqliteDatabase
from agui_bridge.stores.sqlite.file import BUSY_SECONDS, DatabaseFile, connect, is_damage, plainly

MIGRATION_SECONDS = 600
RETRY_PAUSE = 0.02
FORMS = "`sqlite:///relative.db` or `sqlite:////absolute/path.db`"


async def open_database(
    url: str, *, clock: Callable[[], float] | None = None, migrate: bool = True
) -> SqliteDatabase:
    """Open the database of an address, its schema up to date (see `SqliteStore.open`)."""
    path = _path_of(url)
    file = await asyncio.to_thread(_prepare, path, url, migrate)
    return SqliteDatabase(file, clock or time.time)


def inspect_database(url: str) -> Preparation:
    """Say which schema a file has and which one it would get, and change nothing.

    Raises:
        ConfigurationError: as `SqliteStore.open`.
        SchemaMismatch: the schema is newer.
        StoreUnavailable: as `SqliteStore.open`.
    """
    path = _path_of(url)
    _check_folder(path, url)
    if not Path(path).exists():
        return Preparation(None, head_of("sqlite"))
    # Only to read, SQLite would still make files beside one that nobody has open.
    mode = "mode=ro" if Path(f"{path}-wal").exists() else "immutable=1"
    with _told_plainly(url):
        address = f"{Path(path).as_uri()}?{mode}"
        with closing(sqlite3.connect(address, uri=True, timeout=BUSY_SECONDS)) as connection:
            before = _revision(connection)
    judge_revision("sqlite", before, url=url, migrate=True)
    return Preparation(before, head_of("sqlite"))


def _path_of(url: str) -> str:
    kind, _, path = url.partition("://")
    if kind != "sqlite" or (path and not path.startswith("/")) or "?" in path:
        raise ConfigurationError(f"{url!r} is not the address of a SQLite file: write {FORMS}")
    if path in ("", "/", "/:memory:"):
        raise ConfigurationError(
            f"{url!r} would be lost with its connection: use the store `memory:`, or {FORMS}"
        )
    # Connections are made later too, when the working directory may be another.
    return str(Path(path.removeprefix("/")).absolute())


def _prepare(path: str, url: str, migrate: bool) -> DatabaseFile:
    """Check or migrate a file, set what is kept in the file itself, and open it."""
    _check_folder(path, url)
    if not migrate and not Path(path).exists():
        # To connect would create it.
        raise SchemaMismatch(
            f"there is no database at {url!r}: run `agui-bridge migrate --store {url}`"
        )
    with _told_plainly(url), closing(connect(path, create=True)) as connection:
        before = _revision(connection)
        outdated = judge_revision("sqlite", before, url=url, migrate=migrate)
        _use_wal(connection, url)
        if outdated:
            before = _upgrade(connection, url)
        note_preparation(before, head_of("sqlite"))
        return DatabaseFile(path)


def _check_folder(path: str, url: str) -> None:
    if not Path(path).parent.is_dir():
        raise ConfigurationError(
            f"{url!r}: there is no folder {str(Path(path).parent)!r}: create it first"
        )


@contextmanager
def _told_plainly(url: str) -> Iterator[None]:
    """What SQLite raises within, in words for the operator."""
    try:
        yield
    except sqlite3.Error as error:
        if "not a database" in str(error):
            raise ConfigurationError(
                f"{url!r} is a file, but no SQLite database: move it away or name another file"
            ) from error
        if is_damage(error):
            raise ConfigurationError(
                f"{url!r} is damaged ({error}): restore a backup of the file"
            ) from error
        raise plainly(error) from error


def _revision(connection: sqlite3.Connection) -> str | None:
    query = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
    if connection.execute(query, (VERSION_TABLE,)).fetchone() is None:
        return None
    row = connection.execute(f"SELECT version_num FROM {VERSION_TABLE}").fetchone()
    return None if row is None else str(row[0])


def _upgrade(connection: sqlite3.Connection, url: str) -> str | None:
    """Bring the tables up to date in one transaction, one process at a time.

    Returns:
        The revision that this process found when its turn came.
    """
    # Another process may be migrating now, which takes longer than a commit.
    connection.execute(f"PRAGMA busy_timeout={MIGRATION_SECONDS * 1000}")
    # A table that is made anew is dropped first, and must not take along what refers to it.
    connection.execute("PRAGMA foreign_keys=OFF")
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Another process may have been first.
        revision = _revision(connection)
        if judge_revision("sqlite", revision, url=url, migrate=True):
            for statement in _statements(upgrade_script("sqlite", revision)):
                connection.execute(statement)
            _check_references(connection)
        connection.execute("COMMIT")
        return revision
    finally:
        # SQLite has rolled back by itself after some errors.
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _check_references(connection: sqlite3.Connection) -> None:
    for table in (MESSAGES, INTERRUPTS, RECEIPTS):
        if connection.execute(f"PRAGMA foreign_key_check({table.name})").fetchone() is not None:
            raise sqlite3.IntegrityError(f"{table.name} has rows without a thread")


def _statements(script: str) -> Iterator[str]:
    """The statements of a script; the driver's `executescript` would end the transaction."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


def _use_wal(connection: sqlite3.Connection, url: str) -> None:
    """Switch the file to a write-ahead log, which lets readers and a writer work at once."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            (mode,) = connection.execute("PRAGMA journal_mode=WAL").fetchone()
            break
        except sqlite3.OperationalError:
            # SQLite does not wait by itself when another process switches at this moment.
            if time.monotonic() > deadline:
                raise
            time.sleep(RETRY_PAUSE)
    if mode != "wal":
        raise ConfigurationError(
            f"{url!r}: the file system does not support SQLite's write-ahead log; "
            "put the database on a local disk"
        )
