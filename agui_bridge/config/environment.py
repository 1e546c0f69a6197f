"""The environment variables that replace values of a configuration file.

Precedence: flags, environment, file, defaults.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from agui_bridge.yaml_files.document import KeyPath
from agui_bridge.yaml_files.variables import Filled

__all__ = ["VARIABLES", "Variable", "from_environment", "replace_from"]


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
