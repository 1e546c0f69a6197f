"""From a store's address to the store.

Only the outermost layer calls this (the application, the configuration, the command line):
everything else is given a `Store`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agui_bridge.errors import ConfigurationError
from agui_bridge.stores.base import Store
from agui_bridge.stores.opening import Preparation
from agui_bridge.stores.postgres.address import SCHEMES as POSTGRES_SCHEMES
from agui_bridge.stores.redis.address import SCHEMES as REDIS_SCHEMES

if TYPE_CHECKING:
    from agui_bridge.stores.postgres.store import PostgresStore
    from agui_bridge.stores.redis.store import RedisStore
    from agui_bridge.stores.sqlite.store import SqliteStore

SUPPORTED = (
    "`memory:` (lost with the process), `sqlite:///path` (one machine), "
    "`postgresql://user:password@host/database` or `redis://host` (any number of machines)"
)


async def open_store(url: str, *, migrate: bool = True) -> Store:
    """Open the store of an address.

    Args:
        url: `memory:`, `sqlite:///relative.db` or `sqlite:////absolute/path.db`,
            `postgresql://user:password@host:5432/database`, `redis://host:6379/0` or `rediss://…`
            (see docs/stores-redis.md).
        migrate: whether to bring an older database up to date; else it is only checked.

    Raises:
        ConfigurationError: the address is of no kind that is supported, or a package that
            this kind needs is not installed.
        SchemaMismatch: the database is newer, or older and `migrate` is false.
        StoreUnavailable: the store does not answer.
    """
    kind = _kind_of(url)
    if kind is None:
        from agui_bridge.stores.memory import MemoryStore

        return MemoryStore()
    made: Store = await kind.open(url, migrate=migrate)
    return made


async def inspect_store(url: str) -> Preparation | None:
    """Say which schema the store of an address has, and which one it would get; change nothing.

    A store that does not exist is not made. `memory:` has nothing to say.

    Args:
        url: as for `open_store`.

    Raises:
        ConfigurationError: as `open_store`.
        SchemaMismatch: the database is newer.
        StoreUnavailable: as `open_store`.
    """
    kind = _kind_of(url)
    return await kind.inspect(url) if kind is not None else None


def _kind_of(url: str) -> type[SqliteStore | PostgresStore | RedisStore] | None:
    """Which store an address is of; None for memory."""
    # Drivers take a while to import, and those who use another store never need them.
    scheme = url.partition(":")[0]
    if url == "memory:":
        return None
    if scheme == "sqlite":
        from agui_bridge.stores.sqlite.store import SqliteStore

        return SqliteStore
    if scheme in POSTGRES_SCHEMES:
        try:
            from agui_bridge.stores.postgres.store import PostgresStore
        except ModuleNotFoundError as error:
            if error.name != "asyncpg":
                raise
            raise ConfigurationError(
                "the store in PostgreSQL needs a package that is missing: "
                'pip install "agui-bridge[postgres]"'
            ) from None
        return PostgresStore
    if scheme in REDIS_SCHEMES:
        try:
            from agui_bridge.stores.redis.store import RedisStore
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] not in ("redis", "hiredis"):
                raise
            raise ConfigurationError(
                "the store in Redis needs a package that is missing: "
                'pip install "agui-bridge[redis]"'
            ) from None
        return RedisStore
    if "://" not in url:
        # Not repeated: what stands there instead may be a password.
        raise ConfigurationError(f"the store's address must begin with its kind: use {SUPPORTED}")
    raise ConfigurationError(f"there is no store of the kind {scheme!r}: use {SUPPORTED}")
