"""A PostgreSQL server for tests, with schemas that are gone afterwards.

The one on 127.0.0.1:5432 is used where there is one, with its database `test`; else one is
started from the programs on this machine, for as long as the tests run.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import asyncpg

from agui_bridge.stores.postgres.store import PostgresStore
from tests.support import at_the_end, unavailable
from tests.support.ports import free_port

__all__ = ["Server", "emptied", "execute", "new_schema", "server", "with_schema"]

T = TypeVar("T")

PORT = 5432
USERS = ("postgres", "root")
REMEDY = "start it on 127.0.0.1:5432 with trust authentication and a database named test"


class Server:
    """Where the server is, and the address of a store on it."""

    def __init__(self, port: int, user: str) -> None:
        self.port = port
        self.user = user
        self.dsn = self.at(port)

    def at(self, port: int, database: str = "test") -> str:
        """The address of the database by way of another port."""
        return f"postgresql://{self.user}@127.0.0.1:{port}/{database}"


@cache
def server() -> Server:
    """The server; gives up on the test when there is none and none can be started."""
    found = _running() or _started()
    if found is None:
        unavailable("PostgreSQL", REMEDY)
    return found


def _running() -> Server | None:
    for user in USERS:
        candidate = Server(PORT, user)
        try:
            execute(candidate.dsn, "SELECT 1")
        except (OSError, asyncpg.PostgresError, TimeoutError):
            continue
        return candidate
    return None


def _started() -> Server | None:
    """Start a server; it refuses to run as root."""
    program = shutil.which("initdb") or next(
        (str(path) for path in sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))), None
    )
    if program is None or os.geteuid() == 0:
        return None
    folder = Path(program).resolve().parent
    directory = tempfile.mkdtemp(prefix="agui-postgres-")
    at_the_end.callback(shutil.rmtree, directory, ignore_errors=True)
    port = free_port()
    quiet = subprocess.DEVNULL
    user = USERS[0]
    data = f"{directory}/data"
    subprocess.run(
        [folder / "initdb", "-D", data, "-U", user, "-A", "trust", "-N", "-E", "UTF8"],
        check=True,
        stdout=quiet,
    )
    options = f"-p {port} -k {directory} -c listen_addresses=127.0.0.1"
    control = [f"{folder}/pg_ctl", "-D", data, "-w", "-l", f"{directory}/log"]
    subprocess.run([*control, "-o", options, "start"], check=True, stdout=quiet)
    stop = [*control, "-m", "immediate", "stop"]
    at_the_end.callback(lambda: subprocess.run(stop, stdout=quiet, check=False))
    started = Server(port, user)
    execute(started.at(port, "postgres"), "CREATE DATABASE test")
    return started


def in_thread(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine from plain code, whether or not a loop is running."""
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(asyncio.run(work))
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return results[0]


def execute(dsn: str, *statements: str) -> list[list[Any]]:
    """Run statements on a connection of its own; gives the rows of each."""

    async def run() -> list[list[Any]]:
        connection = await asyncpg.connect(dsn, timeout=5)
        try:
            return [await connection.fetch(statement) for statement in statements]
        finally:
            await connection.close(timeout=5)

    return in_thread(run())


def with_schema(dsn: str, schema: str, **options: str) -> str:
    """The store's address of a schema."""
    more = "".join(f"&{name}={value}" for name, value in options.items())
    return f"{dsn}?schema={schema}{more}"


@contextmanager
def new_schema() -> Iterator[str]:
    """The name of a schema that is not there yet, and is dropped afterwards."""
    name = f"agui_test_{os.getpid()}_{os.urandom(4).hex()}"
    try:
        yield name
    finally:
        execute(server().dsn, f'DROP SCHEMA IF EXISTS "{name}" CASCADE')


@cache
def _shared_schema() -> str:
    name = at_the_end.enter_context(new_schema())

    async def make() -> None:
        store = await PostgresStore.open(with_schema(server().dsn, name))
        await store.aclose()

    in_thread(make())
    return name


def emptied() -> str:
    """The address of the store that most tests share, without any threads."""
    schema = _shared_schema()
    tables = ("agui_threads", "agui_audit", "agui_grants", "agui_servers")
    # On one connection: to begin another takes the server longer than to delete.
    execute(server().dsn, *(f"DELETE FROM {schema}.{table}" for table in tables))
    return with_schema(server().dsn, schema)
