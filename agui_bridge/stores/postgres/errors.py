"""What a failure of PostgreSQL means: gone, busy, or our mistake. Texts hold no data.

The driver's texts quote arguments and rows, so only the server's first line is passed on, and
only where it tells of the server and not of what we sent.
"""

from __future__ import annotations

from asyncpg import InterfaceError, InternalClientError, PostgresError

from agui_bridge.errors import (
    ConfigurationError,
    StoreError,
    StoreUnavailable,
    WritesRefused,
)
from agui_bridge.stores.opening import ConnectionCut

FAILURES = (PostgresError, InterfaceError, InternalClientError, OSError, TimeoutError)
"""All that the driver raises (an SSL error is an OSError)."""

UNAVAILABLE = ("08", "25006", "40", "53", "55", "57", "58", "XX", "F0")
"""How the states begin that tell of the server: connections, standby, rollbacks, resources,
locks, an operator, the system, internal errors, the server's own files."""

NO_WRITES = ("25006", "53100", "58030")
"""It only reads, its disk is full, or its files fail."""

ROLLED_BACK = ("40001", "40P01")
"""Serialisation failure and deadlock: nothing took place."""

NO_CONNECTION = ("08", "57P01", "57P02", "57P03")
"""The connection or its server is going."""

NOT_READY = ("53300",)
"""Every place at the server is taken, for now."""

MIXED_UP = (
    "a pooler changes servers between statements: add `pooler=transaction` to the store's address"
)
KNOWN = {
    "26000": MIXED_UP,
    "42P05": MIXED_UP,
    "42501": (
        "the database refused a statement: InsufficientPrivilegeError (42501); an upgrade may have "
        "made a table that its user was not granted (see docs/stores-postgres.md)"
    ),
    "54000": "an id is too long for the database's indexes",
}

WRONG_ADDRESS = {
    "28": "the server does not let us in: check user and password, and the server's pg_hba.conf",
    "3D000": "there is no such database: create it first",
    "42704": "the server does not know one of the options",
}


def _state(error: BaseException) -> str:
    state = getattr(error, "sqlstate", None)
    return state if isinstance(state, str) else ""


def connection_lost(error: BaseException) -> bool:
    """Whether the connection is gone, so that another one may do better."""
    if isinstance(error, TimeoutError):
        return False
    if isinstance(error, PostgresError):
        return _state(error).startswith(NO_CONNECTION)
    # A value that the driver refuses is an InterfaceError as well.
    return isinstance(error, OSError | InternalClientError | InterfaceError) and not isinstance(
        error, ValueError
    )


def may_try_again(error: BaseException) -> bool:
    """Whether nothing at all took place, and the next try may pass."""
    return _state(error) in ROLLED_BACK


def is_standby(error: BaseException) -> bool:
    """Whether the server only reads: the primary may be another one by now."""
    return _state(error) == "25006"


def plainly(error: BaseException) -> StoreError:
    """A store's error for the driver's."""
    if isinstance(error, TimeoutError):
        return StoreUnavailable("the database did not answer in time")
    if isinstance(error, PostgresError):
        state = _state(error)
        if state.startswith(UNAVAILABLE):
            kind = WritesRefused if state in NO_WRITES else StoreUnavailable
            return kind(f"the database did not answer: {_first_line(error)} ({state})")
        if state in KNOWN:
            return StoreError(KNOWN[state])
        return StoreError(f"the database refused a statement: {type(error).__name__} ({state})")
    if connection_lost(error):
        return StoreUnavailable(f"no connection to the database: {type(error).__name__}")
    return StoreError(f"the database refused a statement: {type(error).__name__}")


def refusal(error: BaseException, shown: str) -> StoreError | ConfigurationError:
    """What opening a store raises for the driver's error.

    Args:
        error: the driver's.
        shown: the address, without its password.
    """
    state = _state(error)
    for begin, remedy in WRONG_ADDRESS.items():
        if state.startswith(begin):
            return ConfigurationError(f"{shown!r}: {remedy}")
    if isinstance(error, OSError) and not isinstance(error, TimeoutError):
        reason = error.strerror or type(error).__name__
        kind = ConnectionCut if _is_cut(error) else StoreUnavailable
        return kind(f"no connection to {shown!r}: {reason}")
    plain = plainly(error)
    if isinstance(plain, StoreUnavailable) and (
        connection_lost(error) or state in NOT_READY or isinstance(error, TimeoutError)
    ):
        return ConnectionCut(str(plain))
    return plain


def _is_cut(error: OSError) -> bool:
    """Whether a server was reached and has gone; all else may be a wrong address."""
    refused = isinstance(error, ConnectionRefusedError) or "rejected" in str(error)
    return isinstance(error, ConnectionError) and not refused


def _first_line(error: PostgresError) -> str:
    return str(error.args[0]).partition("\n")[0] if error.args else type(error).__name__
