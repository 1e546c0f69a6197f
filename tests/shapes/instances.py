"""Instances made from schemas, and what is wrong with them once a member is spoilt."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

__all__ = ["smallest", "spoilt"]


def smallest(schema: dict[str, Any], root: dict[str, Any]) -> Any:
    """A value with the required members alone, of our schemas; a pattern gets an empty text."""
    if "$ref" in schema:
        return smallest(root["$defs"][schema["$ref"].rpartition("/")[2]], root)
    for word in ("oneOf", "anyOf"):
        if word in schema and "properties" not in schema:
            return smallest(schema[word][0], root)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][0]
    match schema.get("type"):
        case "object":
            properties = schema.get("properties", {})
            return {key: smallest(properties[key], root) for key in schema.get("required", ())}
        case "array":
            return [smallest(schema["items"], root)] * schema.get("minItems", 0)
        case "string":
            return "" if "pattern" in schema else "text"
        case "integer" | "number":
            return 1
        case "boolean":
            return True
        case "null":
            return None
    return {"any": ["thing"]}


def spoilt(
    instance: dict[str, Any], schema: dict[str, Any], root: dict[str, Any]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """What was spoilt, and the instance with it: no required member, none of its type, null."""
    for name in schema.get("required", ()):
        yield f"no {name}", {key: value for key, value in instance.items() if key != name}
    for name, inner in schema.get("properties", {}).items():
        if not {"type", "$ref", "oneOf", "anyOf", "const", "enum"} & set(inner):
            continue  # any JSON value
        for wrong in (None, 1.5, "no such text", [["list"]], {"an": "object"}):
            if not _may_be(wrong, inner, root):
                yield f"{name}: {wrong!r}", {**copy.deepcopy(instance), name: wrong}


def _may_be(value: Any, schema: dict[str, Any], root: dict[str, Any]) -> bool:
    """Whether a value of this JSON type is among those of a schema, however wrong it is within."""
    if "$ref" in schema:
        return _may_be(value, root["$defs"][schema["$ref"].rpartition("/")[2]], root)
    if "const" in schema or "enum" in schema:
        return False
    for word in ("oneOf", "anyOf"):
        if word in schema and "type" not in schema:
            return any(_may_be(value, choice, root) for choice in schema[word])
    if schema.get("type") == "string" and "oneOf" in schema:
        return False
    kinds: dict[type, tuple[str, ...]] = {
        type(None): ("null",),
        float: ("number",),
        str: ("string",),
        list: ("array",),
        dict: ("object",),
    }
    return schema.get("type") is None or schema["type"] in kinds[type(value)]
