"""Where rows of the audit chain are read: a part of every store, beside its threads.

They are written by `Store.commit`, as `Change.audit`; `Sealer.sealed` adds them there. They stay
when their thread is deleted or pruned, since they hold no content, only digests of it.
"""

from __future__ import annotations

from typing import Protocol

from agui_bridge.protocol.audit.keys import AuditKeys
from agui_bridge.protocol.audit.sealing import seal
from agui_bridge.protocol.contract.transitions import Change
from agui_bridge.protocol.threads.audit_chain import AuditRow
from agui_bridge.protocol.threads.records import ThreadKey

__all__ = ["AuditStore", "Sealer"]


class Sealer:
    """Seals what a store commits, once it has keys.

    Attributes:
        keys: of the chain; None: nothing is sealed, and commits cost nothing more.
    """

    keys: AuditKeys | None = None

    def sealed(self, key: ThreadKey, change: Change, write_id: str) -> Change:
        """A change with the rows of what it does to questions."""
        if self.keys is None or not change.interrupts:
            return change
        return seal(key, change, write_id, self.keys)


class AuditStore(Protocol):
    """The rows of all chains of a store."""

    keys: AuditKeys | None

    async def threads(
        self, *, scope: str | None = None, after: ThreadKey | None = None, limit: int = 500
    ) -> list[ThreadKey]:
        """Threads that have rows, those that are gone included, in an order of the store's own.

        Args:
            scope: only those of one; None is all.
            after: the last one of the page before.
            limit: as many at most.
        """
        ...

    async def rows(self, key: ThreadKey) -> list[AuditRow]:
        """The rows of a thread, those of a chain together and in its order.

        Args:
            key: the thread; one that has none gives none.
        """
        ...

    async def prune(self, older_than: float, limit: int = 1000) -> int:
        """Delete the rows of threads that are gone; gives how many threads' were deleted.

        Args:
            older_than: seconds since their last row, at least.
            limit: as many threads at most.
        """
        ...
