"""Which call came before which, so that a repeated call gets the same number on every replay.

The order in which tasks happen to run is no ground to number calls on: replayed steps return
at once, and the order of branches flips. Two calls have an order that every replay repeats
only if one task makes both, or the task of the later one was started after the earlier one.
A context variable tells: a new task inherits a copy of what its creator had done by then.
"""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from typing import NamedTuple
from weakref import WeakKeyDictionary

__all__ = ["CallOrder", "Place", "Strand"]


class Strand:
    """The line of calls that one task makes.

    Attributes:
        origin: where its creator stood when it was created; None for the first task.
        count: calls made so far.
    """

    __slots__ = ("count", "family", "origin")

    def __init__(self, family: CallOrder, origin: Place | None) -> None:
        """Begin a line without calls."""
        self.family: CallOrder = family
        self.origin: Place | None = origin
        self.count: int = 0


class Place(NamedTuple):
    """One call: the strand that made it, and its position there, from 1."""

    strand: Strand
    position: int

    def precedes(self, other: Place) -> bool:
        """Whether every replay makes this call before the other."""
        place: Place | None = other
        while place is not None:
            if place.strand is self.strand:
                return self.position <= place.position
            place = place.strand.origin
        return False


_HERE: ContextVar[Place | None] = ContextVar("agui_bridge_place", default=None)


class CallOrder:
    """All strands of one run.

    Attributes:
        root: the strand of the agent's own task.
    """

    def __init__(self) -> None:
        """Begin with no task known but the root to come."""
        self._by_task: WeakKeyDictionary[asyncio.Task[object], Strand] = WeakKeyDictionary()
        self.root: Strand = Strand(self, None)

    def begin(self) -> None:
        """Make the current task the agent's own."""
        self._by_task[self._task()] = self.root
        _HERE.set(Place(self.root, 0))

    def next_place(self) -> Place:
        """Note that the current task makes a call, and say where."""
        task = self._task()
        strand = self._by_task.get(task)
        if strand is None:
            origin = _HERE.get()
            if origin is not None and origin.strand.family is not self:
                origin = None
            strand = self._by_task[task] = Strand(self, origin)
        strand.count += 1
        place = Place(strand, strand.count)
        _HERE.set(place)
        return place

    @staticmethod
    def _task() -> asyncio.Task[object]:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("run.* is called from within the agent's tasks only.")
        return task
