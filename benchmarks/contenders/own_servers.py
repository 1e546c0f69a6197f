"""A database and a Redis that nobody else uses, so that what is asked of them can be counted."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from typing import Any

import asyncpg
import redis

from benchmarks.contenders.ports import free_port
from benchmarks.contenders.stores import LOCAL, VARIABLES
from benchmarks.rows import BenchmarkBroken

_PATIENCE = 20.0


def query(dsn: str, sql: str, *arguments: object) -> list[Any]:
    """Run one statement on a connection of its own; gives its rows."""

    async def run() -> list[Any]:
        connection = await asyncpg.connect(dsn)
        try:
            rows: list[Any] = await connection.fetch(sql, *arguments)
            return rows
        finally:
            await connection.close()

    return asyncio.run(run())


@contextlib.contextmanager
def own_database() -> Iterator[str]:
    """The address of a new database on the PostgreSQL of the benchmarks; dropped afterwards."""
    server = os.environ.get(VARIABLES["PostgreSQL"], LOCAL["PostgreSQL"])
    name = f"agui_bench_{os.getpid()}_{os.urandom(3).hex()}"
    query(server, f"CREATE DATABASE {name}")
    try:
        yield f"{server.rpartition('/')[0]}/{name}"
    finally:
        query(server, f"DROP DATABASE {name} WITH (FORCE)")


@contextlib.contextmanager
def own_redis(*options: str) -> Iterator[str]:
    """The address of a Redis of our own, which keeps nothing on the disk unless options say so."""
    program = shutil.which("redis-server")
    if program is None:
        raise BenchmarkBroken("there is no redis-server on this machine")
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        command = [program, "--port", str(port), "--bind", "127.0.0.1", "--dir", folder]
        command += ["--save", "", "--loglevel", "warning", *options]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        try:
            _await_answer(port)
            yield f"redis://127.0.0.1:{port}/0"
        finally:
            process.kill()
            process.wait()


@contextlib.contextmanager
def own_cluster(masters: int = 3) -> Iterator[list[str]]:
    """The addresses of the servers of a Redis Cluster of our own, half of them replicas."""
    with contextlib.ExitStack() as stack:
        urls = [
            # Their own connections would else be on a port that the system gives to others.
            stack.enter_context(own_redis("--cluster-enabled", "yes", "--cluster-port", str(port)))
            for port in (free_port() for _ in range(2 * masters))
        ]
        nodes = [url.removeprefix("redis://").removesuffix("/0") for url in urls]
        command = ["redis-cli", "--cluster", "create", *nodes, "--cluster-replicas", "1"]
        made = subprocess.run([*command, "--cluster-yes"], capture_output=True, text=True)
        if made.returncode:
            raise BenchmarkBroken(f"the cluster does not come together:\n{made.stdout[-2_000:]}")
        yield urls


def _await_answer(port: int) -> None:
    until = time.monotonic() + _PATIENCE
    with redis.Redis(port=port) as client:
        while True:
            try:
                client.ping()
                return
            except redis.ConnectionError:
                if time.monotonic() > until:
                    raise BenchmarkBroken("redis-server does not start") from None
                time.sleep(0.05)
