"""Connections to PostgreSQL for `PostgresStore`: a pool on which single statements run.

A statement that commits by itself needs no BEGIN and COMMIT: one round trip, and no transaction
that a cancellation could leave open. Behind a pooler that changes servers between statements it
is wrapped in an explicit transaction, which keeps the server for as long as it lasts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, TypeAlias

import asyncpg

from agui_bridge.errors import NotReplicated, StoreUnavailable
from agui_bridge.event_loops import PerLoop
from agui_bridge.stores.postgres.address import Address
from agui_bridge.stores.postgres.errors import (
    FAILURES,
    connection_lost,
    is_standby,
    may_try_again,
    plainly,
)
from agui_bridge.stores.postgres.statements import Statement

TRIES = 4
"""How often a call is tried in all, when its connection was lost or it lost to another."""

RETRY_PAUSE = 0.02
RELEASE_SECONDS = 1.0
"""How long a statement that was given up may take to be cancelled."""

MARGIN = 0.9
"""The server gives up before we do, so that it does not go on without us."""

WAITS_FOR_STANDBYS = "SyncRepWaitForLSN"
"""The function of PostgreSQL that warns when such a wait ends early; its words are translated."""

Rows: TypeAlias = list[asyncpg.Record]


class Connection(asyncpg.Connection):  # type: ignore[misc]  # the driver has no types
    """A connection that is given back as it is: no call leaves anything behind on it."""

    def get_reset_query(self) -> str:
        """Spare a round trip after every call."""
        return ""


async def connect(address: Address, *, prepare: bool) -> Connection:
    """Make a connection of one's own.

    Args:
        address: of the database.
        prepare: whether prepared statements may be kept on it.
    """
    connection: Connection = await asyncpg.connect(
        address.dsn, connection_class=Connection, **_options(address, prepare=prepare)
    )
    return connection


def _options(address: Address, *, prepare: bool) -> dict[str, Any]:
    options: dict[str, Any] = {
        "timeout": address.connect_timeout,
        "command_timeout": address.command_timeout,
    }
    return options if prepare else {**options, "statement_cache_size": 0}


def _limits(address: Address) -> dict[str, str]:
    milliseconds = str(int(address.command_timeout * MARGIN * 1000) or 1)
    return {"statement_timeout": milliseconds, "lock_timeout": milliseconds}


DURABLE = (
    "SELECT set_config('synchronous_commit', 'on', {local})"
    " WHERE current_setting('synchronous_commit') = 'off'"
)
"""What is acknowledged must not be lost: a claim that is gone would be executed again."""


async def set_up(connection: Any, address: Address, *, durable: bool = True) -> None:
    """Give a session of our own its limits, whatever the server's defaults are.

    Not at the connection's start: poolers refuse what they don't know.

    Args:
        connection: the session's.
        address: has the limits.
        durable: whether its transactions shall wait for the disk.
    """
    settings = _limits(address) | {"default_transaction_isolation": "'read committed'"}
    statements = [f"SET {name} = {value}" for name, value in settings.items()]
    wait = DURABLE.format(local="false") if durable else "SET synchronous_commit = off"
    await connection.execute("; ".join([*statements, wait]))


class _Here:
    """The pool of one event loop, and what is under way in it."""

    def __init__(self, pool: asyncpg.Pool) -> None:
        self.pool = pool
        self.under_way: set[asyncio.Task[Rows]] = set()

    def done(self, task: asyncio.Task[Rows]) -> None:
        self.under_way.discard(task)
        if not task.cancelled():
            # Its caller may be gone: then nobody else asks.
            task.exception()


class Connections:
    """The pools: one for each event loop that the store is used in."""

    def __init__(self, address: Address, *, pooled: bool) -> None:
        """Connect to nothing yet; connections are made when they are needed.

        Args:
            address: of the database.
            pooled: whether a pooler may change the server between two statements.
        """
        self._address = address
        self._here: PerLoop[_Here] = PerLoop(self._make, _close)
        self._seconds = address.command_timeout
        self._pooled = pooled
        limits = [f"SET LOCAL {name} = {value}" for name, value in _limits(address).items()]
        begin = ["BEGIN ISOLATION LEVEL READ COMMITTED", *limits, DURABLE.format(local="true")]
        self._begin = "; ".join(begin)
        self._closed = False

    def _make(self) -> _Here:
        address, pooled = self._address, self._pooled

        async def init(connection: Any) -> None:
            await set_up(connection, address)

        return _Here(
            asyncpg.create_pool(
                address.dsn,
                min_size=0,
                max_size=address.pool_size,
                connection_class=Connection,
                init=None if pooled else init,
                **_options(address, prepare=not pooled),
            )
        )

    async def run(
        self, statement: Statement, values: Mapping[str, Any], *, repeatable: bool = True
    ) -> Rows:
        """Run a statement, whole or not at all, also when the caller is cancelled meanwhile.

        Args:
            statement: is a transaction of its own.
            values: of its parameters.
            repeatable: whether it may run again when it is unknown whether it took place.

        Raises:
            StoreUnavailable: the database did not answer.
            StoreError: it refused the statement.
        """
        if self._closed:
            raise StoreUnavailable("the store is closed")
        here, arguments = self._here.get(), statement.arguments(values)
        task = asyncio.ensure_future(self._run(here.pool, statement, arguments, repeatable))
        here.under_way.add(task)
        task.add_done_callback(here.done)
        return await asyncio.shield(task)

    async def _run(
        self, pool: asyncpg.Pool, statement: Statement, arguments: list[Any], repeatable: bool
    ) -> Rows:
        deadline = asyncio.get_running_loop().time() + self._seconds
        left = TRIES
        while True:
            connection = await self._acquire(pool, deadline)
            try:
                return await self._once(connection, statement.sql, arguments, deadline)
            except FAILURES as error:
                left -= 1
                again = may_try_again(error) or (repeatable and connection_lost(error))
                if is_standby(error) or isinstance(error, TimeoutError):
                    # The other connections lead to the same place, or to nowhere as well.
                    await pool.expire_connections()
                if not left or not again or asyncio.get_running_loop().time() >= deadline:
                    raise plainly(error) from None
            finally:
                await self._release(pool, connection)
            await asyncio.sleep(RETRY_PAUSE * (TRIES - 1 - left))

    async def _acquire(self, pool: asyncpg.Pool, deadline: float) -> Any:
        try:
            async with asyncio.timeout_at(deadline):
                # The first makes it ready, which connects to nothing and waits for nothing.
                await pool
                return await pool.acquire()
        except TimeoutError:
            raise StoreUnavailable("the database did not answer: no connection in time") from None
        except FAILURES as error:
            raise plainly(error) from None

    async def _once(self, connection: Any, sql: str, arguments: list[Any], deadline: float) -> Rows:
        cut_off: list[Any] = []

        def listen(_: object, message: Any) -> None:
            if message.server_source_function == WAITS_FOR_STANDBYS:
                cut_off.append(message)

        connection.add_log_listener(listen)
        try:
            rows = await self._fetch(connection, sql, arguments, deadline)
        finally:
            connection.remove_log_listener(listen)
        if cut_off:
            # Its COMMIT says that all is well: the write is there, but perhaps nowhere else.
            raise NotReplicated(
                "the wait for PostgreSQL's synchronous standbys was cancelled: whether the write "
                "outlives a failover is unknown"
            )
        return rows

    async def _fetch(
        self, connection: Any, sql: str, arguments: list[Any], deadline: float
    ) -> Rows:
        left = max(deadline - asyncio.get_running_loop().time(), 0.001)
        if not self._pooled:
            rows: Rows = await connection.fetch(sql, *arguments, timeout=left)
            return rows
        async with asyncio.timeout(left):
            await connection.execute(self._begin)
            rows = await connection.fetch(sql, *arguments)
            await connection.execute("COMMIT")
            return rows

    async def _release(self, pool: asyncpg.Pool, connection: Any) -> None:
        try:
            await pool.release(connection, timeout=RELEASE_SECONDS)
        except FAILURES:
            # The pool has closed it. What the call gave or raised stands.
            return

    async def aclose(self) -> None:
        """Wait for what is under way, then close the connections."""
        self._closed = True
        await self._here.aclose()


async def _close(here: _Here) -> None:
    while here.under_way:
        await asyncio.wait(here.under_way)
    try:
        async with asyncio.timeout(RELEASE_SECONDS):
            await here.pool.close()
    except FAILURES:
        here.pool.terminate()
