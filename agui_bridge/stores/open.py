"""From a store URL to a store."""

from __future__ import annotations

from agui_bridge.errors import ConfigurationError
from agui_bridge.stores.base import Store

__all__ = ["open_store"]


async def open_store(url: str) -> Store:
    """Open the store that a URL names.

    Raises:
        ConfigurationError: nothing serves this kind of URL.
    """
    if url == "memory:":
        from agui_bridge.stores.memory import MemoryStore

        return MemoryStore()
    if url.startswith("sqlite:"):
        from agui_bridge.stores.sql import SqlStore

        return await SqlStore.open(url)
    scheme = url.partition(":")[0]
    raise ConfigurationError(
        f"A store URL begins with memory: or sqlite:///, not {scheme!r}."
    )
