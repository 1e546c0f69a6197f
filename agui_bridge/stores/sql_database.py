"""What one kind of SQL database does in its own way: the only place where dialects differ.

`SqlStore` writes each transaction as a plain function over a SQLAlchemy connection. How such a
function is run (SQLite: in a thread of its own; a networked database: on its async driver, by
`AsyncConnection.run_sync`) is the database's affair.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn, Protocol, TypeVar

from sqlalchemy import Connection, Table
from sqlalchemy.exc import (
    DataError,
    DBAPIError,
    IntegrityError,
    NotSupportedError,
    ProgrammingError,
    SQLAlchemyError,
)

from agui_bridge.errors import StoreError, StoreUnavailable

__all__ = ["Database", "raise_plainly"]

T = TypeVar("T")

OUR_MISTAKES = (DataError, IntegrityError, NotSupportedError, ProgrammingError)
"""What trying again does not mend."""


class Database(Protocol):
    """A SQL database that is open.

    A cancelled `read` or `write` either takes place whole or not at all, and leaves the
    database usable.
    """

    @property
    def insert(self) -> Callable[[Table], Any]:
        """The dialect's INSERT that has `on_conflict_do_update`."""
        ...

    def now(self, connection: Connection) -> float:
        """The store's time, within a transaction."""
        ...

    async def read(self, body: Callable[[Connection], T]) -> T:
        """Run a function in one consistent snapshot.

        Raises:
            StoreUnavailable: the database did not answer.
        """
        ...

    async def write(self, body: Callable[[Connection], T]) -> T:
        """Run a function in a transaction that commits when it returns, as if it ran alone.

        Raises:
            StoreUnavailable: the database did not answer; whether it committed is unknown.
        """
        ...

    async def aclose(self) -> None:
        """Wait for what is under way, then close the connections."""
        ...


def raise_plainly(error: SQLAlchemyError) -> NoReturn:
    """Raise a store's error for SQLAlchemy's, whose text holds statements and parameters."""
    if isinstance(error, DBAPIError) and not isinstance(error, OUR_MISTAKES):
        raise StoreUnavailable(f"the database did not answer: {error.orig}") from error.orig
    raise StoreError(f"the database refused a statement: {type(error).__name__}") from error
