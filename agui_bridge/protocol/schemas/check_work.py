"""How much work the check of an answer may take: counted while it is done, refused beyond a bound.

What a check takes depends on the payload and on the schema together: `list[str | int]` takes eight
steps an item, and a schema of a hundred alternatives may look at the whole payload a hundred times.
A count of the real steps refuses no form that is only large, which a product of two sizes would.

Source: docs/contract.md, C1 and C2 (the work of checking a payload is bounded before it begins).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

MAX_CHECK_STEPS: Final = 100_000
"""Steps for all answers of one input together; a step takes two to four microseconds."""

_Keyword = Callable[[Any, Any, Any, Any], Iterator[Any] | None]

_REFERENCES: Final = frozenset({"$ref", "$dynamicRef", "$recursiveRef"})
_COMPARING: Final = frozenset({"enum", "const", "dependentRequired", "dependencies"})
_UNEVALUATED: Final = frozenset({"unevaluatedItems", "unevaluatedProperties"})
_MEMBERWISE: Final = _UNEVALUATED | {
    "additionalItems",
    "additionalProperties",
    "contains",
    "items",
    "patternProperties",
    "prefixItems",
    "propertyNames",
}

# What takes as long as a step: characters to search or print, values to print or compare.
_CHARACTERS: Final = 250
_VALUES: Final = 8
_BITS: Final = 128


class TooMuchWork(Exception):
    """The check of an answer would take more steps than are left."""


class CheckWork:
    """The steps that are left for the answers of one input."""

    __slots__ = ("left",)

    def __init__(self, steps: int = MAX_CHECK_STEPS) -> None:
        self.left = steps

    def take(self, steps: int) -> None:
        """Count steps.

        Raises:
            TooMuchWork: there are not as many left.
        """
        self.left -= steps
        if self.left < 0:
            raise TooMuchWork


_work: ContextVar[CheckWork] = ContextVar("_work")


@contextmanager
def counting_work(work: CheckWork) -> Iterator[None]:
    """Count the work of the checks within."""
    token = _work.set(work)
    try:
        yield
    finally:
        _work.reset(token)


def spend(steps: int) -> None:
    """Count steps that a keyword takes besides those that are counted for it.

    Raises:
        TooMuchWork: there are not as many left.
    """
    _work.get().take(steps)


def counted(cls: Any) -> Any:
    """A validator class of jsonschema of our own, made to count what it does.

    It must be used within `counting_work`.
    """
    for name, keyword in cls.VALIDATORS.items():
        cls.VALIDATORS[name] = _counted_keyword(name, keyword)
    evolve, descend = cls.evolve, cls.descend

    def counted_evolve(self: Any, **changes: Any) -> Any:
        _work.get().take(1)
        return evolve(self, **changes)

    def counted_descend(self: Any, instance: Any, schema: Any, *args: Any, **options: Any) -> Any:
        # The schema `false` has no keyword that would be counted.
        if schema is False:
            _work.get().take(2 + _size(instance))
        return descend(self, instance, schema, *args, **options)

    cls.evolve, cls.descend = counted_evolve, counted_descend
    return cls


def _counted_keyword(name: str, keyword: _Keyword) -> _Keyword:
    def check(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[Any]:
        work = _work.get()
        work.take(_steps(name, value, instance, schema))
        for error in keyword(validator, value, instance, schema) or ():
            # One of a schema below has its place already. A new one repeats in its message what
            # was checked, and what is allowed.
            if isinstance(error.validator, str):
                work.take(1)
            else:
                work.take(2 + _size(instance) + _size(value))
            yield error

    return check


def _steps(name: str, value: Any, instance: Any, schema: Mapping[str, Any]) -> int:
    """What a keyword does by itself, without the schemas below it."""
    steps = 1
    if isinstance(value, list | dict):
        steps += len(value) // _VALUES
    if name in _MEMBERWISE and isinstance(instance, list | dict):
        members = len(instance)
        steps += members // 2
        if name in ("additionalProperties", "patternProperties"):
            patterns = len(schema.get("patternProperties", ()))
            if patterns and isinstance(instance, dict):
                characters = sum(map(len, instance))
                steps += patterns * (members + characters // _CHARACTERS)
        if name in _UNEVALUATED:
            # jsonschema looks each member up in a list.
            steps += members + members * members // 100
    elif name in _COMPARING:
        steps += _size(value)
    elif name == "pattern" and isinstance(instance, str):
        steps += len(instance) // _CHARACTERS
    elif name == "uniqueItems" and isinstance(instance, list):
        steps += 4 * _size(instance)
    elif name in _REFERENCES:
        steps += 2
    return steps


def _size(value: Any) -> int:
    """The steps that it takes to print a value, or to compare it."""
    if isinstance(value, str):
        return len(value) // _CHARACTERS
    if not isinstance(value, list | dict):
        return value.bit_length() // _BITS if isinstance(value, int) else 0
    values = characters = bits = 0
    level = [value]
    while level:
        below: list[Any] = []
        for node in level:
            if isinstance(node, dict):
                below.extend(node)
                below.extend(node.values())
            elif isinstance(node, list):
                below.extend(node)
            elif isinstance(node, str):
                characters += len(node)
            elif isinstance(node, int):
                bits += node.bit_length()
        values += len(below)
        level = below
    return 1 + values // _VALUES + characters // _CHARACTERS + bits // _BITS
