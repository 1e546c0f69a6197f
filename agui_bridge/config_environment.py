"""Environment variables in a configuration: `${NAME}` in its values, and those that replace them.

Precedence: flags, environment, file, defaults.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from agui_bridge.config_yaml import Document, KeyPath

__all__ = [
    "VARIABLES",
    "Filled",
    "Variable",
    "dotted",
    "fill_in",
    "from_environment",
    "replace_from",
    "unfilled",
]


class Filled(str):
    """A string from the environment: where a number is expected, it is read as one."""


@dataclass(frozen=True, slots=True)
class Variable:
    """An environment variable that replaces a value of the file.

    Attributes:
        name: of the variable.
        path: where the value stands.
        many: whether it is a list, with commas between.
    """

    name: str
    path: KeyPath
    many: bool = False


VARIABLES: Final = (
    Variable("AGUI_BRIDGE_STORE", ("store",)),
    Variable("AGUI_BRIDGE_HOST", ("server", "host")),
    Variable("AGUI_BRIDGE_PORT", ("server", "port")),
    Variable("AGUI_BRIDGE_ANONYMOUS", ("server", "anonymous")),
    Variable("AGUI_BRIDGE_LOG_FORMAT", ("logging", "format")),
    Variable("AGUI_BRIDGE_LOG_LEVEL", ("logging", "level")),
    Variable("AGUI_BRIDGE_ALLOWED_HOSTS", ("allowed_hosts",), many=True),
    Variable("AGUI_BRIDGE_CORS_ORIGINS", ("cors_origins",), many=True),
    Variable("AGUI_BRIDGE_CORS_ORIGIN_REGEX", ("cors_origin_regex",)),
)
"""All that are heeded, besides those that a file names."""

_REFERENCE: Final = re.compile(
    r"\$(?:(?P<escaped>\$)(?=\{)|\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>[^}]*))?\}"
    r"|(?P<broken>\{))"
)


def fill_in(document: Document, environment: Mapping[str, str]) -> tuple[dict[str, Any], list[str]]:
    """Put the environment's values in the place of `${NAME}` and `${NAME:-default}`.

    `$${` stands for `${` itself. A default is taken for a variable that is empty, too.

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
        faults.append(f"{place}: `${{` begins no ${{NAME}} or ${{NAME:-default}}; write `$${{`.")
        return ""
    found = environment.get(name)
    if found is None and default is None:
        faults.append(
            f"{place}: the environment variable {name} is not set. "
            f"Set it, or give a default: ${{{name}:-value}}."
        )
        return ""
    return found or default or ""


def replace_from(values: dict[str, Any], replacements: Mapping[KeyPath, Any]) -> dict[str, Any]:
    """The values with some replaced; a mapping on the way is made when it is missing.

    Where something else stands than a mapping nothing is replaced: that is told as a fault.
    """
    replaced = dict(values)
    for (first, *rest), value in replacements.items():
        key = str(first)
        if not rest:
            replaced[key] = value
        elif isinstance(below := replaced.get(key) or {}, dict):
            replaced[key] = replace_from(below, {tuple(rest): value})
    return replaced


def from_environment(environment: Mapping[str, str]) -> dict[KeyPath, Any]:
    """What the environment replaces. An empty variable counts as absent."""
    found: dict[KeyPath, Any] = {}
    for variable in VARIABLES:
        if text := environment.get(variable.name):
            parts = [part.strip() for part in text.split(",")]
            found[variable.path] = (
                [part for part in parts if part] if variable.many else Filled(text)
            )
    return found


def unfilled(value: Any) -> Any:
    """Plain strings for those from the environment, where nobody knows what is expected."""
    if isinstance(value, dict):
        return {key: unfilled(item) for key, item in value.items()}
    if isinstance(value, list):
        return [unfilled(item) for item in value]
    return str(value) if isinstance(value, Filled) else value


def dotted(where: KeyPath) -> str:
    """A place for people: keys and numbers with dots between."""
    return ".".join(map(str, where))
