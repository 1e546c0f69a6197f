"""From a store's address to the store.

Only the outermost layer calls this (the application, the configuration, the command line):
everything else is given a `Store`.
"""

from __future__ import annotations

from agui_bridge.errors import ConfigurationError
from agui_bridge.stores.base import Store
from agui_bridge.stores.postgres.address import SCHEMES as POSTGRES_SCHEMES
from agui_bridge.stores.redis.address import SCHEMES as REDIS_SCHEMES

__all__ = ["open_store"]

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
    # Drivers take a while to import, and those who use another store never need them.
    scheme = url.partition(":")[0]
    if url == "memory:":
        from agui_bridge.stores.memory import MemoryStore

        return MemoryStore()
    if scheme == "sqlite":
        from agui_bridge.stores.sqlite.store import SqliteStore

        return await SqliteStore.open(url, migrate=migrate)
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
        return await PostgresStore.open(url, migrate=migrate)
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
        return await RedisStore.open(url, migrate=migrate)
    if "://" not in url:
        # Not repeated: what stands there instead may be a password.
        raise ConfigurationError(f"the store's address must begin with its kind: use {SUPPORTED}")
    raise ConfigurationError(f"there is no store of the kind {scheme!r}: use {SUPPORTED}")
