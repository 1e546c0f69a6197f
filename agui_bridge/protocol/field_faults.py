"""What is wrong with a field of an input, in words: where it is, and what it must be.

Pydantic's own words name Python types, and members of unions that no client knows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

__all__ = ["IS_MISSING", "MUST_BE_A_STRING", "place_of_fault", "told_field_fault"]

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
