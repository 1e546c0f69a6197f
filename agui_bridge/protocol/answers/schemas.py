"""JSON Schemas of answers: refused when they could hurt, compiled once, checked fast.

Schemas come from tools and models, payloads from clients. A schema that refers elsewhere,
runs in circles, or expands beyond bounds is refused when the question is raised; patterns run
on a linear-time engine. Source: docs/contract.md, "Decisions".
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote

from pydantic_core import PydanticSerializationError, to_json

from agui_bridge.errors import AgentMistake
from agui_bridge.protocol.answers.check_work import (
    MAX_CHECK_STEPS,
    CheckWork,
    TooMuchWork,
    counted,
    counting_work,
)
from agui_bridge.protocol.json_values import canonical

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

__all__ = [
    "MAX_SCHEMA_DEPTH",
    "MAX_SCHEMA_NODES",
    "UnsafeSchema",
    "check_schema",
    "find_schema_fault",
    "is_known_draft",
]

MAX_SCHEMA_NODES = 10_000
"""Values in a schema, each `$ref` counted as often as it is followed."""

MAX_SUBSCHEMAS = 2_000
"""Objects and booleans in a schema's own text. To compile one takes a fifth of a millisecond, and
everybody waits while it is done."""

MAX_PATTERNS = 1_000
"""Different patterns in a schema: the worst ones take half a millisecond each."""

MAX_SCHEMA_LENGTH = 256 * 1024
"""Characters of a schema as JSON text."""

MAX_SCHEMA_DEPTH = 64
"""Nesting of a schema, through its references."""

_MAX_UNEVALUATED = 3
"""`unevaluated*` keywords within each other: each one more than doubles the work below it."""

_MAX_FAULT_LENGTH = 300
_MAX_PLACE_LENGTH = 120
_MAX_FAULTS = 100

_DRAFTS = {
    "http://json-schema.org/draft-06/schema": "Draft6Validator",
    "http://json-schema.org/draft-07/schema": "Draft7Validator",
    "https://json-schema.org/draft/2019-09/schema": "Draft201909Validator",
    "https://json-schema.org/draft/2020-12/schema": "Draft202012Validator",
}
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_UNEVALUATED = ("unevaluatedProperties", "unevaluatedItems")


class UnsafeSchema(AgentMistake):
    """An agent offered a response schema that is invalid or could exhaust the server."""


def check_schema(schema: Mapping[str, Any]) -> None:
    """Refuse a response schema that is no valid JSON Schema object or could do harm.

    Args:
        schema: a JSON Schema, an object, of draft 6, 7, 2019-09 or 2020-12 (the default).

    Raises:
        UnsafeSchema: it names what is wrong: not an object, a remote or circular `$ref`, too
            large once expanded, too deep, a pattern that the linear-time engine can't run.
    """
    if not isinstance(schema, Mapping):
        raise UnsafeSchema(f"A response schema must be an object, not {type(schema).__name__}.")
    _measure(schema)
    if sum(1 for _ in islice(_subschemas(schema), MAX_SUBSCHEMAS + 1)) > MAX_SUBSCHEMAS:
        raise UnsafeSchema(
            f"The response schema has over {MAX_SUBSCHEMAS} objects in it: what occurs more than "
            "once can stand in `$defs`, and be referred to."
        )
    text = canonical(schema)
    if len(text) > MAX_SCHEMA_LENGTH:
        raise UnsafeSchema(f"The response schema is longer than {MAX_SCHEMA_LENGTH} characters.")
    _compile(text)


def find_schema_fault(
    schema: Mapping[str, Any], value: Any, work: CheckWork | None = None
) -> str | None:
    """Check a value against a schema.

    Args:
        schema: a schema that `check_schema` accepted.
        value: any JSON value.
        work: what may be done for this and other values together; None is as much as one input
            may take.

    Returns:
        None when it is valid, else one sentence that names the place and the rule, or says that
        the check would take too much work.
    """
    # More faults than a few are not collected: a large payload may have one per item.
    try:
        with counting_work(work or CheckWork()):
            errors = list(islice(_validator(schema).iter_errors(value), _MAX_FAULTS))
    except OverflowError:
        return "the payload: a number is too large to be checked."
    except TooMuchWork:
        return (
            "the payload: it is too large for its schema; to check all answers of an input may "
            f"take {MAX_CHECK_STEPS} steps."
        )
    if not errors:
        return None
    error = min(errors, key=lambda e: (len(e.absolute_path), str(e.validator)))
    place = "".join(f"/{step}" for step in error.absolute_path) or "the payload"
    if len(place) > _MAX_PLACE_LENGTH:
        place = place[:_MAX_PLACE_LENGTH] + "…"
    text = f"{place}: {error.message}"
    if len(text) > _MAX_FAULT_LENGTH:
        text = f"{place}: does not satisfy `{error.validator}` of its schema."
    return text


def is_known_draft(uri: Any) -> bool:
    """Tell whether a `$schema` names a draft of JSON Schema that is supported."""
    return isinstance(uri, str) and uri.rstrip("#") in _DRAFTS


# --- bounds ------------------------------------------------------------------------------------


class _Visit(NamedTuple):
    """A value of the schema, and how the walk got there."""

    node: Any
    depth: int = 0
    references: tuple[str, ...] = ()
    unevaluated: int = 0


def _measure(root: Mapping[str, Any]) -> None:
    """Walk the schema with its references followed, within bounds."""
    nodes = 0
    todo = [_Visit(root)]
    while todo:
        visit = todo.pop()
        nodes += 1
        if nodes > MAX_SCHEMA_NODES:
            raise UnsafeSchema(f"The response schema expands to over {MAX_SCHEMA_NODES} values.")
        if visit.depth > MAX_SCHEMA_DEPTH:
            raise UnsafeSchema(f"The response schema nests deeper than {MAX_SCHEMA_DEPTH}.")
        if isinstance(visit.node, Mapping):
            todo.extend(_within(root, visit))
        elif isinstance(visit.node, list | tuple):
            todo.extend(visit._replace(node=value, depth=visit.depth + 1) for value in visit.node)


def _within(root: Mapping[str, Any], visit: _Visit) -> Iterator[_Visit]:
    node, depth, chain, unevaluated = visit
    # Either would change below it what a pointer means, or which rules are applied.
    for keyword in ("$id", "$schema"):
        if depth and isinstance(node.get(keyword), str):
            raise UnsafeSchema(f"The response schema has a {keyword} below its top.")
    if any(keyword in node for keyword in _UNEVALUATED):
        unevaluated += 1
        if unevaluated > _MAX_UNEVALUATED:
            raise UnsafeSchema("The response schema nests `unevaluated…` keywords too deep.")
    for keyword in _REFERENCES:
        reference = node.get(keyword)
        if isinstance(reference, str):
            if reference in chain:
                raise UnsafeSchema(f"The response schema's {reference!r} is circular.")
            target = _resolve(root, reference)
            yield _Visit(target, depth + 1, (*chain, reference), unevaluated)
    for value in node.values():
        yield _Visit(value, depth + 1, chain, unevaluated)


def _resolve(root: Mapping[str, Any], reference: str) -> Any:
    if not reference.startswith("#/"):
        raise UnsafeSchema(
            f"The response schema's reference {reference!r} is refused: only "
            'pointers into the schema itself ("#/$defs/…") are followed.'
        )
    node: Any = root
    # Unquoted first and split then, as the validator does: both must find the same place.
    for step in unquote(reference)[2:].split("/"):
        step = step.replace("~1", "/").replace("~0", "~")
        if isinstance(node, Mapping) and step in node:
            node = node[step]
        elif isinstance(node, list) and step.isdecimal() and int(step) < len(node):
            node = node[int(step)]
        else:
            raise UnsafeSchema(f"The response schema's reference {reference!r} leads nowhere.")
    if not isinstance(node, Mapping | bool):
        raise UnsafeSchema(f"The response schema's reference {reference!r} leads to no schema.")
    return node


# --- compilation -------------------------------------------------------------------------------


def _validator(schema: Mapping[str, Any]) -> Validator:
    """The validator of a schema, found by the schema's text.

    That of the schema as it is takes a small part of the time that canonical text does, which
    is longer than the check itself.
    """
    try:
        return _compile_as_written(to_json(schema))
    except (PydanticSerializationError, ValueError):
        return _compile(canonical(schema))


@lru_cache(maxsize=256)
def _compile_as_written(text: bytes) -> Validator:
    return _compile(canonical(json.loads(text)))


@lru_cache(maxsize=256)
def _compile(text: str) -> Validator:
    """Compile a schema given as canonical JSON (equal schemas share one validator)."""
    import jsonschema
    from jsonschema.validators import extend
    from referencing import Registry

    schema = json.loads(text)
    draft = schema.pop("$schema", "https://json-schema.org/draft/2020-12/schema")
    if not is_known_draft(draft):
        raise UnsafeSchema(
            f"The response schema's $schema {draft!r} is not supported: "
            "leave it out, or use draft 6, 7, 2019-09 or 2020-12."
        )
    cls = getattr(jsonschema, _DRAFTS[draft.rstrip("#")])
    # What a reference points at acts as a schema, wherever it stands.
    targets = (_resolve(schema, reference) for reference in dict.fromkeys(_references(schema)))
    for part in (schema, *targets):
        try:
            # No check of formats: that of "regex" is Python's, but RE2 is what runs them.
            cls.check_schema(part, format_checker=None)
        except jsonschema.SchemaError as error:
            message = error.message[:_MAX_FAULT_LENGTH]
            raise UnsafeSchema(f"The response schema is invalid: {message}") from None
    _refuse_unevaluated_patterns(schema)
    patterns = dict.fromkeys(_patterns(schema))
    if len(patterns) > MAX_PATTERNS:
        raise UnsafeSchema(f"The response schema has over {MAX_PATTERNS} patterns.")
    for pattern in patterns:
        _regex(pattern)
    linear: Any = extend(cls, _LINEAR)  # type: ignore[no-untyped-call]  # its stubs lack types
    validator: Validator = counted(linear)(schema, registry=Registry())
    return validator


def _subschemas(node: Any) -> Iterator[Any]:
    """Whatever may be a schema within a schema, itself included; no choices of `enum`."""
    todo = [node]
    while todo:
        found = todo.pop()
        if isinstance(found, Mapping):
            todo.extend(
                value
                for name, value in found.items()
                if name not in ("enum", "examples") or not isinstance(value, list | tuple)
            )
        elif isinstance(found, list | tuple):
            todo.extend(found)
        if isinstance(found, Mapping | bool):
            yield found


def _objects(node: Any) -> Iterator[dict[str, Any]]:
    """Every object within a schema, itself included."""
    if isinstance(node, dict):
        yield node
    if isinstance(node, dict | list):
        for value in node.values() if isinstance(node, dict) else node:
            yield from _objects(value)


def _references(schema: Any) -> Iterator[str]:
    for node in _objects(schema):
        yield from (node[word] for word in _REFERENCES if isinstance(node.get(word), str))


def _patterns(schema: Any) -> Iterator[str]:
    for node in _objects(schema):
        if isinstance(node.get("pattern"), str):
            yield node["pattern"]
        if isinstance(node.get("patternProperties"), dict):
            yield from node["patternProperties"]


def _refuse_unevaluated_patterns(schema: Any) -> None:
    """`unevaluatedProperties` runs the patterns that it meets on Python's engine."""
    words = {word for node in _objects(schema) for word in node}
    if "patternProperties" in words and words.intersection(_UNEVALUATED):
        raise UnsafeSchema(
            "The response schema has both `unevaluated…` and `patternProperties`: "
            "use `additionalProperties`."
        )


