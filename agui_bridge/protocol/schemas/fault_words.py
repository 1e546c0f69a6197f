"""What a value must be, in words, where JSON Schema says that it is not: for who sent it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from jsonschema import ValidationError

__all__ = ["told_fault"]

_LONGEST_VALUE: Final = 60

_TYPES: Final = {
    "array": "a list",
    "boolean": "true or false",
    "integer": "a whole number",
    "null": "null",
    "number": "a number",
    "object": "an object",
    "string": "a string",
}

_BOUNDS: Final = {
    "minimum": "must be at least {}",
    "maximum": "must be at most {}",
    "exclusiveMinimum": "must be above {}",
    "exclusiveMaximum": "must be below {}",
    "multipleOf": "must be a multiple of {}",
    "minLength": "must have at least {} characters",
    "maxLength": "must have at most {} characters",
    "minItems": "must have at least {} items",
    "maxItems": "must have at most {} items",
    "minProperties": "must have at least {} members",
    "maxProperties": "must have at most {} members",
    "format": "must have the format {}",
    "pattern": "must match the pattern {}",
    "const": "must be {}",
}


def told_fault(error: ValidationError) -> str:
    """Say what a value must be.

    Args:
        error: what the check found; its `validator` is the keyword that is not satisfied.

    Returns:
        The end of a sentence that begins with the place of the value, without a full stop.
    """
    keyword = str(error.validator)
    rule: Any = error.validator_value
    if keyword in ("minLength", "minItems", "minProperties") and rule == 1:
        return "must not be empty"
    if keyword in _BOUNDS:
        return _BOUNDS[keyword].format(_json(rule)) + _instead(error.instance)
    say = _WORDS.get(keyword)
    return error.message.rstrip(".") if say is None else say(rule, error.instance)


def _type(rule: Any, value: Any) -> str:
    names = [rule] if isinstance(rule, str) else rule
    kinds = " or ".join(_TYPES.get(name, name) for name in names)
    return f"must be {kinds}{_instead(value)}"


def _required(rule: Any, value: Any) -> str:
    missing = [_json(name) for name in rule if name not in value]
    return f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing"


def _enum(rule: Any, value: Any) -> str:
    return f"must be one of {', '.join(map(_json, rule))}{_instead(value)}"


def _instead(value: Any) -> str:
    """What there is in its place, where that is short."""
    found = _json(value)
    return f", not {found}" if len(found) <= _LONGEST_VALUE else ""


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


_WORDS: Final[Mapping[str, Callable[[Any, Any], str]]] = {
    "type": _type,
    "required": _required,
    "enum": _enum,
    "anyOf": lambda _, value: f"must fit one of the shapes that are allowed{_instead(value)}",
    "oneOf": lambda _, value: (
        f"must fit exactly one of the shapes that are allowed{_instead(value)}"
    ),
    "uniqueItems": lambda _, __: "must not have an item twice",
}
