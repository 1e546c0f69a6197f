"""JSON Schemas of answers: refused when they could hurt, compiled once, checked fast.

Schemas come from tools and models, payloads from clients. A schema that refers elsewhere,
runs in circles, or expands beyond bounds is refused when the question is raised; patterns run
on a linear-time engine. Source: docs/contract.md, "Decisions".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from agui_bridge.errors import AgentMistake
from agui_bridge.protocol.json_values import canonical

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

__all__ = [
    "MAX_SCHEMA_DEPTH",
    "MAX_SCHEMA_NODES",
    "UnsafeSchema",
    "check_schema",
    "find_schema_fault",
]

MAX_SCHEMA_NODES = 10_000
"""Values in a schema, each `$ref` counted as often as it is followed."""

MAX_SCHEMA_DEPTH = 64
"""Nesting of a schema, through its references."""

_MAX_FAULT_LENGTH = 300


class UnsafeSchema(AgentMistake):
    """An agent offered a response schema that is invalid or could exhaust the server."""


def check_schema(schema: Mapping[str, Any]) -> None:
    """Refuse a response schema that is no valid JSON Schema object or could do harm.

    Args:
        schema: a JSON Schema, an object.

    Raises:
        UnsafeSchema: it names what is wrong: not an object, a remote or circular `$ref`, too
            large once expanded, too deep, a pattern that the linear-time engine can't run.
    """
    if not isinstance(schema, Mapping):
        raise UnsafeSchema(f"A response schema must be an object, not {type(schema).__name__}.")
    _measure(schema)
    _compile(canonical(schema))


def find_schema_fault(schema: Mapping[str, Any], value: Any) -> str | None:
    """Check a value against a schema.

    Args:
        schema: a schema that `check_schema` accepted.
        value: any JSON value.

    Returns:
        None when it is valid, else one sentence that names the place and the rule.
    """
    errors = _compile(canonical(schema)).iter_errors(value)
    error = next(iter(sorted(errors, key=lambda e: (len(e.absolute_path), str(e.validator)))), None)
    if error is None:
        return None
    place = "".join(f"/{step}" for step in error.absolute_path) or "the payload"
    text = f"{place}: {error.message}"
    if len(text) > _MAX_FAULT_LENGTH:
        text = f"{place}: does not satisfy `{error.validator}` of its schema."
    return text


@lru_cache(maxsize=1024)
def _compile(text: str) -> Validator:
    """Compile a schema given as canonical JSON (equal schemas share one validator)."""
    import json

    from jsonschema import SchemaError
    from jsonschema.validators import extend, validator_for
    from referencing import Registry

    schema = json.loads(text)
    cls = validator_for(schema)
    if "$schema" in schema and cls.META_SCHEMA.get("$schema", "").rstrip("#") != str(
        schema["$schema"]
    ).rstrip("#"):
        raise UnsafeSchema(f"The response schema's $schema {schema['$schema']!r} is unknown.")
    try:
        cls.check_schema(schema)
    except SchemaError as error:
        raise UnsafeSchema(f"The response schema is invalid: {error.message}") from None
    for pattern in _patterns(schema):
        _regex(pattern)
    linear = extend(cls, {"pattern": _pattern, "patternProperties": _pattern_properties})
    validator: Validator = linear(schema, registry=Registry())
    return validator


@lru_cache(maxsize=1024)
def _regex(pattern: str) -> Any:
    import re2

    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error:
        raise UnsafeSchema(
            f"The response schema's pattern {pattern!r} can't run in linear time: "
            "look-around and back-references are not supported."
        ) from None


def _pattern(_: Any, pattern: str, instance: Any, __: Any) -> Iterator[Any]:
    from jsonschema import ValidationError

    if isinstance(instance, str) and not _regex(pattern).search(instance):
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


def _pattern_properties(
    validator: Any, properties: Mapping[str, Any], instance: Any, _: Any
) -> Iterator[Any]:
    if not isinstance(instance, dict):
        return
    for pattern, subschema in properties.items():
        regex = _regex(pattern)
        for name, value in instance.items():
            if regex.search(name):
                yield from validator.descend(value, subschema, path=name, schema_path=pattern)


def _patterns(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if isinstance(node.get("pattern"), str):
            yield node["pattern"]
        if isinstance(node.get("patternProperties"), dict):
            yield from node["patternProperties"]
        for value in node.values():
            yield from _patterns(value)
    elif isinstance(node, list):
        for value in node:
            yield from _patterns(value)


def _measure(root: Mapping[str, Any]) -> None:
    """Walk the schema with its references followed, within bounds."""
    nodes = 0
    # The third member is the chain of references that led here: one met again is a circle.
    todo: list[tuple[Any, int, tuple[str, ...]]] = [(root, 0, ())]
    while todo:
        node, depth, chain = todo.pop()
        nodes += 1
        if nodes > MAX_SCHEMA_NODES:
            raise UnsafeSchema(f"The response schema expands to over {MAX_SCHEMA_NODES} values.")
        if depth > MAX_SCHEMA_DEPTH:
            raise UnsafeSchema(f"The response schema nests deeper than {MAX_SCHEMA_DEPTH}.")
        if isinstance(node, Mapping):
            for keyword in ("$ref", "$dynamicRef", "$recursiveRef"):
                if isinstance(node.get(keyword), str):
                    reference = node[keyword]
                    if reference in chain:
                        raise UnsafeSchema(f"The response schema's {reference!r} is circular.")
                    target = _resolve(root, reference)
                    todo.append((target, depth + 1, (*chain, reference)))
            # Definitions count where they are used; unused ones do no harm.
            todo.extend(
                (value, depth + 1, chain)
                for key, value in node.items()
                if key not in ("$defs", "definitions")
            )
        elif isinstance(node, list):
            todo.extend((value, depth + 1, chain) for value in node)


def _resolve(root: Mapping[str, Any], reference: str) -> Any:
    if not reference.startswith("#/"):
        raise UnsafeSchema(
            f"The response schema's reference {reference!r} is refused: only "
            'pointers into the schema itself ("#/$defs/…") are followed.'
        )
    node: Any = root
    for step in reference[2:].split("/"):
        step = step.replace("~1", "/").replace("~0", "~")
        if isinstance(node, Mapping) and step in node:
            node = node[step]
        elif isinstance(node, list) and step.isdigit() and int(step) < len(node):
            node = node[int(step)]
        else:
            raise UnsafeSchema(f"The response schema's reference {reference!r} leads nowhere.")
    return node
