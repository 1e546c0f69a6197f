"""Errors of SQLite as the store's."""

from __future__ import annotations

import sqlite3

from agui_bridge.errors import StoreError, StoreUnavailable

__all__ = ["plainly"]

OUR_MISTAKES = (
    sqlite3.DataError,
    sqlite3.IntegrityError,
    sqlite3.NotSupportedError,
    sqlite3.ProgrammingError,
)
"""What trying again does not mend."""


def plainly(error: sqlite3.Error) -> StoreError:
    """The store's error to raise for the driver's."""
    if isinstance(error, OUR_MISTAKES):
        refused = StoreError(f"the database refused a statement: {type(error).__name__}")
        refused.__cause__ = error
        return refused
    unavailable = StoreUnavailable(f"the database did not answer: {error}")
    unavailable.__cause__ = error
    return unavailable
