"""Strict JSON from bytes and from code: what passes here is stored as what it is.

Of a key that stands twice in an object every reader takes another value: a gateway that judges the
first `approved` would pass what is executed by the last. Such an object is refused.
"""

from __future__ import annotations

import codecs
import json
import math
from typing import Final

from agui_bridge.errors import Refused
from agui_bridge.protocol.input_limits import beyond
from agui_bridge.protocol.json_values import clean_text
from agui_bridge.protocol.threads.records import Json

__all__ = ["as_text", "check_json", "count_values", "is_heavy", "parse_json"]

_LARGE: Final = 64 * 1024
"""Bytes of a text that takes noticeable time, whatever is in it."""

_MANY: Final = 1_000
"""Values of a text that does, however short they are."""

_LONGEST_KEY = 100
_LONGEST_INTEGER = 1_000


def parse_json(
    text: bytes, max_depth: int, what: str = "The body", *, max_values: int | None = None
) -> Json:
    """Read JSON in UTF-8, without the constants that only Python knows.

    Args:
        text: the JSON.
        max_depth: how deep values may nest, for the message about what is deeper than the reader
            can go; what is less deep is the caller's to check.
        what: names the text in messages.
        max_values: how many values it may hold (see `count_values`), counted before it is read;
            None is no limit.

    Raises:
        Refused: INVALID_INPUT, also for a key that stands twice in an object;
            PAYLOAD_TOO_LARGE, for more values.
    """
    if max_values is not None and (found := count_values(text, max_values)) > max_values:
        raise beyond(
            "PAYLOAD_TOO_LARGE", what[:1].lower() + what[1:], found=found, limit=max_values,
            unit="values", setting="max_values",
        )  # fmt: skip
    if text.startswith(codecs.BOM_UTF8):
        raise Refused("INVALID_INPUT", f"{what} is not valid JSON: it begins with a BOM.")
    try:
        return _STRICT.decode(text.decode("utf-8"))
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


def _integer(digits: str) -> int:
    # The time for one grows with the square of its length.
    if len(digits) > _LONGEST_INTEGER:
        raise ValueError(f"an integer has over {_LONGEST_INTEGER} digits")
    return int(digits)


def _object(members: list[tuple[str, Json]]) -> Json:
    made = dict(members)
    if len(made) < len(members):
        seen: set[str] = set()
        for key, _ in members:
            if key in seen:
                shown = key if len(key) <= _LONGEST_KEY else key[:_LONGEST_KEY] + "…"
                quoted = clean_text(json.dumps(shown, ensure_ascii=False))
                raise ValueError(f"an object has the key {quoted} more than once")
            seen.add(key)
    return made


_STRICT: Final = json.JSONDecoder(
    parse_constant=_refuse_constant, parse_int=_integer, object_pairs_hook=_object
)


def is_heavy(text: bytes) -> bool:
    """Whether reading a JSON text, and what is done with it then, may take noticeable time.

    That is milliseconds. What is less is not worth waiting for a turn.
    """
    return len(text) > _LARGE or (len(text) > 2 * _MANY and count_values(text, _MANY) > _MANY)


def count_values(text: bytes, enough: int) -> int:
    """Count the values of a JSON text, without reading it: its commas and opening brackets.

    That is no less than there are, and more by one for each container that is empty.

    Args:
        text: the JSON, which may be none.
        enough: a count up to which texts within strings may be counted as well.
    """
    found = _marks(text)
    if found <= enough:
        return found
    if b"\\" in text:
        text = text.replace(b"\\\\", b"").replace(b'\\"', b"")
    # An outer value has a key and itself as strings at most.
    if (quotes := text.count(b'"')) > 4 * enough + 4:
        return quotes // 4
    return _marks(b"".join(text.split(b'"')[::2]))


def _marks(text: bytes) -> int:
    return text.count(b",") + text.count(b"[") + text.count(b"{")


def as_text(value: Json) -> str:
    """A run's result for readers of text: a text as it is, else its JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


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
