"""Canonical JSON as RFC 8785 writes it: the same value is the same bytes, in every language.

One case is ours: RFC 8785 knows no integers beyond 2^53, which Python and tools have; they are
written with all their digits. A lone surrogate, which no Unicode text has, keeps its three bytes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any, Final

__all__ = ["canonical_json"]

_text: Final = json.JSONEncoder(ensure_ascii=False).encode

_PLAIN_FROM: Final = -6
_PLAIN_UP_TO: Final = 21
"""Exponents between which ECMAScript writes a number without one."""


def canonical_json(value: Any) -> bytes:
    """Write a JSON value as RFC 8785 says.

    Args:
        value: dicts with string keys, lists or tuples, strings, numbers, booleans, None.

    Raises:
        ValueError: a number is NaN or infinite.
        TypeError: it is no JSON value.
    """
    return "".join(_pieces(value)).encode("utf-8", "surrogatepass")


def _pieces(value: Any) -> Iterator[str]:
    if value is None or isinstance(value, bool | str):
        yield _text(value)
    elif isinstance(value, int):
        yield str(int(value))
    elif isinstance(value, float):
        yield _number(value)
    elif isinstance(value, Mapping):
        mark = "{"
        for key in sorted(value, key=_utf16):
            yield f"{mark}{_text(key)}:"
            yield from _pieces(value[key])
            mark = ","
        yield "}" if value else "{}"
    elif isinstance(value, list | tuple):
        mark = "["
        for item in value:
            yield mark
            yield from _pieces(item)
            mark = ","
        yield "]" if value else "[]"
    else:
        raise TypeError(f"not a JSON value: {type(value).__name__}")


def _utf16(key: Any) -> bytes:
    """What keys are sorted by: their UTF-16 code units."""
    if not isinstance(key, str):
        raise TypeError(f"a key of an object is no text: {key!r:.80}")
    return key.encode("utf-16-be", "surrogatepass")


def _number(value: float) -> str:
    """A number as ECMAScript writes it (Number::toString)."""
    if not math.isfinite(value):
        raise ValueError("JSON has no NaN and no Infinity")
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    # Python's shortest digits are ECMAScript's; only the point and the exponent stand elsewhere.
    mantissa, _, exponent = f"{abs(value)!r}".partition("e")
    whole, _, fraction = mantissa.partition(".")
    fraction = fraction if fraction != "0" else ""
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len(digits))
    digits = digits.rstrip("0")
    if _PLAIN_FROM < point <= _PLAIN_UP_TO:
        if point <= 0:
            return f"{sign}0.{'0' * -point}{digits}"
        if len(digits) <= point:
            return sign + digits.ljust(point, "0")
        return f"{sign}{digits[:point]}.{digits[point:]}"
    power = point - 1
    fraction = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{fraction}e{'+' if power > 0 else '-'}{abs(power)}"
