"""How many requests of one scope may be under way in this process."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator

from agui_bridge.protocol.input_limits import beyond

__all__ = ["ScopeSlots"]


class ScopeSlots:
    """Counts what is under way, by scope.

    Args:
        limit: how much of one scope may be.
        what: what is counted, for the error.
    """

    def __init__(self, limit: int, what: str) -> None:
        self._limit = limit
        self._what = what
        self._taken: Counter[str] = Counter()

    def take(self, scope: str) -> None:
        """Take a slot, which must be freed.

        Raises:
            Refused: TOO_MANY_RUNS; none was taken.
        """
        if self._taken[scope] >= self._limit:
            raise beyond(
                "TOO_MANY_RUNS",
                self._what,
                found=self._taken[scope] + 1,
                limit=self._limit,
                unit="at once",
                setting="max_runs_per_scope",
            )
        self._taken[scope] += 1

    def free(self, scope: str) -> None:
        """Give a slot back."""
        self._taken[scope] -= 1
        if not self._taken[scope]:
            # Scopes come and go: a name that is not in use takes no memory.
            del self._taken[scope]

    @contextlib.contextmanager
    def hold(self, scope: str) -> Iterator[None]:
        """Hold a slot for the length of a block.

        Raises:
            Refused: TOO_MANY_RUNS.
        """
        self.take(scope)
        try:
            yield
        finally:
            self.free(scope)

    def taken(self, scope: str) -> int:
        """How many are taken."""
        return self._taken.get(scope, 0)
