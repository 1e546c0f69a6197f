"""Errors of SQLite as the store's."""

from __future__ import annotations

import sqlite3
from typing import TypeGuard

from agui_bridge.errors import StoreError, StoreUnavailable, WritesRefused

__all__ = ["is_damage", "plainly"]

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
