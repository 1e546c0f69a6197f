"""JSON Schemas as pages: what a shape is for, its members, and the shapes within it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

_BOUNDS: Final = {
    "minimum": "≥ {}",
    "exclusiveMinimum": "> {}",
    "maximum": "≤ {}",
    "exclusiveMaximum": "< {}",
    "minLength": "{} characters at least",
    "maxLength": "{} characters at most",
    "minItems": "{} at least",
    "maxItems": "{} at most",
    "pattern": "matches `{}`",
    "format": "{}",
}


def schema_page(name: str, schema: Mapping[str, Any]) -> str:
    """The page of the document `NAME.json`."""
    parts = [f"# {schema.get('title', name)}\n", f"[`{name}.json`]({name}.json)\n"]
    parts += _shape(schema)
    for title, inner in schema.get("$defs", {}).items():
        parts += [f"## {title}\n", *_shape(inner)]
    return "\n".join(parts).rstrip() + "\n"


def _shape(schema: Mapping[str, Any]) -> Iterator[str]:
    if "description" in schema:
        yield said(schema["description"]) + "\n"
    if schema.get("properties"):
        yield member_table(schema)
    else:
        yield f"It is: {type_of(schema)}\n"
    for choice in ("oneOf", "anyOf"):
        if schema.get("properties") and choice in schema:
            yield f"And one of: {_either(schema[choice])}\n"
    for example in schema.get("examples", ()):
        yield f"```json\n{json.dumps(example, indent=2, ensure_ascii=False)}\n```\n"


def member_table(schema: Mapping[str, Any]) -> str:
    """A table of an object's members."""
    required = schema.get("required", ())
    rows = [
        f"| `{name}`{' (required)' if name in required else ''} | {_cell(type_of(member))} "
        f"| {_cell(_told(member))} |\n"
        for name, member in schema["properties"].items()
    ]
    return "| member | type | |\n|---|---|---|\n" + "".join(rows)


def type_of(schema: Any) -> str:
    """What a value may be, in one line of Markdown."""
    if not isinstance(schema, Mapping):
        return "any value" if schema else "nothing"
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{_slug(name)})" if schema["$ref"] != "#" else "this shape"
    if "const" in schema:
        return f"`{json.dumps(schema['const'], ensure_ascii=False)}`"
    if "enum" in schema:
        return " or ".join(f"`{json.dumps(each, ensure_ascii=False)}`" for each in schema["enum"])
    for choice in ("oneOf", "anyOf"):
        if choice in schema and "properties" not in schema:
            return _either(schema[choice])
    if "allOf" in schema and "type" not in schema:
        return " and ".join(type_of(each) for each in schema["allOf"])
    kind = schema.get("type", "any value")
    kinds = " or ".join(kind) if isinstance(kind, list) else kind
    if kind == "array" and "items" in schema:
        return f"array of {type_of(schema['items'])}"
    if kind == "object" and isinstance(schema.get("additionalProperties"), Mapping):
        return f"object of {type_of(schema['additionalProperties'])}"
    return kinds


def said(text: str) -> str:
    """A description, in which no character makes Markdown's lists or tags."""
    return re.sub(r"<(?=[a-zA-Z/])", r"\\<", text).strip()


def _either(choices: list[Any]) -> str:
    shown = list(dict.fromkeys(_titled(each) for each in choices))
    return " or ".join(shown)


def _titled(schema: Any) -> str:
    """A choice by its members, when it is an object without a name."""
    if isinstance(schema, Mapping) and "$ref" not in schema and schema.get("properties"):
        names = ", ".join(f"`{name}`" for name in schema["properties"])
        title = schema.get("title")
        return f"{title} ({names})" if title else f"an object with {names}"
    if isinstance(schema, Mapping) and set(schema) <= {"required", "title", "description"}:
        return "with " + ", ".join(f"`{name}`" for name in schema.get("required", ()))
    return type_of(schema)


def _told(member: Any) -> str:
    if not isinstance(member, Mapping):
        return ""
    parts = [said(member["description"])] if "description" in member else []
    bounds = [form.format(member[key]) for key, form in _BOUNDS.items() if key in member]
    if bounds:
        parts.append(f"({', '.join(bounds)})")
    if "default" in member:
        parts.append(f"Default: `{json.dumps(member['default'], ensure_ascii=False)}`.")
    return " ".join(parts)


def _cell(text: str) -> str:
    return re.sub(r"(?<!\\)\|", r"\\|", " ".join(text.split()))


def _slug(name: str) -> str:
    return name.lower().replace(" ", "-")
