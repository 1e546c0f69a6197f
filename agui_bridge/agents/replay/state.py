"""The state that an agent shares with the frontend, across pauses and replays."""

from __future__ import annotations

import json
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict

from agui_bridge.protocol.json_values import clean
from agui_bridge.protocol.threads.records import Json


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


MAX_OPERATIONS = 100
"""A longer patch is sent as one replacement of the whole state."""

_ABSENT: Any = object()


def difference(before: Json, after: Json) -> list[dict[str, Json]]:
    """Make the RFC 6902 patch that turns `before` into `after`.

    Lists are compared by position after their common ends; at most `MAX_OPERATIONS`
    operations, else one that replaces everything.
    """
    patch: list[dict[str, Json]] = []
    _compare(before, after, "", patch)
    if len(patch) > MAX_OPERATIONS:
        return [{"op": "replace", "path": "", "value": after}]
    return patch


def _compare(before: Json, after: Json, path: str, patch: list[dict[str, Json]]) -> None:
    if len(patch) > MAX_OPERATIONS:
        return
    if isinstance(before, dict) and isinstance(after, dict):
        patch.extend(
            {"op": "remove", "path": _join(path, name)} for name in before if name not in after
        )
        for name, value in after.items():
            if name in before:
                _compare(before[name], value, _join(path, name), patch)
            else:
                patch.append({"op": "add", "path": _join(path, name), "value": value})
    elif isinstance(before, list) and isinstance(after, list):
        _compare_lists(before, after, path, patch)
    elif not same(before, after):
        patch.append({"op": "replace", "path": path, "value": after})


def _compare_lists(
    before: list[Json], after: list[Json], path: str, patch: list[dict[str, Json]]
) -> None:
    shorter = min(len(before), len(after))
    head = 0
    while head < shorter and same(before[head], after[head]):
        head += 1
    tail = 0
    while tail < shorter - head and same(before[-1 - tail], after[-1 - tail]):
        tail += 1
    common = shorter - tail
    for index in range(head, common):
        _compare(before[index], after[index], f"{path}/{index}", patch)
    # From the end, so that no removal moves what a later one means.
    patch.extend(
        {"op": "remove", "path": f"{path}/{index}"}
        for index in range(len(before) - tail - 1, common - 1, -1)
    )
    patch.extend(
        {"op": "add", "path": f"{path}/{index}", "value": after[index]}
        for index in range(common, len(after) - tail)
    )


def merge(target: dict[str, Json], before: dict[str, Json], after: dict[str, Json]) -> None:
    """Apply to `target`, in place, what changed between two states; `after` wins a conflict.

    Objects are merged name by name; any other value that changed replaces the target's.
    """
    for name in [*before, *(name for name in after if name not in before)]:
        old, new = before.get(name, _ABSENT), after.get(name, _ABSENT)
        if old is not _ABSENT and new is not _ABSENT and same(old, new):
            continue
        mine = target.get(name, _ABSENT)
        if new is _ABSENT:
            target.pop(name, None)
        elif isinstance(old, dict) and isinstance(new, dict) and isinstance(mine, dict):
            merge(mine, old, new)
        elif isinstance(mine, list) and isinstance(new, list):
            mine[:] = _copy(new)
        else:
            target[name] = _copy(new)


def same(one: Json, other: Json) -> bool:
    """Compare type-exactly: True is not 1, nor 1 the same text as 1.0."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(v, other[k]) for k, v in one.items())
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


def _copy(value: Json) -> Json:
    return json.loads(json.dumps(value))


def _join(path: str, name: str) -> str:
    return f"{path}/{name.replace('~', '~0').replace('/', '~1')}"
