"""A primary and its replica, real servers both, and a link between them that can stand still."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import subprocess
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Final

import asyncpg

from tests.support import unavailable
from tests.support.ports import free_port
from tests.support.proxy import Proxy, proxy_to
from tests.support.redis_server import RedisServer

__all__ = ["Pair", "postgres_pair", "redis_pair"]

PATIENCE: Final = 30.0
USER: Final = "postgres"


class Pair(ABC):
    """What the tests do with either kind.

    Attributes:
        url: of a store that follows the primary; options can be added with `&`.
        link: what the replica replicates through.
    """

    url: str
    link: Proxy

    @abstractmethod
    async def replicated(self) -> None:
        """Wait until the replica has all that the primary has."""

    def lag(self) -> None:
        """Have the replica get nothing from now on."""
        self.link.stall()

    @abstractmethod
    async def promote(self) -> None:
        """Make a primary of the replica."""

    @abstractmethod
    async def kill(self) -> None:
        """Kill the primary."""

    async def fail_over(self) -> None:
        """Lose the primary, with what its replica does not have."""
        self.link.take_down()
        await self.kill()
        await self.promote()


async def until(done: Callable[[], Any], what: str) -> None:
    """Wait for something that another process does; nothing tells of it."""
    deadline = time.monotonic() + PATIENCE
    while not await done():
        assert time.monotonic() < deadline, what
        await asyncio.sleep(0.02)


class RedisPair(Pair):
    """A primary, a replica, and a replica of that one, which it has once it is the primary."""

    def __init__(self, primary: RedisServer, replica: RedisServer, link: Proxy, way: Proxy) -> None:
        self.primary, self.replica, self.link, self.way = primary, replica, link, way
        self.url = f"redis://127.0.0.1:{way.port}/0?timeout=2"

    async def replicated(self) -> None:
        def look() -> bool:
            with self.primary.client() as one, self.replica.client() as other:
                there: Any = one.info("replication")
                here: Any = other.info("replication")
            up = here["role"] == "slave" and here["master_link_status"] == "up"
            return bool(up and here["slave_repl_offset"] >= there["master_repl_offset"])

        await until(lambda: asyncio.to_thread(look), "the replica does not catch up")

    async def promote(self) -> None:
        with self.replica.client() as client:
            await asyncio.to_thread(client.replicaof, "NO", "ONE")
        self.way.target = self.replica.port
        self.way.cut()

    async def kill(self) -> None:
        await asyncio.to_thread(self.primary.kill)

    async def restart(self) -> None:
        """Kill the primary and start it again: it reads what it has written."""
        await self.kill()
        await asyncio.to_thread(self.primary.start)


@asynccontextmanager
async def redis_pair(folder: Path) -> AsyncIterator[RedisPair]:
    """Start them for as long as the block lasts.

    Args:
        folder: where the primary keeps its file.
    """
    at_once = ("--repl-diskless-sync-delay", "0")
    async with AsyncExitStack() as stack:
        primary = await asyncio.to_thread(
            stack.enter_context, RedisServer(folder, *at_once, "--repl-timeout", "600")
        )
        link = await stack.enter_async_context(proxy_to(primary.port))
        way = await stack.enter_async_context(proxy_to(primary.port))
        of_it = ("--replicaof", f"127.0.0.1 {link.port}", *at_once)
        replica = await asyncio.to_thread(stack.enter_context, RedisServer(None, *of_it))
        of_that = ("--replicaof", f"127.0.0.1 {replica.port}", *at_once)
        await asyncio.to_thread(stack.enter_context, RedisServer(None, *of_that))
        pair = RedisPair(primary, replica, link, way)
        await pair.replicated()
        yield pair


class PostgresPair(Pair):
    """A primary and a standby, in a folder of their own."""

    def __init__(self, folder: Path, programs: Path, ports: tuple[int, int], link: Proxy) -> None:
        self._folder, self._programs, self.ports, self.link = folder, programs, ports, link
        hosts = ",".join(f"127.0.0.1:{port}" for port in ports)
        self.url = f"postgresql://{USER}@{hosts}/test?target_session_attrs=primary"

    async def run(self, program: str, *words: object) -> None:
        """Run one of PostgreSQL's programs; it refuses to be root."""
        who: dict[str, Any] = {"user": USER} if os.geteuid() == 0 else {}
        process = await asyncio.create_subprocess_exec(
            str(self._programs / program),
            *map(str, words),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=self._folder,
            **who,
        )
        assert await process.wait() == 0, f"{program} failed"

    async def control(self, name: str, *words: str) -> None:
        """Run pg_ctl on one of both, `a` and `b`, and wait for what it does."""
        at = self._folder / name
        await self.run("pg_ctl", "-D", at, "-w", "-t", 60, "-l", f"{at}.log", *words)

    async def execute(self, *statements: str, on: int = 0, database: str = "test") -> list[Any]:
        """Run statements on one of both; gives the rows of the last."""
        port = self.ports[on]
        connection = await asyncpg.connect(
            f"postgresql://{USER}@127.0.0.1:{port}/{database}", timeout=10
        )
        try:
            for statement in statements:
                rows: list[Any] = await connection.fetch(statement)
            return rows
        finally:
            await connection.close(timeout=10)

    async def replicated(self) -> None:
        async def look() -> bool:
            ((there,),) = await self.execute("SELECT pg_current_wal_lsn()::text")
            asked = f"SELECT coalesce(pg_last_wal_replay_lsn() >= '{there}', false)"
            ((reached,),) = await self.execute(asked, on=1)
            return bool(reached)

        await until(look, "the standby does not catch up")

    async def waiting(self) -> list[Any]:
        """The processes that wait for the standby."""
        return await self.execute("SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'")

    async def synchronous(self) -> None:
        """Have commits wait for the standby from now on."""
        await self.execute(
            "ALTER SYSTEM SET synchronous_standby_names = 'standby'", "SELECT pg_reload_conf()"
        )

        async def look() -> bool:
            asked = "SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'"
            return bool(await self.execute(asked))

        await until(look, "the standby is not synchronous")

    async def promote(self) -> None:
        await self.control("b", "promote")

    async def kill(self) -> None:
        await self.control("a", "-m", "immediate", "stop")

    async def restart(self) -> None:
        """Have the primary begin again: it keeps what it has written."""
        await self.control("a", "-m", "immediate", "restart")


