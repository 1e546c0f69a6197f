"""What a remembered decision covers, in words: which arguments, for whom, how long, how often."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from agui_bridge.protocol.grants.matching import is_matcher
from agui_bridge.protocol.threads.records import Json

__all__ = ["covered_arguments", "lasting", "times"]

_NOTHING: Final = "no call at all: its rule has a matcher that there is not"
_SPANS: Final = ((86_400, "day"), (3600, "hour"), (60, "minute"), (1, "second"))


def covered_arguments(args: Mapping[str, Json], matchers: Mapping[str, Any]) -> str:
    """How far the arguments of other calls may differ; `matching.matches` as words.

    Args:
        args: those that are approved.
        matchers: by JSON pointer.
    """
    if not all(
        pointer[:1] in ("", "/") and is_matcher(matcher) for pointer, matcher in matchers.items()
    ):
        return _NOTHING
    if "" in matchers:
        others = [pointer for pointer in matchers if pointer]
        if matchers[""] == "any":
            return "any arguments" if not others else _told(args, matchers, "anything else")
        return _told(args, {pointer: matchers[pointer] for pointer in others}, "all else the same")
    return _told(args, matchers, "all else the same") if matchers else "the same arguments"


def lasting(seconds: float) -> str:
    """A time in words: `8 hours`, `1 day and 12 hours`.

    Args:
        seconds: how long.
    """
    parts, rest = [], round(seconds)
    for length, name in _SPANS:
        many, rest = divmod(rest, length)
        if many:
            parts.append(f"{many} {name}{'' if many == 1 else 's'}")
    return " and ".join(parts[:2]) or "less than a second"


def times(most: int | None) -> str:
    """How often, in words.

    Args:
        most: None: any number of times.
    """
    if most is None:
        return "any number of times"
    return "once" if most == 1 else f"{most} times at most"


def _told(args: Mapping[str, Json], matchers: Mapping[str, Any], else_: str) -> str:
    told = [f"{_named(at)} {_allowed(matchers[at], _at(args, at))}" for at in sorted(matchers)]
    return "; ".join([*filter(None, told), else_]) if told else "the same arguments"


def _named(pointer: str) -> str:
    """A pointer as people read it: `to.iban`."""
    steps = pointer[1:].split("/")
    return ".".join(step.replace("~1", "/").replace("~0", "~") or '""' for step in steps)


def _allowed(matcher: Any, approved: Json) -> str:
    if matcher == "any":
        return "anything, or left out"
    if matcher == "exact":
        return "the same"
    if isinstance(matcher, str):
        matcher = {matcher: approved}
        if not is_matcher(matcher):
            return "left out" if approved is None else "no value"
    if "prefix" in matcher:
        begin = json.dumps(matcher["prefix"], ensure_ascii=False)
        return f"any text that begins with {begin}"
    low, high = matcher.get("min"), matcher.get("max")
    if high is None:
        return f"any number from {low} up, however large"
    return f"any number up to {high}, negative ones too" if low is None else f"from {low} to {high}"


def _at(args: Mapping[str, Json], pointer: str) -> Json:
    """What was approved at a pointer; None where there is nothing."""
    value: Any = args
    for step in pointer[1:].split("/"):
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(value, Mapping):
            value = value.get(name)
        elif isinstance(value, list | tuple) and name.isdigit() and int(name) < len(value):
            value = value[int(name)]
        else:
            return None
    return value
