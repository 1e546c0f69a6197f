"""Rows of the audit chain in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from agui_bridge.protocol.threads.audit_chain import AuditRow
from agui_bridge.protocol.threads.records import ThreadKey
from agui_bridge.stores.audit import Sealer

__all__ = ["MemoryAudit"]


class MemoryAudit(Sealer):
    """Keeps rows in a dict; see `AuditStore`."""

    def __init__(self, now: Callable[[], float], exists: Callable[[ThreadKey], bool]) -> None:
        """Start empty.

        Args:
            now: gives the store's time.
            exists: tells whether there is a thread.
        """
        self._now = now
        self._exists = exists
        self._rows: dict[ThreadKey, dict[str, AuditRow]] = {}

    def put(self, key: ThreadKey, rows: Iterable[AuditRow]) -> None:
        """Add the rows of a commit."""
        for row in rows:
            self._rows.setdefault(key, {})[row.id] = row

    async def threads(
        self, *, scope: str | None = None, after: ThreadKey | None = None, limit: int = 500
    ) -> list[ThreadKey]:
        """Threads that have rows (see `AuditStore.threads`)."""
        keys = sorted((key for key in self._rows if scope in (None, key.scope)), key=_sortable)
        return [key for key in keys if after is None or _sortable(key) > _sortable(after)][:limit]

    async def rows(self, key: ThreadKey) -> list[AuditRow]:
        """The rows of a thread (see `AuditStore.rows`)."""
        return [row for _, row in sorted(self._rows.get(key, {}).items())]

    async def prune(self, older_than: float, limit: int = 1000) -> int:
        """Delete the rows of threads that are gone (see `AuditStore.prune`)."""
        latest = self._now() - older_than
        old = [
            key
            for key, rows in self._rows.items()
            if not self._exists(key) and max(row.written_at for row in rows.values()) <= latest
        ]
        for key in old[:limit]:
            del self._rows[key]
        return len(old[:limit])


def _sortable(key: ThreadKey) -> tuple[str, str, str]:
    return key.scope, key.agent, key.thread
