"""The stores that an earlier version wrote, each put where this version may open it."""

import gzip
import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import redis

from tests.stores.sql.conftest import new_place
from tests.support.redis_server import redis_url

MADE = Path(__file__).parents[2] / "golden" / "upgrades"


@contextmanager
def _sqlite(folder: Path) -> Iterator[str]:
    path = folder / "before.db"
    path.write_bytes(gzip.decompress((MADE / "sqlite.db.gz").read_bytes()))
    yield f"sqlite:///{path}"


@contextmanager
def _postgres(folder: Path) -> Iterator[str]:
    with new_place("postgres", folder) as place:
        place.fill((MADE / "postgres.sql").read_text())
        yield place.url


@contextmanager
def _redis(folder: Path) -> Iterator[str]:
    url = redis_url(folder)
    address, _, prefix = url.partition("?prefix=")
    with redis.Redis.from_url(address) as client:
        for line in (MADE / "redis.jsonl").read_text().splitlines():
            key, kind, value = json.loads(line)
            if kind == "string":
                client.set(prefix + key, value)
            elif kind == "hash":
                client.hset(prefix + key, mapping=value)
            else:
                scores = {member: float(score) for member, score in value.items()}
                client.zadd(prefix + key, scores)
    yield url


RESTORED: dict[str, Callable[[Path], AbstractContextManager[str]]] = {
    "sqlite": _sqlite,
    "postgres": _postgres,
    "redis": _redis,
}
"""The address of a store as the earlier version left it, for as long as the block lasts."""