@lru_cache(maxsize=256)
def _regex(pattern: str) -> Any:
    import re2

    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error:
        raise UnsafeSchema(
            f"The response schema's pattern {pattern[:_MAX_FAULT_LENGTH]!r} can't run in linear "
            "time: look-around, back-references and huge repetitions are not supported."
        ) from None


# --- keywords that would take more than linear time as jsonschema has them -----------------------


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


def _additional_properties(
    validator: Any, subschema: Any, instance: Any, schema: Mapping[str, Any]
) -> Iterator[Any]:
    from jsonschema import ValidationError

    if not isinstance(instance, dict):
        return
    known = schema.get("properties", {})
    patterns = [_regex(pattern) for pattern in schema.get("patternProperties", ())]
    for name, value in instance.items():
        if name in known or any(regex.search(name) for regex in patterns):
            continue
        if subschema is False:
            yield ValidationError(f"{name!r} is not among the properties that are allowed")
        else:
            yield from validator.descend(value, subschema, path=name)


def _unique_items(_: Any, unique: bool, instance: Any, __: Any) -> Iterator[Any]:
    from jsonschema import ValidationError

    if unique and isinstance(instance, list):
        seen = {canonical(_with_plain_numbers(item)) for item in instance}
        if len(seen) < len(instance):
            yield ValidationError("the items are not all different")


def _with_plain_numbers(value: Any) -> Any:
    """Write 1.0 as 1: to JSON Schema they are the same number."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {name: _with_plain_numbers(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_with_plain_numbers(item) for item in value]
    return value


_LINEAR = {
    "additionalProperties": _additional_properties,
    "pattern": _pattern,
    "patternProperties": _pattern_properties,
    "uniqueItems": _unique_items,
}
