"""Remembered decisions in memory."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Collection

from agui_bridge.frozen import replace
from agui_bridge.protocol.grants.grant import Grant
from agui_bridge.stores.grant_codec import decode_grant, encode_grant

__all__ = ["MemoryGrants"]


class MemoryGrants:
    """Keeps decisions in a dict; see `GrantStore`."""

    def __init__(self, now: Callable[[], float]) -> None:
        """Start empty.

        Args:
            now: gives the store's time.
        """
        self._now = now
        self._grants: dict[tuple[str, str], Grant] = {}

    async def add(self, grant: Grant) -> None:
        """Store a decision (see `GrantStore.add`)."""
        self._grants.setdefault((grant.scope, grant.id), decode_grant(encode_grant(grant)))

    async def find(self, scope: str, agent: str, tools: Collection[str]) -> builtins.list[Grant]:
        """Decisions that stand (see `GrantStore.find`)."""
        now = self._now()
        return [
            grant
            for grant in self._grants.values()
            if (grant.scope, grant.agent) == (scope, agent)
            and grant.tool in tools
            and grant.stands(now)
        ]

    async def use(self, scope: str, id: str) -> bool:
        """Count one use (see `GrantStore.use`)."""
        grant = self._grants.get((scope, id))
        if grant is None or not grant.stands(self._now()):
            return False
        self._grants[scope, id] = replace(grant, uses=grant.uses + 1)
        return True

    async def revoke(self, scope: str, id: str, actor: str) -> bool:
        """End a decision (see `GrantStore.revoke`)."""
        grant = self._grants.get((scope, id))
        if grant is None or grant.revoked_at is not None:
            return False
        self._grants[scope, id] = replace(grant, revoked_at=self._now(), revoked_by=actor)
        return True

    async def list(self, scope: str, limit: int = 200) -> builtins.list[Grant]:
        """A scope's decisions (see `GrantStore.list`)."""
        found = [grant for grant in self._grants.values() if grant.scope == scope]
        return sorted(found, key=lambda grant: (-grant.created_at, grant.id))[:limit]

    async def scopes(self) -> builtins.list[str]:
        """The scopes that have decisions (see `GrantStore.scopes`)."""
        return sorted({grant.scope for grant in self._grants.values()})

    async def prune(self, older_than: float, limit: int = 1000, *, dry_run: bool = False) -> int:
        """Delete decisions that are over for long (see `GrantStore.prune`)."""
        latest = self._now() - older_than
        over = [name for name, grant in self._grants.items() if grant.was_over(latest)][:limit]
        for name in () if dry_run else over:
            del self._grants[name]
        return len(over)
