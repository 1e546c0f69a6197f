"""The servers that share a store in memory: those of one process."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from agui_bridge.frozen import replace
from agui_bridge.protocol.threads.records import ThreadKey, ThreadStatus
from agui_bridge.stores.memory.thread import StoredThread
from agui_bridge.stores.servers import (
    KEPT_SECONDS,
    NEWEST,
    LoadedFormats,
    Server,
    Servers,
    Written,
)

__all__ = ["MemoryServers"]


class MemoryServers:
    """Keeps servers in a dictionary; see `ServerStore`."""

    def __init__(self, threads: Mapping[ThreadKey, StoredThread], now: Callable[[], float]) -> None:
        """Start empty.

        Args:
            threads: the store's own.
            now: the store's time.
        """
        self.loaded: LoadedFormats = LoadedFormats()
        self._threads = threads
        self._now = now
        self._noted: dict[str, Server] = {}

    async def note(self, server: Server) -> None:
        """Note a server (see `ServerStore.note`)."""
        now = self._now()
        known = self._noted.get(server.id)
        since = now if known is None else known.since
        self._noted[server.id] = replace(server, since=since, seen_at=now)
        for id in [id for id, one in self._noted.items() if one.seen_at <= now - KEPT_SECONDS]:
            del self._noted[id]

    async def look(self) -> Servers:
        """Who works on the store (see `ServerStore.look`)."""
        records = [
            thread.record
            for thread in self._threads.values()
            if thread.record.status is not ThreadStatus.RUNNING
        ]
        records.sort(key=lambda record: -record.updated_at)
        newest = tuple(Written(one.format, one.updated_at) for one in records[:NEWEST])
        return Servers(self._now(), tuple(self._noted.values()), (*newest, *self.loaded.written))

    async def forget(self, id: str) -> None:
        """Forget a server (see `ServerStore.forget`)."""
        self._noted.pop(id, None)
