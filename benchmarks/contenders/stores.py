"""Stores on servers that run already: a part of each for the benchmarks alone, gone afterwards."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any, Final

from benchmarks.rows import BenchmarkBroken

VARIABLES: Final[Mapping[str, str]] = {
    "PostgreSQL": "AGUI_BENCH_POSTGRES",
    "Redis": "AGUI_BENCH_REDIS",
}
"""The environment variables that give a server's URL."""

LOCAL: Final[Mapping[str, str]] = {
    "PostgreSQL": "postgresql://postgres@127.0.0.1:5432/test",
    "Redis": "redis://127.0.0.1:6379/0",
}
"""Where servers are on a developer's machine and in CI."""


def _own_name() -> str:
    return f"agui_bench_{os.getpid()}_{os.urandom(3).hex()}"


def _with(url: str, option: str) -> str:
    return f"{url}{'&' if '?' in url else '?'}{option}"


@contextlib.contextmanager
def _postgres(url: str) -> Iterator[str]:
    schema = _own_name()
    try:
        yield _with(url, f"schema={schema}")
    finally:
        asyncio.run(_drop(url.partition("?")[0], schema))


async def _drop(dsn: str, schema: str) -> None:
    import asyncpg

    connection = await asyncpg.connect(dsn, timeout=5)
    try:
        await connection.execute(f'DROP SCHEMA IF EXISTS "{schema}" CASCADE')
    finally:
        await connection.close(timeout=5)


@contextlib.contextmanager
def _redis(url: str) -> Iterator[str]:
    prefix = _own_name()
    try:
        yield _with(url, f"prefix={prefix}")
    finally:
        asyncio.run(_unlink(url.partition("?")[0], prefix))


async def _unlink(url: str, prefix: str) -> None:
    async with _client(url) as client:
        async for name in client.scan_iter(f"{prefix}:*", count=1000):
            await client.unlink(name)


@contextlib.asynccontextmanager
async def _client(url: str) -> AsyncIterator[Any]:
    from redis.asyncio import Redis

    client = Redis.from_url(url)
    try:
        yield client
    finally:
        await client.aclose()


_OWN: Final[Mapping[str, Callable[[str], AbstractContextManager[str]]]] = {
    "PostgreSQL": _postgres,
    "Redis": _redis,
}


@contextlib.contextmanager
def own_stores(
    *, local: bool, names: Collection[str] = tuple(VARIABLES)
) -> Iterator[dict[str, str]]:
    """The addresses of stores of our own, by name; afterwards nothing is left of them.

    Args:
        local: whether to use the servers on this machine where no variable names another.
        names: which are wanted.

    Raises:
        BenchmarkBroken: a server does not answer.
    """
    urls = {name: os.environ.get(VARIABLES[name]) for name in VARIABLES if name in names}
    if local:
        urls = {name: url or LOCAL[name] for name, url in urls.items()}
    with contextlib.ExitStack() as stack:
        yield {
            name: stack.enter_context(_answering(name, url)) for name, url in urls.items() if url
        }


@contextlib.contextmanager
def _answering(name: str, url: str) -> Iterator[str]:
    from agui_bridge.errors import SchemaMismatch, StoreUnavailable
    from agui_bridge.stores.open import open_store

    async def try_it() -> None:
        with contextlib.suppress(SchemaMismatch):
            await (await open_store(url, migrate=False)).aclose()

    try:
        asyncio.run(try_it())
    except StoreUnavailable as error:
        raise BenchmarkBroken(f"{name} does not answer at its address: {error}") from None
    with _OWN[name](url) as own:
        yield own