def _programs() -> Path:
    """The folder of PostgreSQL's programs."""
    program = shutil.which("initdb") or next(
        (str(path) for path in sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))), None
    )
    if program is None:
        unavailable("PostgreSQL's initdb", "install the package of its server")
    return Path(program).resolve().parent


_SETTINGS = """
port = {port}
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
wal_sender_timeout = 0
wal_receiver_timeout = 0
shared_buffers = 16MB
max_connections = 50
fsync = off
"""


@asynccontextmanager
async def postgres_pair(*, synchronous: bool) -> AsyncIterator[PostgresPair]:
    """Start them for as long as the block lasts.

    Args:
        synchronous: whether commits wait for the standby.
    """
    programs = _programs()
    folder = Path(tempfile.mkdtemp(prefix="agui-pair-"))
    if os.geteuid() == 0:
        shutil.chown(folder, USER)
    ports = (free_port(), free_port())
    async with AsyncExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        link = await stack.enter_async_context(proxy_to(ports[0]))
        pair = PostgresPair(folder, programs, ports, link)
        a, b = folder / "a", folder / "b"
        await pair.run("initdb", "-D", a, "-U", USER, "-A", "trust", "-N", "-E", "UTF8")
        with (a / "postgresql.conf").open("a") as file:
            file.write(_SETTINGS.format(port=ports[0]))
        await pair.control("a", "start")
        stack.push_async_callback(_stop, pair, "a")
        await pair.execute("CREATE DATABASE test", database="postgres")
        direct = ("-h", "127.0.0.1", "-p", ports[0], "-U", USER)
        await pair.run("pg_basebackup", *direct, "-D", b, "-R", "-X", "stream", "-c", "fast")
        with (b / "postgresql.auto.conf").open("a") as file:
            file.write(f"port = {ports[1]}\n")
            file.write(
                f"primary_conninfo = 'host=127.0.0.1 port={link.port} user={USER} "
                "application_name=standby'\n"
            )
        await pair.control("b", "start")
        stack.push_async_callback(_stop, pair, "b")
        if synchronous:
            await pair.synchronous()
        await pair.replicated()
        yield pair


async def _stop(pair: PostgresPair, name: str) -> None:
    with contextlib.suppress(AssertionError):
        await pair.control(name, "-m", "immediate", "stop")
