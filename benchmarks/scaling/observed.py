"""A store of our own as its servers see it: their CPU, and who is connected."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import redis

from benchmarks.contenders.own_servers import own_cluster, own_database, own_redis, query

_PREFIX = "agui"


@dataclass(frozen=True, slots=True)
class Observed:
    """A store and what its servers tell.

    Attributes:
        url: its address, for the bridge.
        cpu: gives CPU seconds that its servers have taken.
        connections: gives how many there are, this process's own not among them.
        analyse: has the store look at what it keeps, as it does by itself once a minute: until
            then PostgreSQL goes by plans for tables with next to nothing in them.
    """

    url: str
    cpu: Callable[[], float]
    connections: Callable[[], int]
    analyse: Callable[[], object]


def _cpu_of(pid: int) -> float:
    """CPU seconds of a process of one thread; 0 when it is gone."""
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9
    except FileNotFoundError:
        return 0.0


def cpu_of_sessions(dsn: str) -> float:
    """CPU seconds of the sessions that a database has now, without the one that asks."""
    return sum(_cpu_of(pid) for pid in _sessions(dsn))


def cpu_of_redis(*urls: str) -> float:
    """CPU seconds of some servers of Redis."""
    total = 0.0
    for url in urls:
        with redis.Redis.from_url(url) as client:
            cpu = client.info("cpu")
            total += cpu["used_cpu_user"] + cpu["used_cpu_sys"]
    return total


def _sessions(dsn: str) -> list[int]:
    sql = (
        "SELECT pid FROM pg_stat_activity WHERE datname = current_database()"
        " AND backend_type = 'client backend' AND pid <> pg_backend_pid()"
    )
    return [row["pid"] for row in query(dsn, sql)]


@contextlib.contextmanager
def _postgres() -> Iterator[Observed]:
    with own_database() as dsn:
        yield Observed(
            dsn,
            cpu=lambda: cpu_of_sessions(dsn),
            connections=lambda: len(_sessions(dsn)),
            analyse=lambda: query(dsn, "ANALYZE"),
        )


def _of_redis(url: str, servers: list[str]) -> Observed:
    def connections() -> int:
        found = 0
        for server in servers:
            with redis.Redis.from_url(server) as client:
                found += sum(one["name"] == "agui-bridge" for one in client.client_list())
        return found

    return Observed(
        url,
        cpu=lambda: cpu_of_redis(*servers),
        connections=connections,
        analyse=lambda: None,
    )


@contextlib.contextmanager
def _redis() -> Iterator[Observed]:
    with own_redis() as url:
        yield _of_redis(f"{url}?prefix={_PREFIX}", [url])


@contextlib.contextmanager
def _cluster() -> Iterator[Observed]:
    with own_cluster() as urls:
        address = urls[0].replace("redis://", "redis+cluster://")
        yield _of_redis(f"{address}?prefix={_PREFIX}", urls)


OBSERVED: dict[str, Callable[[], contextlib.AbstractContextManager[Observed]]] = {
    "PostgreSQL": _postgres,
    "Redis": _redis,
    "Redis Cluster": _cluster,
}
"""New stores by name: in a database of our own, in a Redis, in a Redis Cluster of six servers."""
