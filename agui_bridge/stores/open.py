"""From a store's address to the store.

Only the outermost layer calls this (the application, the configuration, the command line):
everything else is given a `Store`.
"""

from __future__ import annotations

from agui_bridge.errors import ConfigurationError
from agui_bridge.stores.base import Store

__all__ = ["open_store"]

SUPPORTED = "`memory:` (lost with the process) and `sqlite:///path` (one machine)"


async def open_store(url: str, *, migrate: bool = True) -> Store:
    """Open the store of an address.

    Args:
        url: `memory:`, `sqlite:///relative.db` or `sqlite:////absolute/path.db`.
        migrate: whether to bring an older database up to date; else it is only checked.

    Raises:
        ConfigurationError: the address is of no kind that is supported.
        SchemaMismatch: the database is newer, or older and `migrate` is false.
        StoreUnavailable: the store does not answer.
    """
    # SQLAlchemy takes a while to import, and those who use another store never need it.
    scheme = url.partition(":")[0]
    if url == "memory:":
        from agui_bridge.stores.memory import MemoryStore

        return MemoryStore()
    if scheme == "sqlite":
        from agui_bridge.stores.sql import SqlStore

        return await SqlStore.open(url, migrate=migrate)
    raise ConfigurationError(f"there is no store of the kind {scheme!r}: use {SUPPORTED}")
