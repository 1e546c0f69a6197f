"""A remembered decision: which calls are approved without being asked, for whom, how long."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from agui_bridge.frozen import dataclass
from agui_bridge.protocol.grants.covering import covered_arguments
from agui_bridge.protocol.threads.records import Json

__all__ = ["Grant", "Holder"]

Holder = Literal["thread", "actor", "scope"]


@dataclass(frozen=True, slots=True)
class Grant:
    """A remembered decision. It only ever turns a question into an approval.

    Attributes:
        id: 128 random bits, URL-safe: that of the question whose answer made it.
        scope: whose questions it answers.
        agent: of this agent.
        tool: about this tool.
        rule: name of the approval rule that offered it; a question of another is not answered.
        holder: for whom: one thread, one asker, or the whole scope.
        held_by: id of the thread, or name of the asker; empty for the scope.
        args: those that were approved.
        matchers: how others may differ from them, by JSON pointer; see `matching.matches`.
        granted_by: the actor who approved.
        created_at: store time (seconds).
        expires_at: store time from which it is over.
        max_uses: how often it may be used; None: any number of times.
        uses: how often it was.
        revoked_at: store time; None while it stands.
        revoked_by: the actor who did it.
    """

    id: str
    scope: str
    agent: str
    tool: str
    rule: str | None
    holder: Holder
    held_by: str
    args: Mapping[str, Json]
    matchers: Mapping[str, Json]
    granted_by: str
    created_at: float
    expires_at: float
    max_uses: int | None = None
    uses: int = 0
    revoked_at: float | None = None
    revoked_by: str | None = None

    @property
    def covers(self) -> str:
        """How far the arguments of other calls may differ, in words."""
        return covered_arguments(self.args, self.matchers)

    @property
    def actor(self) -> str:
        """What the history calls it."""
        return f"rule:{self.id}"

    def stands(self, now: float) -> bool:
        """Whether it may be used at a store time."""
        return self.revoked_at is None and now < self.expires_at and not self._is_used_up

    def was_over(self, at: float) -> bool:
        """Whether it was over at a store time; one that is used up, whether it was made by then."""
        revoked = self.revoked_at is not None and self.revoked_at <= at
        return revoked or self.expires_at <= at or (self._is_used_up and self.created_at <= at)

    @property
    def _is_used_up(self) -> bool:
        return self.max_uses is not None and self.uses >= self.max_uses
