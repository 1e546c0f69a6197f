"""The state that an agent shares with the frontend, across pauses and replays."""

from __future__ import annotations

import json
from typing import ClassVar

from pydantic import BaseModel, ConfigDict

from agui_bridge.agents.replay.state_changes import difference, merge, same
from agui_bridge.protocol.json_values import clean
from agui_bridge.protocol.threads.records import Json

__all__ = ["Edit", "SharedState", "StateRecord"]


class Edit(BaseModel):
    """What the frontend changed while the agent was paused: the names that differ.

    Attributes:
        after_entries: a replay brings it in once that many leading entries of the journal
            were visited: where the run before brought it in.
        before: the state at the pause.
        after: the state at the resume.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    after_entries: int
    before: dict[str, Json]
    after: dict[str, Json]

    @classmethod
    def between(cls, paused: Json, live: Json, after_entries: int) -> Edit:
        """Make the edit from two states; one that is no object counts as {}."""
        before = paused if isinstance(paused, dict) else {}
        after = live if isinstance(live, dict) else {}
        unchanged = {name for name in before if name in after and same(before[name], after[name])}
        return cls(
            after_entries=after_entries,
            before={name: value for name, value in before.items() if name not in unchanged},
            after={name: value for name, value in after.items() if name not in unchanged},
        )


class StateRecord(BaseModel):
    """What a continuation keeps of the state.

    Attributes:
        initial: as the function first found it: a replay starts from it.
        edits: the frontend's edits at earlier pauses, in order.
        paused: as the frontend had it at the pause.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    initial: dict[str, Json]
    edits: tuple[Edit, ...] = ()
    paused: Json


class SharedState:
    """`run.state` and what the frontend knows of it.

    Nothing is copied or compared before the agent looks at the state.

    Args:
        live: the state of the thread at the start of this run, any JSON value.
        record: what the continuation kept, when the run before had looked at the state.
        entries: how many entries the continuation's journal has.
    """

    def __init__(self, live: Json, record: StateRecord | None, entries: int) -> None:
        """Begin with what the continuation kept, else with nothing looked at."""
        self._live = live
        self._edits: tuple[Edit, ...] = ()
        self._to_come: list[Edit] = []
        self._initial: dict[str, Json] | None = None
        self._value: dict[str, Json] = {}
        self._sent = ""
        if record is not None:
            self._edits = (*record.edits, Edit.between(record.paused, live, entries))
            self._to_come = list(self._edits)
            self._open(record.initial)

    @property
    def in_use(self) -> bool:
        """Whether the agent has looked at the state, in this run or one that it continues."""
        return self._initial is not None

    @property
    def value(self) -> dict[str, Json]:
        """The agent's own dict."""
        if not self.in_use:
            self._open(self._live if isinstance(self._live, dict) else {})
        return self._value

    def catch_up(self, visited: int) -> None:
        """Bring in, in place, the edits that belong here; the last one ends the replay.

        Args:
            visited: how many leading entries of the journal were visited.
        """
        while self._to_come and self._to_come[0].after_entries <= visited:
            edit = self._to_come.pop(0)
            merge(self._value, edit.before, edit.after)

    def changes(self) -> list[dict[str, Json]]:
        """Return the RFC 6902 patch from what the frontend has to what the agent has.

        Empty during a replay, and when nothing changed. The frontend then counts as having it.
        """
        if not self.in_use or self._to_come:
            return []
        text = json.dumps(clean(self._value))
        if text == self._sent:
            return []
        current = json.loads(text)
        patch = difference(self._live, current)
        self._live, self._sent = current, text
        return patch

    def record(self) -> StateRecord | None:
        """Return what the next run needs; None when the state was never looked at."""
        if self._initial is None:
            return None
        edits = tuple(edit for edit in self._edits if edit.before or edit.after)
        return StateRecord(initial=self._initial, edits=edits, paused=self._live)

    def _open(self, state: dict[str, Json]) -> None:
        text = json.dumps(clean(state))
        self._initial = json.loads(text)
        self._value = json.loads(text)
        # A state that is no object counts as {} until the agent changes something.
        self._sent = json.dumps(clean(self._live)) if isinstance(self._live, dict) else "{}"
