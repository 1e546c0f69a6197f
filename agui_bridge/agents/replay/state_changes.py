"""How two JSON states differ, as a patch, and how the changes of two sides merge."""

from __future__ import annotations

import json
from typing import Any

from agui_bridge.protocol.threads.records import Json

__all__ = ["MAX_OPERATIONS", "difference", "merge", "same"]

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
