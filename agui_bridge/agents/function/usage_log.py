"""The token usage that a run tells: what its own calls used, and not what it says again.

The function runs again from its top when an answer has come, and its plain code says again what the
run before has told. What stands inside a step is not run again, and is told where it is said.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from typing import Any, Self, SupportsIndex

from agui_bridge.agents.replay.continuation import EntryKey

__all__ = ["UsageLog"]

_AFTER: ContextVar[tuple[UsageLog, EntryKey | None] | None] = ContextVar(
    "agui_bridge_usage_after", default=None
)


class UsageLog(list[Any]):
    """A list that knows which of its entries an earlier run has told.

    The entries are counted after each call of `run.*`, as the task that adds them has made it, or
    inherited it from the task that started it: a replay adds as many there before it adds new ones.

    Args:
        told: how many entries the earlier runs have told after each call; None before the first.
        inside: whether whoever calls stands inside a function that runs once in all runs.
    """

    def __init__(
        self, told: Mapping[EntryKey | None, int], inside: Callable[[], bool] = lambda: False
    ) -> None:
        """Begin without entries."""
        super().__init__()
        self._told = told
        self._inside = inside
        self._added: Counter[EntryKey | None] = Counter()
        self._repeated: list[Any] = []

    def come_to(self, call: EntryKey | None) -> None:
        """Note that the current task has come to a call; None where the function begins."""
        _AFTER.set((self, call))

    def counts(self) -> dict[EntryKey | None, int]:
        """How many entries have been told after each call, in this run or before."""
        told = self._told
        return {
            call: max(self._added[call], told.get(call, 0))
            for call in dict.fromkeys([*told, *self._added])
        }

    def drop_repeated(self) -> None:
        """Leave what no earlier run has told."""
        repeated = Counter(map(id, self._repeated))
        own = []
        for entry in self:
            if repeated[id(entry)]:
                repeated[id(entry)] -= 1
            else:
                own.append(entry)
        self._repeated.clear()
        super().__setitem__(slice(None), own)

    def _note(self, entries: Iterable[Any]) -> list[Any]:
        noted = list(entries)
        after = _AFTER.get()
        # Code that has lost its context can't be placed: it is told rather than lost.
        if after is not None and after[0] is self and not self._inside():
            for entry in noted:
                self._added[after[1]] += 1
                if self._added[after[1]] <= self._told.get(after[1], 0):
                    self._repeated.append(entry)
        return noted

    def append(self, entry: Any, /) -> None:
        """Add an entry."""
        super().extend(self._note([entry]))

    def extend(self, entries: Iterable[Any], /) -> None:
        """Add several."""
        super().extend(self._note(entries))

    def insert(self, place: SupportsIndex, entry: Any, /) -> None:
        """Add an entry before a place."""
        super().insert(place, *self._note([entry]))

    def __iadd__(self, entries: Iterable[Any], /) -> Self:  # type: ignore[misc]  # as list has it
        """Add several."""
        self.extend(entries)
        return self
