"""What the fields of a record may be, checked where a program outside builds it.

A wrong field is told at the line that wrote it. A text passes for a collection of texts in Python:
`"not-an-admin"` has `"admin"` in it, so that it is refused wherever several names are meant.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any, Final, NoReturn

from agui_bridge.errors import BridgeError

_LONGEST_SHOWN: Final = 80
_TEXTS: Final = (str, bytes, bytearray)


@dataclass(frozen=True, slots=True)
class FieldRule:
    """What a field may be.

    Attributes:
        words: the end of a sentence that begins with the field and "must be".
        fits: whether a value is that.
        member_fits: of a collection whether one member may be in it.
    """

    words: str
    fits: Callable[[Any], bool]
    member_fits: Callable[[Any], bool] | None = None

    def or_none(self) -> FieldRule:
        """The same, or None."""
        fits = self.fits
        return replace(
            self, words=f"{self.words} or None", fits=lambda value: value is None or fits(value)
        )


def check_fields(
    built: object,
    rules: Mapping[str, FieldRule],
    *,
    error: type[BridgeError],
    label: str | None = None,
) -> None:
    """Refuse a record with a field that can't be.

    Args:
        built: the record.
        rules: of its fields, by name.
        error: what is raised.
        label: what the record is called; by default as its class.

    Raises:
        BridgeError: of the kind `error`; it names the field, what it must be, and what it is.
    """
    for name, rule in rules.items():
        value = getattr(built, name)
        if not rule.fits(value):
            refuse_unfit(f"{label or type(built).__name__}.{name}", rule, value, error=error)


def refuse_unfit(
    where: str, rule: FieldRule, value: Any, *, error: type[BridgeError], secret: bool = False
) -> NoReturn:
    """Say what a value must be, and what it is.

    Args:
        where: what it was given as.
        rule: that it does not fit.
        value: the value.
        error: what is raised.
        secret: whether nothing but its type may be told.
    """
    shown = type(value).__name__ if secret else _shown_by(rule, value)
    raise error(f"{where} must be {rule.words}, not {shown}.")


def sequence_of(words: str, fits: Callable[[Any], bool], *, least: int = 0) -> FieldRule:
    """The rule of a sequence; a text is none.

    Args:
        words: what it is.
        fits: whether one member may be in it.
        least: how many it has at least.
    """

    def are_fit(value: Any) -> bool:
        return (
            isinstance(value, Sequence)
            and not isinstance(value, _TEXTS)
            and len(value) >= least
            and all(map(fits, value))
        )

    return FieldRule(words, are_fit, fits)


def collection_of(words: str, fits: Callable[[Any], bool]) -> FieldRule:
    """The rule of a set or a sequence; a text is neither, nor is a mapping.

    Args:
        words: what it is.
        fits: whether one member may be in it.
    """

    def are_fit(value: Any) -> bool:
        many = isinstance(value, Sequence | Set) and not isinstance(value, _TEXTS)
        return many and all(map(fits, value))

    return FieldRule(words, are_fit, fits)


def is_a(kind: type) -> Callable[[Any], bool]:
    """A check for objects of a class.

    Args:
        kind: the class.
    """
    return lambda value: isinstance(value, kind)


def is_number(value: Any, least: float = 0, most: float = float("inf")) -> bool:
    """Whether a value is a finite number within bounds, and no truth value.

    Args:
        value: to look at.
        least: it may be this.
        most: it may be this, too.
    """
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and least <= value <= most and isfinite(value)


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _shown_by(rule: FieldRule, value: Any) -> str:
    """A wrong value in words: of a collection the first member that may not be in it."""
    shown = _shown(value)
    if rule.member_fits is None or isinstance(value, _TEXTS):
        return shown
    if not isinstance(value, Sequence | Set | Mapping):
        return shown
    members = value.values() if isinstance(value, Mapping) else value
    wrong = [member for member in members if not rule.member_fits(member)]
    return f"{shown} with {_shown(wrong[0])}" if wrong else shown


def _shown(value: Any) -> str:
    """The value in words: what it holds is the author's affair, and may fail to be shown."""
    kind = type(value).__name__
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if value is None or not isinstance(value, str | int | float):
        return kind if value is not None else "None"
    text = repr(value)
    return f"{kind} {text if len(text) <= _LONGEST_SHOWN else text[:_LONGEST_SHOWN] + '…'}"


TEXT: Final = FieldRule("a str", is_a(str))
NAME: Final = FieldRule("a str that is not empty", _is_name)
OBJECT: Final = FieldRule("a mapping", is_a(Mapping))
COUNT: Final = FieldRule(
    "1 or more", lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= 1
)
SECONDS: Final = FieldRule("0 or more seconds", is_number)


IS_MISSING: Final = "is missing"
MUST_BE_A_STRING: Final = "must be a string"

_OBJECT: Final = "must be an object"
_WORDS: Final = {
    "missing": IS_MISSING,
    "string_type": MUST_BE_A_STRING,
    "list_type": "must be a list",
    "dict_type": _OBJECT,
    "model_type": _OBJECT,
    "model_attributes_type": _OBJECT,
    "dataclass_type": _OBJECT,
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "none_required": "must be null",
    "union_tag_not_found": IS_MISSING,
}


def told_field_fault(fault: Mapping[str, Any]) -> str:
    """Say what a field must be.

    Pydantic's own words name Python types, and members of unions that no client knows.

    Args:
        fault: one of pydantic's, with its context.

    Returns:
        The end of a sentence that begins with the field, without a full stop.
    """
    kind, context = fault["type"], fault.get("ctx", {})
    if kind == "string_type" and fault["loc"] and fault["loc"][-1] == "str":
        return "must be a string or a list of content parts"
    if kind in _WORDS:
        return _WORDS[kind]
    if kind == "literal_error":
        return f"must be {context['expected']}"
    if kind == "union_tag_invalid":
        return f"must be one of {context['expected_tags']}"
    message: str = fault["msg"]
    return message.replace("Input should be", "must be", 1)


def place_of_fault(fault: Mapping[str, Any]) -> tuple[str | int, ...]:
    """Where the field is: of a union it is the member that says which one is meant.

    Args:
        fault: one of pydantic's, with its context.
    """
    where: tuple[str | int, ...] = fault["loc"]
    if fault["type"] in ("union_tag_not_found", "union_tag_invalid"):
        return (*where, fault["ctx"]["discriminator"].strip("'"))
    return where
