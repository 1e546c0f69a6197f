"""Errors of SQLite as the store's: SQLAlchemy's while a file is opened, the driver's afterwards."""

from __future__ import annotations

import sqlite3

from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from agui_bridge.errors import StoreError, StoreUnavailable

__all__ = ["plainly"]

OUR_MISTAKES = (
    sqlite3.DataError,
    sqlite3.IntegrityError,
    sqlite3.NotSupportedError,
    sqlite3.ProgrammingError,
)
"""What trying again does not mend."""


def plainly(error: sqlite3.Error | SQLAlchemyError) -> StoreError:
    """The store's error to raise; SQLAlchemy's text holds statements and parameters."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    if isinstance(cause, sqlite3.Error) and not isinstance(cause, OUR_MISTAKES):
        unavailable = StoreUnavailable(f"the database did not answer: {cause}")
        unavailable.__cause__ = cause
        return unavailable
    refused = StoreError(f"the database refused a statement: {type(error).__name__}")
    refused.__cause__ = error
    return refused
