"""What a store keeps of decisions, beside its threads: the audit chain, and remembered ones.

Rows of the chain are written by `Store.commit`, as `Change.audit`; `Sealer.sealed` adds them there.
They stay when their thread is deleted or pruned, since they hold no content, only digests of it.
"""

from __future__ import annotations

import builtins
from collections.abc import Collection
from typing import Protocol

from agui_bridge.protocol.audit.sealing import AuditKeys, seal
from agui_bridge.protocol.contract.transitions import Change
from agui_bridge.protocol.grants import Grant
from agui_bridge.protocol.threads.record_parts import AuditRow
from agui_bridge.protocol.threads.records import ThreadKey


class Sealer:
    """Seals what a store commits, once it has keys.

    Attributes:
        keys: of the chain; None: nothing is sealed, and commits cost nothing more.
    """

    keys: AuditKeys | None = None

    def sealed(self, key: ThreadKey, change: Change, write_id: str) -> Change:
        """A change with the rows of what it does to questions, and of what it redacts."""
        if self.keys is None or not (change.interrupts or change.redactions):
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


class GrantStore(Protocol):
    """Keeps remembered decisions; uses are counted where all processes see them."""

    async def add(self, grant: Grant) -> None:
        """Store a decision; one of its id that is stored already stays as it is.

        Args:
            grant: a new one.
        """
        ...

    async def find(self, scope: str, agent: str, tools: Collection[str]) -> list[Grant]:
        """Decisions that stand by the store's clock.

        Args:
            scope: whose.
            agent: of which agent.
            tools: about these.
        """
        ...

    async def use(self, scope: str, id: str) -> bool:
        """Count one use, if the decision stands; of its last use one caller gets it.

        Args:
            scope: whose.
            id: its id.
        """
        ...

    async def revoke(self, scope: str, id: str, actor: str) -> bool:
        """End a decision; tells whether it was there and not revoked before.

        Args:
            scope: whose.
            id: its id.
            actor: who ends it.
        """
        ...

    async def list(self, scope: str, limit: int = 200) -> list[Grant]:
        """A scope's decisions, newest first, those that are over too.

        Args:
            scope: whose.
            limit: as many at most.
        """
        ...

    async def scopes(self) -> builtins.list[str]:
        """The scopes that have any decisions, in order."""
        ...

    async def prune(self, older_than: float, limit: int = 1000, *, dry_run: bool = False) -> int:
        """Delete decisions that are over for `older_than` seconds or more; gives how many.

        One that is used up counts from when it was made. What stands stays, however old it is.

        Args:
            older_than: seconds.
            limit: as many at most.
            dry_run: delete nothing, and give how many would be.
        """
        ...
