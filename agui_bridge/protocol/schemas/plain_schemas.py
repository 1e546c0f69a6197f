"""Plain schemas, whose valid values are told from all others without jsonschema.

Most questions ask for an object of a few members. Of a schema that consists of the keywords here,
and of nothing else, a check is made that says yes only where jsonschema would. Whatever it does not
say yes to, jsonschema judges, and says what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

__all__ = ["Check", "plain_check"]

Check = Callable[[Any], bool]
"""Whether a value is valid for certain."""

_MOST: Final = 200
"""Members of an object or array; the work on larger ones is counted, so jsonschema has them."""

_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "array": (list,),
    "boolean": (bool,),
    "integer": (int,),
    "null": (type(None),),
    "number": (int, float),
    "object": (dict,),
    "string": (str,),
}
"""The types of the values that are certainly of a schema's type: `True` is no `int` here."""

_SAYING_NOTHING: Final = frozenset(
    {"$comment", "default", "deprecated", "description", "examples", "title"}
)
_OF_OBJECTS: Final = frozenset({"type", "properties", "required", "additionalProperties"})
_OF_ARRAYS: Final = frozenset({"type", "items", "minItems", "maxItems"})
_OF_NUMBERS: Final = frozenset({"type", "minimum", "maximum"})
_OF_STRINGS: Final = frozenset({"type", "enum", "minLength", "maxLength"})


def plain_check(schema: Any) -> Check | None:
    """The check of a schema; None where it is not plain.

    Args:
        schema: valid against its draft, whichever of those that are supported.
    """
    if not isinstance(schema, dict):
        return None
    keywords = schema.keys() - _SAYING_NOTHING
    if not keywords:
        return _anything
    kind = schema.get("type")
    if not isinstance(kind, str):
        return None
    if keywords == {"type"}:
        return _of_types(_TYPES[kind])
    made, known = _MADE.get(kind, (None, frozenset[str]()))
    return made(schema) if made is not None and keywords <= known else None


def _anything(_: Any) -> bool:
    return True


def _of_types(types: Collection[type]) -> Check:
    return lambda value: type(value) in types


def _object(schema: Mapping[str, Any]) -> Check | None:
    named: Mapping[str, Any] = schema.get("properties", {})
    members = {name: plain_check(each) for name, each in named.items()}
    more = schema.get("additionalProperties", True)
    rest = _anything if more is True else plain_check(more)
    if None in members.values() or (rest is None and more is not False):
        return None
    required: tuple[str, ...] = tuple(schema.get("required", ()))

    def check(value: Any) -> bool:
        if type(value) is not dict or len(value) > _MOST:
            return False
        for name in required:
            if name not in value:
                return False
        for name, item in value.items():
            member = members.get(name, rest)
            if member is None or not member(item):
                return False
        return True

    return check


def _array(schema: Mapping[str, Any]) -> Check | None:
    item = plain_check(schema.get("items", {}))
    least, most = schema.get("minItems", 0), min(schema.get("maxItems", _MOST), _MOST)
    if item is None:
        return None
    return lambda value: (
        type(value) is list and least <= len(value) <= most and all(map(item, value))
    )


def _number(schema: Mapping[str, Any]) -> Check:
    types = _TYPES[schema["type"]]
    least, most = schema.get("minimum", float("-inf")), schema.get("maximum", float("inf"))
    return lambda value: type(value) in types and least <= value <= most


def _string(schema: Mapping[str, Any]) -> Check | None:
    options = schema.get("enum")
    if options is not None:
        allowed = frozenset(option for option in options if isinstance(option, str))
    least, most = schema.get("minLength", 0), schema.get("maxLength", float("inf"))
    return lambda value: (
        type(value) is str and least <= len(value) <= most and (options is None or value in allowed)
    )


_MADE: Final[Mapping[str, tuple[Callable[[Mapping[str, Any]], Check | None], frozenset[str]]]] = {
    "array": (_array, _OF_ARRAYS),
    "integer": (_number, _OF_NUMBERS),
    "number": (_number, _OF_NUMBERS),
    "object": (_object, _OF_OBJECTS),
    "string": (_string, _OF_STRINGS),
}
"""What makes the check, and the keywords that it knows, by the type that a schema asks for."""
