"""Which arguments a remembered decision is about. Pure; whatever is unclear does not match."""

from __future__ import annotations

import math
from collections.abc import Mapping
from copy import deepcopy
from typing import Any, Final, TypeGuard

from agui_bridge.protocol.json_values import same_json
from agui_bridge.protocol.threads.records import Json

__all__ = ["is_matcher", "matches"]

_ABSENT: Final = object()
_LIMITS: Final = ("max", "min")


def matches(
    approved: Mapping[str, Json], matchers: Mapping[str, Json], args: Mapping[str, Json]
) -> bool:
    """Whether arguments are among those that an approval was remembered for.

    What no matcher names must be the same, type by type. A matcher is:

    - `"exact"`: the same value; what a matcher around it would allow besides, it does not.
    - `"any"`: any value, or none.
    - `"prefix"`, or `{"prefix": text}`: a text that begins with the approved one, or with this, and
      has no `..` between slashes.
    - `"max"`, or `{"max": number}`: a number that is at most the approved one, or this.
    - `"min"`, or `{"min": number}`: a number that is at least the approved one, or this.
    - `{"min": number, "max": number}`: a number from one to the other.

    Args:
        approved: the arguments that somebody approved.
        matchers: by JSON pointer (RFC 6901), as `Remember.args` has them.
        args: those of the call in question.
    """
    rest_approved, rest = deepcopy(dict(approved)), deepcopy(dict(args))
    # The deepest first: what is taken out of a value is not there for what names the value.
    for pointer in sorted(matchers, key=lambda pointer: -pointer.count("/")):
        path = _path(pointer)
        if path is None or not is_matcher(matchers[pointer]):
            return False
        if not path:
            return matchers[pointer] == "any" or same_json(rest_approved, rest)
        if not _fits(matchers[pointer], _take(rest_approved, path), _take(rest, path)):
            return False
    return same_json(rest_approved, rest)


def is_matcher(matcher: object) -> bool:
    """Whether `matches` knows a matcher."""
    if isinstance(matcher, str):
        return matcher in ("exact", "any", "prefix", *_LIMITS)
    if not isinstance(matcher, Mapping) or not matcher:
        return False
    if "prefix" in matcher:
        return len(matcher) == 1 and isinstance(matcher["prefix"], str)
    return all(kind in _LIMITS and _is_number(bound) for kind, bound in matcher.items())


def _fits(matcher: Any, approved: object, value: object) -> bool:
    if matcher == "any":
        return True
    bounds = {matcher: approved} if isinstance(matcher, str) else matcher
    return all(_is_within(kind, bound, value) for kind, bound in bounds.items())


def _is_within(kind: str, bound: object, value: object) -> bool:
    if value is _ABSENT or bound is _ABSENT:
        return value is bound
    if kind == "exact":
        return same_json(bound, value)
    if kind == "prefix":
        text = isinstance(value, str) and isinstance(bound, str)
        return text and str(value).startswith(str(bound)) and ".." not in _steps(str(value))
    if not _is_number(value) or not _is_number(bound):
        return False
    return value <= bound if kind == "max" else value >= bound


def _steps(text: str) -> list[str]:
    return text.replace("\\", "/").split("/")


def _is_number(value: object) -> TypeGuard[int | float]:
    return type(value) is int or (type(value) is float and math.isfinite(value))


def _path(pointer: str) -> list[str] | None:
    """The steps of a JSON pointer; None where it is none."""
    if not pointer:
        return []
    if not pointer.startswith("/"):
        return None
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer[1:].split("/")]


def _take(value: Any, path: list[str]) -> object:
    """Take a member out of an object, wherever it lies; lists keep the length that they have."""
    *way, last = path
    for step in way:
        value = _member(value, step)
    found = _member(value, last)
    if found is _ABSENT:
        return _ABSENT
    if isinstance(value, dict):
        del value[last]
    else:
        value[int(last)] = None
    return found


def _member(value: Any, step: str) -> Any:
    if isinstance(value, dict):
        return value.get(step, _ABSENT)
    if isinstance(value, list) and step.isascii() and step.isdigit() and str(int(step)) == step:
        return value[int(step)] if int(step) < len(value) else _ABSENT
    return _ABSENT
