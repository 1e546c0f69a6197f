"""Environment variables within the values of a file, written as in Compose files.

`${NAME}`, `${NAME:-default}`, and `${NAME:?what to do if it is not set}`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from agui_bridge.yaml_files.document import Document, KeyPath, dotted, scalar_of

__all__ = ["Filled", "fill_in", "read_filled", "unfilled"]

_REFERENCE: Final = re.compile(
    r"\$(?:(?P<escaped>\$)(?=\{)|\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"(?::-(?P<default>[^}]*)|:\?(?P<missing>[^}]*))?\}"
    r"|(?P<broken>\{))"
)


class Filled(str):
    """A string from the environment: where a number is expected, it is read as one."""


def fill_in(document: Document, environment: Mapping[str, str]) -> tuple[dict[str, Any], list[str]]:
    """Put the environment's values in the place of `${NAME}` and what else begins with `${`.

    `$${` stands for `${` itself. A default is taken for a variable that is empty, too, and so is
    what `:?` says.

    Returns:
        The values, and what is wrong with them, one line each: a file's faults are told at once.
    """
    faults: list[str] = []

    def filled(value: Any, where: KeyPath) -> Any:
        if isinstance(value, dict):
            return {key: filled(item, (*where, key)) for key, item in value.items()}
        if isinstance(value, list):
            return [filled(item, (*where, number)) for number, item in enumerate(value)]
        if not isinstance(value, str):
            return value
        place = f"{document.path}:{document.line_of(where)}: {dotted(where)}"
        text = _REFERENCE.sub(lambda match: _meaning(match, environment, place, faults), value)
        return Filled(text) if text != value else text

    return filled(document.values, ()), faults


def _meaning(
    match: re.Match[str], environment: Mapping[str, str], place: str, faults: list[str]
) -> str:
    name, default = match["name"], match["default"]
    if match["escaped"]:
        return "$"
    if match["broken"]:
        faults.append(
            f"{place}: `${{` begins no ${{NAME}}, ${{NAME:-default}} or ${{NAME:?message}}; "
            "write `$${`."
        )
        return ""
    found = environment.get(name)
    if not found and match["missing"] is not None:
        state = "not set" if found is None else "empty"
        said = match["missing"].strip() or "Set it."
        faults.append(f"{place}: the environment variable {name} is {state}: {said}")
        return ""
    if found is None and default is None:
        faults.append(
            f"{place}: the environment variable {name} is not set. "
            f"Set it, or give a default: ${{{name}:-value}}."
        )
        return ""
    return found or default or ""


def read_filled(value: object) -> object:
    """A scalar for text from the environment, where a number or the like is expected."""
    return scalar_of(value) if isinstance(value, Filled) else value


def unfilled(value: Any) -> Any:
    """Plain strings for those from the environment, where nobody knows what is expected."""
    if isinstance(value, dict):
        return {key: unfilled(item) for key, item in value.items()}
    if isinstance(value, list):
        return [unfilled(item) for item in value]
    return str(value) if isinstance(value, Filled) else value
