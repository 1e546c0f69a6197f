"""JSON that somebody types, and JSON that stands in a line to be changed."""

from __future__ import annotations

import json
from typing import Any

from agui_bridge.cli.chat.screen import STEERING
from agui_bridge.protocol.json_values import find_forbidden

__all__ = ["read_json", "write_json"]


def read_json(text: str) -> Any:
    """The value that a text is.

    Args:
        text: JSON, as somebody typed it.

    Raises:
        ValueError: it is none, or holds what no agent takes, such as NaN.
    """
    try:
        value = json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    if fault := find_forbidden(value):
        raise ValueError(fault)
    return value


def write_json(value: Any, indent: int | None = None) -> str:
    """A value as JSON that steers no terminal: what would is written as an escape.

    Args:
        value: of JSON.
        indent: as for `json.dumps`.
    """
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    return STEERING.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
