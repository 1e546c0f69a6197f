"""The file of a store, told apart from one that has taken its place, and known to be damaged.

A process goes on with the file that it has opened, wherever that is by now: one that was removed
takes what is acknowledged with it. So the path is compared with the file that was opened before
each transaction, and once more before a write is acknowledged. What the driver says
of it becomes an error of the store.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
from contextlib import closing, suppress
from pathlib import Path
from typing import Final, TypeGuard
from urllib.parse import quote

from agui_bridge.errors import ConfigurationError, StoreError, StoreUnavailable, WritesRefused

logger: Final = logging.getLogger("agui_bridge")

BUSY_SECONDS = 5.0
"""How long a transaction waits for other processes (or for its turn) before it gives up."""

CONNECTION_PRAGMAS = (
    "PRAGMA synchronous=FULL",
    "PRAGMA foreign_keys=ON",
    f"PRAGMA busy_timeout={int(BUSY_SECONDS * 1000)}",
)

_PARTS: Final = ("", "-wal", "-shm")
"""The file, and those beside it: without its log, the file lacks what was acknowledged last."""

_DAMAGED: Final = "-damaged"
"""Is appended to the path of a file that tells all processes that this one is damaged."""

_TRIES: Final = 10

_STARTED_ANEW: Final = "stop all servers of this store, put the right file there, and start them"
_RESTORED: Final = "stop all servers of this store, restore a backup of the file, and start them"

_Identity = tuple[int, int] | None


def connect(path: str, *, create: bool = False) -> sqlite3.Connection:
    """A connection that begins no transaction of its own accord, for one thread at a time.

    Args:
        path: of the file.
        create: whether to make the file if it is missing.
    """
    # pysqlite's legacy control begins too late (not for SELECT) and never IMMEDIATE.
    connection = sqlite3.connect(
        f"file:{quote(path)}?mode={'rwc' if create else 'rw'}",
        isolation_level=None,
        check_same_thread=False,
        uri=True,
    )
    try:
        for pragma in CONNECTION_PRAGMAS:
            connection.execute(pragma)
    except BaseException:
        connection.close()
        raise
    return connection


class DatabaseFile:
    """A file as it was opened, which stays open so that no other file gets its number."""

    def __init__(self, path: str) -> None:
        """Open a file with a write-ahead log.

        Args:
            path: absolute.

        Raises:
            ConfigurationError: it is damaged.
            sqlite3.Error: it can't be opened.
        """
        self.path = path
        self._damage: str | None = None
        self._told: str | None = None
        self._lock = threading.Lock()
        for _ in range(_TRIES):
            before = _identity(path)
            self._held = connect(path)
            # Only who reads opens the log too.
            self._held.execute("PRAGMA schema_version").fetchone()
            self._parts = [_identity(path + part) for part in _PARTS]
            if self._parts[0] == before:
                break
            self._held.close()
        self._look_for_damage()

    def connect(self) -> sqlite3.Connection:
        """One more connection to the file.

        Raises:
            StoreUnavailable: another file lies there, or none.
        """
        self.check()
        return connect(self.path)

    def check(self) -> None:
        """Raise unless the file lies where it was opened, and nobody has found it damaged.

        Raises:
            StoreUnavailable: it does not, or is.
        """
        wrong = self._damage or self._moved() or self._found_damaged()
        if wrong != self._told:
            self._tell(wrong)
        if wrong is not None:
            raise StoreUnavailable(wrong)

    def plainly(self, error: sqlite3.Error) -> StoreError:
        """The store's error for the driver's; damage is remembered, here and in all processes."""
        if not is_damage(error):
            return plainly(error)
        self._damage = f"the database file {self.path} is damaged ({error}): {_RESTORED}"
        with suppress(OSError):
            Path(self.path + _DAMAGED).write_text(f"{self._number()}\n{self._damage}\n")
        self._tell(self._damage)
        unavailable = StoreUnavailable(self._damage)
        unavailable.__cause__ = error
        return unavailable

    def close(self) -> None:
        """Let go of the file."""
        self._held.close()

    def _moved(self) -> str | None:
        for part, opened in zip(_PARTS, self._parts, strict=True):
            path = self.path + part
            found = _identity(path)
            if found == opened:
                continue
            if found is None:
                return (
                    f"the file {path} of the database is gone: it was removed or moved away while "
                    "servers use it. Put that same file back, or " + _RESTORED
                )
            return (
                f"the file {path} of the database is another one than this server has opened: "
                "what it writes would be lost. " + _STARTED_ANEW.capitalize()
            )
        return None

    def _found_damaged(self) -> str | None:
        """What another process has found, of the file that this one has opened."""
        mark = self.path + _DAMAGED
        if not os.path.exists(mark):
            return None
        number, _, told = _read(mark).partition("\n")
        if number == self._number():
            self._damage = told.strip()
        return self._damage

    def _look_for_damage(self) -> None:
        """Believe a mark of before if it is still true, and take away one that is not."""
        mark = self.path + _DAMAGED
        if not os.path.exists(mark):
            return
        number, _, told = _read(mark).partition("\n")
        if number == self._number() and not _is_whole(self.path):
            self.close()
            raise ConfigurationError(f"{told.strip()}. Or remove {mark} if it is whole again")
        with suppress(OSError):
            Path(mark).unlink()

    def _number(self) -> str:
        """What tells the file apart on its disk, also after the machine was started anew."""
        opened = self._parts[0]
        return "" if opened is None else str(opened[1])

    def _tell(self, wrong: str | None) -> None:
        with self._lock:
            if wrong == self._told:
                return
            self._told = wrong
        if wrong is None:
            logger.warning("the database file %s is there again: it is used as before", self.path)
        else:
            logger.error("%s. Until then nothing is read or written", wrong)


def _identity(path: str) -> _Identity:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _is_whole(path: str) -> bool:
    try:
        with closing(connect(path)) as connection:
            (first,) = connection.execute("PRAGMA quick_check(1)").fetchone()
            return bool(first == "ok")
    except sqlite3.Error:
        return False


OUR_MISTAKES = (
    sqlite3.DataError,
    sqlite3.IntegrityError,
    sqlite3.NotSupportedError,
    sqlite3.ProgrammingError,
)
"""What trying again does not mend."""

PRIMARY = 0xFF
"""The bits of an extended error code that say what kind it is."""

NO_WRITES = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL)
"""The file only reads, or its disk is full or failing."""


DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
"""The file does not hold what SQLite has written."""


def is_damage(error: BaseException | None) -> TypeGuard[sqlite3.Error]:
    """Whether the driver says that the file is damaged."""
    code = getattr(error, "sqlite_errorcode", None)
    return isinstance(error, sqlite3.Error) and code is not None and code & PRIMARY in DAMAGE


def plainly(error: sqlite3.Error) -> StoreError:
    """The store's error to raise for the driver's."""
    if isinstance(error, OUR_MISTAKES):
        refused = StoreError(f"the database refused a statement: {type(error).__name__}")
        refused.__cause__ = error
        return refused
    code = getattr(error, "sqlite_errorcode", None)
    kind = WritesRefused if code is not None and code & PRIMARY in NO_WRITES else StoreUnavailable
    unavailable = kind(f"the database did not answer: {error}")
    unavailable.__cause__ = error
    return unavailable
