"""A store that answers and takes no writes: readiness tells, inputs fail at once, then all is well.

What each store does then is in docs/deployment.md, "Health".
"""

import contextlib
import os
import resource
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from tests.support import postgres
from tests.support.redis_server import RedisServer
from tests.support.target import Target, approve

SOON = 5.0
"""Seconds until readiness tells at the latest; a failed write is tried for ten."""

Refusing = Callable[[], AbstractContextManager[None]]


@contextlib.contextmanager
def _full_disk(folder: Path) -> Iterator[tuple[Target, Refusing]]:
    with Target(folder) as target:

        @contextlib.contextmanager
        def refusing() -> Iterator[None]:
            # No file of the process may grow.
            _, hard = resource.prlimit(target.pid, resource.RLIMIT_FSIZE)
            resource.prlimit(target.pid, resource.RLIMIT_FSIZE, (0, hard))
            yield
            resource.prlimit(target.pid, resource.RLIMIT_FSIZE, (hard, hard))

        yield target, refusing


@contextlib.contextmanager
def _read_only_database(folder: Path) -> Iterator[tuple[Target, Refusing]]:
    there = postgres.server()
    role = f"agui_test_{os.getpid()}_{os.urandom(4).hex()}"

    def new_sessions(setting: str) -> None:
        postgres.execute(
            there.dsn,
            f"ALTER ROLE {role} {setting}",
            f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{role}'",
        )

    @contextlib.contextmanager
    def refusing() -> Iterator[None]:
        new_sessions("SET default_transaction_read_only = on")
        yield
        # Only for new sessions: that the old ones are left is the store's own doing.
        postgres.execute(there.dsn, f"ALTER ROLE {role} RESET default_transaction_read_only")

    with postgres.new_schema() as schema:
        postgres.execute(
            there.dsn, f"CREATE ROLE {role} LOGIN", f"CREATE SCHEMA {schema} AUTHORIZATION {role}"
        )
        try:
            dsn = f"postgresql://{role}@127.0.0.1:{there.port}/test"
            with Target(folder, store=postgres.with_schema(dsn, schema)) as target:
                yield target, refusing
        finally:
            postgres.execute(there.dsn, f"DROP OWNED BY {role} CASCADE", f"DROP ROLE {role}")


@contextlib.contextmanager
def _redis(
    folder: Path, fault: tuple[str, ...], mended: tuple[str, ...]
) -> Iterator[tuple[Target, Refusing]]:
    with RedisServer() as server, Target(folder, store=server.url) as target:

        @contextlib.contextmanager
        def refusing() -> Iterator[None]:
            client: Any = server.client()
            with contextlib.closing(client):
                client.execute_command(*fault)
                yield
                client.execute_command(*mended)

        yield target, refusing


def _full_memory(folder: Path) -> AbstractContextManager[tuple[Target, Refusing]]:
    name = ("CONFIG", "SET", "maxmemory")
    return _redis(folder, (*name, "1"), (*name, "0"))


def _replica(folder: Path) -> AbstractContextManager[tuple[Target, Refusing]]:
    # Of a master that does not answer: nothing is copied, and what is here stays.
    return _redis(folder, ("REPLICAOF", "127.0.0.1", "1"), ("REPLICAOF", "NO", "ONE"))


FAULTS: dict[str, Callable[[Path], AbstractContextManager[tuple[Target, Refusing]]]] = {
    "sqlite, full disk": _full_disk,
    "postgres, read-only": _read_only_database,
    "redis, full memory": _full_memory,
    "redis, a replica": _replica,
}


@pytest.mark.soak
@pytest.mark.parametrize("fault", FAULTS)
def test_a_store_that_takes_no_writes(fault: str, tmp_path: Path) -> None:
    with FAULTS[fault](tmp_path) as (target, refusing):
        (ask,) = target.send("paused", "send ann").interrupts

        with refusing():
            wait_for_readiness(target, 503)
            began = time.monotonic()
            assert target.send("new", "hello").refused == "503 STORE_UNAVAILABLE"
            assert target.send("paused", resume=[approve(ask)]).refused == "503 STORE_UNAVAILABLE"
            assert time.monotonic() - began < SOON
            assert target.thread("paused")["status"] == "interrupted"
            assert target.client.get("/healthz").status_code == 200

        wait_for_readiness(target, 200)
        assert target.send("paused", resume=[approve(ask)]).outcome == "success"
        assert target.send("new", "hello").outcome == "success"
        assert [line["to"] for line in target.effects] == ["ann-0@example.com"]


def wait_for_readiness(target: Target, status: int) -> None:
    deadline = time.monotonic() + SOON
    while (found := target.client.get("/readyz").status_code) != status:
        assert time.monotonic() < deadline, f"/readyz says {found}"
        time.sleep(0.05)


def test_inputs_fail_fast_where_nobody_asks_for_readiness(tmp_path: Path) -> None:
    options = ["--store-retry", "1", "--signals", str(tmp_path)]
    faulty = "tests.support.fault_target"
    with (
        RedisServer() as server,
        Target(tmp_path, store=server.url, module=faulty, options=options) as target,
    ):
        with contextlib.closing(server.client()) as client:
            client.config_set("maxmemory", "1")
            took = []
            for thread in ("first", "second"):
                began = time.monotonic()
                assert target.send(thread, "hello").refused == "503 STORE_UNAVAILABLE"
                took.append(time.monotonic() - began)
            client.config_set("maxmemory", "0")
        assert took[0] > 0.9 > took[1]
        # The next input looks by itself.
        time.sleep(1.1)
        assert target.send("third", "hello").outcome == "success"
