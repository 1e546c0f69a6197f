"""Remembered decisions in a store: a part of every store, beside its threads."""

from __future__ import annotations

import builtins
from collections.abc import Collection
from typing import Protocol

from agui_bridge.protocol.grants.grant import Grant

__all__ = ["GrantStore"]


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
