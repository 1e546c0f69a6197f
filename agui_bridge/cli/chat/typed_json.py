"""JSON that somebody types."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from agui_bridge.protocol.json_values import find_forbidden

__all__ = ["read_json"]


def read_json(text: str) -> Any:
    """The value that a text is.

    Args:
        text: JSON, as somebody typed it.

    Raises:
        ValueError: it is none, or holds what no agent takes, such as NaN, or a name twice.
    """
    try:
        value = json.loads(text, object_pairs_hook=_members)
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    if fault := find_forbidden(value):
        raise ValueError(fault)
    return value


def _members(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        # The last one would count, and whoever reads the line may have seen the first.
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f'"{twice}" stands there twice')
    return members
