"""What stands around the messages of a run: the steps of its graph, and the state that changes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, Final

from ag_ui.core import BaseEvent, StateSnapshotEvent, StepFinishedEvent, StepStartedEvent

from agui_bridge.adapters import RunItem
from agui_bridge_langgraph.content import plain

_SURROUNDINGS: Final = (StepStartedEvent, StepFinishedEvent, StateSnapshotEvent)


class Surroundings:
    """Those of one run.

    Args:
        shared: names of the state that clients see.
    """

    def __init__(self, shared: Collection[str]) -> None:
        self._shared = shared
        self._state: Any = None
        self._running: dict[str, set[str]] = {}

    def step(self, name: str, task: str, *, ends: bool) -> Iterator[BaseEvent]:
        """Note that a task of a node begins or ends; nodes of one name are one step.

        Args:
            name: the node's.
            task: the task's id.
            ends: whether it ends.
        """
        running = self._running.setdefault(name, set())
        if not ends:
            running.add(task)
            if len(running) == 1:
                yield StepStartedEvent(step_name=name)
        elif task in running:
            running.remove(task)
            if not running:
                yield StepFinishedEvent(step_name=name)

    def snapshot(self, values: Mapping[str, Any]) -> Iterator[BaseEvent]:
        """The state that clients see, if it is another than they were told last.

        Args:
            values: the graph's state, or what its code tells of it.
        """
        state = {name: plain(values[name]) for name in self._shared if name in values}
        if state and state != self._state:
            self._state = state
            yield StateSnapshotEvent(snapshot=state)


class Held:
    """Holds steps and states back until something is said: till then answers can be given back.

    Args:
        holds: whether answers came with the run.
    """

    def __init__(self, *, holds: bool) -> None:
        self._items: list[RunItem] | None = [] if holds else None

    def told(self, items: Iterable[RunItem], begun: Callable[[], bool]) -> Iterator[RunItem]:
        """The items that are told now.

        Args:
            items: the next ones.
            begun: says whether a call has begun.
        """
        for item in items:
            if self._items is not None and isinstance(item, _SURROUNDINGS):
                self._items.append(item)
                continue
            yield from self.rest()
            yield item
        if self._items and begun():
            yield from self.rest()

    def rest(self) -> list[RunItem]:
        """What is held back; from now on nothing is."""
        held, self._items = self._items or [], None
        return held
