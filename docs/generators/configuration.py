"""The tables within the page on configuration, from the models that check a file."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from agui_bridge.config import configuration_schema
from agui_bridge.config.load import VARIABLES
from agui_bridge.engine.input.settings import PER_AGENT
from agui_bridge.yaml_files.document import dotted

_SECTIONS: Final[Mapping[str, str | None]] = {
    "keys": None,
    "server": "Server",
    "logging": "Logging",
    "authentication": "Authentication",
    "bearer": "BearerToken",
    "agent": "AgentEntry",
    "keyword": "KeywordSection",
    "field": "FieldSection",
    "replies": "RepliesSection",
    "settings": "Settings",
}
"""The marked places of the page, and the definition that each table shows."""


def configuration_page(path: Path) -> str:
    """The page as it is, with the tables as they should be.

    Raises:
        ValueError: the page lacks the place of one, marked by two comments.
    """
    text = path.read_text(encoding="utf-8")
    schema = configuration_schema()
    tables: dict[str, Callable[[], str]] = {"environment": _environment}
    for place, name in _SECTIONS.items():
        section = schema if name is None else schema["$defs"][name]
        tables[place] = partial(_table, section, place == "settings")
    for place, table in tables.items():
        begin, end = f"<!-- {place} -->\n", f"<!-- /{place} -->"
        pattern = re.compile(f"(?<={re.escape(begin)}).*?(?={re.escape(end)})", re.DOTALL)
        if not pattern.search(text):
            raise ValueError(f"{path.name} lacks {begin.strip()} … {end}")
        # A function, since a text would have its backslashes read.
        text = pattern.sub(partial(_in_place, table()), text)
    return text


def _in_place(text: str, _: re.Match[str]) -> str:
    return text


def _environment() -> str:
    rows = [
        f"| `{variable.name}` | `{dotted(variable.path)}`{' (commas between)' * variable.many} |"
        for variable in VARIABLES
    ]
    return "\n".join(["| variable | replaces |", "|---|---|", *rows]) + "\n"


def _table(section: Mapping[str, Any], settings: bool) -> str:
    required = section.get("required", ())
    lines = ["| key | type | default | meaning |", "|---|---|---|---|"]
    for name, schema in section["properties"].items():
        default = "required" if name in required else _default(schema)
        meaning = schema.get("description", "")
        own = " Each agent may have its own." if settings and name in PER_AGENT else ""
        meaning = meaning[:1].upper() + meaning[1:] + own
        lines.append(
            f"| `{name}` | {_type(schema)} | {default} | {meaning} |".replace("|  |", "| |")
        )
    return "\n".join(lines) + "\n"


def _default(schema: Mapping[str, Any]) -> str:
    if schema.get("default") in (None, "", [], {}):
        return ""
    return f"`{json.dumps(schema['default'])}`".replace('"', "")


def _type(schema: Mapping[str, Any]) -> str:
    if "anyOf" in schema:
        return " or ".join(_type(kind) for kind in schema["anyOf"])
    if "$ref" in schema:
        return "mapping"
    if "enum" in schema:
        return ", ".join(f"`{choice}`" for choice in schema["enum"])
    if schema["type"] == "array":
        return f"list of {_many(_type(schema['items']))}"
    words = {
        "string": "text",
        "integer": "whole number",
        "number": "number",
        "boolean": "true or false",
        "null": "null",
        "object": "mapping",
    }
    return words[schema["type"]] + _bounds(schema)


def _many(kind: str) -> str:
    return "mappings" if kind == "mapping" else kind


def _bounds(schema: Mapping[str, Any]) -> str:
    words = (("exclusiveMinimum", "above"), ("minimum", "from"), ("maximum", "to"))
    found = [f"{word} {schema[bound]:g}" for bound, word in words if bound in schema]
    return f" {' '.join(found)}" if found else ""
