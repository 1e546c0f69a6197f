"""Strict JSON from bytes and from code: what passes here is stored as what it is."""

from __future__ import annotations

import json
import math

from agui_bridge.errors import Refused
from agui_bridge.protocol.input_limits import beyond
from agui_bridge.protocol.threads.records import Json

__all__ = ["check_json", "parse_json"]


def parse_json(text: bytes, max_depth: int, what: str = "The body") -> Json:
    """Read JSON in UTF-8, without the constants that only Python knows.

    Args:
        text: the JSON.
        max_depth: how deep values may nest, for the message about what is deeper than the reader
            can go; what is less deep is the caller's to check.
        what: names the text in messages.

    Raises:
        Refused: INVALID_INPUT.
    """
    try:
        return json.loads(text.decode("utf-8"), parse_constant=_refuse_constant)
    except UnicodeDecodeError as error:
        raise Refused("INVALID_INPUT", f"{what} is not UTF-8 (byte {error.start}).") from None
    except RecursionError:
        raise beyond(
            "INVALID_INPUT", what[:1].lower() + what[1:], found=f"over {max_depth}",
            limit=max_depth, unit="levels", setting="max_depth",
        ) from None  # fmt: skip
    except ValueError as error:
        raise Refused("INVALID_INPUT", f"{what} is not valid JSON: {error}.") from None


def _refuse_constant(name: str) -> Json:
    raise ValueError(f"{name} is not JSON")


def check_json(value: object, path: str) -> None:
    """Check that a value from code is JSON, so that it is stored as what it is.

    Raises:
        Refused: INVALID_INPUT, with the place of what is not.
    """
    found = [(path, value)]
    seen = 0
    while found:
        path, value = found.pop()
        seen += 1
        if len(path) > 2_000 or seen > 1_000_000:
            raise Refused("INVALID_INPUT", f"{path[:100]}: nests too deep, or is too large.")
        if isinstance(value, dict):
            for key, member in value.items():
                if not isinstance(key, str):
                    raise Refused("INVALID_INPUT", f"{path}: the key {key!r:.100} is no string.")
                found.append((f"{path}.{key}", member))
        elif isinstance(value, list):
            found += [(f"{path}[{index}]", item) for index, item in enumerate(value)]
        elif isinstance(value, float) and not math.isfinite(value):
            raise Refused("INVALID_INPUT", f"{path}: {value} is not JSON.")
        elif not (value is None or isinstance(value, str | int | float)):
            kind = type(value).__name__
            raise Refused("INVALID_INPUT", f"{path}: a {kind} is not JSON.")
