"""Schemas that could hurt are refused; payloads are checked fast, faults told well."""

from __future__ import annotations

import time
from typing import Any, Final

import pytest
from hypothesis import given, strategies as st
from pydantic import BaseModel

from agui_bridge.errors import AgentMistake
from agui_bridge.protocol.schemas.checking import (
    UnsafeSchema,
    check_schema,
    find_schema_fault,
)
from agui_bridge.protocol.schemas.left_out import MAX_SCHEMA_DEPTH

Schema = dict[str, Any]

FAST: Final = 2.0
"""Seconds that nothing here may take, by far: what is not linear takes minutes."""


def nested(depth: int, keyword: str = "items") -> Schema:
    schema: Schema = {"type": "array"}
    for _ in range(depth):
        schema = {keyword: schema}
    return schema


def doubling(levels: int) -> Schema:
    """Each definition uses the next one twice."""
    definitions: Schema = {f"d{levels}": {"type": "string"}}
    for level in range(levels):
        to_next = {"$ref": f"#/$defs/d{level + 1}"}
        definitions[f"d{level}"] = {"properties": {"a": to_next, "b": to_next}}
    return {"$ref": "#/$defs/d0", "$defs": definitions}


def unevaluated(depth: int) -> Schema:
    schema: Schema = {"type": "object"}
    for _ in range(depth):
        schema = {"allOf": [schema], "unevaluatedProperties": False}
    return schema


UNSAFE: Final[dict[str, tuple[Any, str]]] = {
    "no object": ([], "must be an object, not list"),
    "a boolean": (True, "must be an object, not bool"),
    "remote reference": ({"$ref": "https://evil.example/s.json"}, "'https://evil.example/s.json'"),
    "file reference": ({"$ref": "file:///etc/passwd"}, "'file:///etc/passwd'"),
    "relative reference": ({"$ref": "other.json#/x"}, "is refused"),
    "remote reference in a property": (
        {"properties": {"a": {"$ref": "http://evil.example"}}}, "is refused",
    ),
    "remote reference in an unused definition": (
        {"$defs": {"a": {"$ref": "http://evil.example"}}}, "is refused",
    ),
    "remote reference in a property called $defs": (
        {"properties": {"$defs": {"$ref": "http://evil.example"}}}, "is refused",
    ),
    "remote dynamic reference": ({"$dynamicRef": "http://evil.example"}, "is refused"),
    "anchor": ({"$ref": "#name", "$defs": {"a": {"$anchor": "name"}}}, "is refused"),
    "reference into nothing": ({"$ref": "#/$defs/a"}, "leads nowhere"),
    "reference to a text": ({"required": ["a"], "$ref": "#/required/0"}, "leads to no schema"),
    "reference to what is no schema": (
        {"properties": {"type": {"type": "string"}}, "$ref": "#/properties"}, "is invalid",
    ),
    "many objects": ({"properties": {f"p{n}": {} for n in range(2_000)}}, "over 2000 objects"),
    "many patterns": (
        {"anyOf": [{"pattern": f"^{n}$"} for n in range(1_001)]}, "over 1000 patterns",
    ),
    "expansion": (doubling(30), "expands to over"),
    "wide": ({"enum": list(range(20_000))}, "expands to over"),
    "deep": (nested(MAX_SCHEMA_DEPTH + 1), "nests deeper"),
    "very deep": (nested(5_000), "nests deeper"),
    "deep in an unused definition": ({"$defs": {"a": nested(100)}}, "nests deeper"),
    "unevaluated within unevaluated": (unevaluated(20), "`unevaluated…` keywords too deep"),
    "identifier that moves references": (
        {"properties": {"a": {"$id": "urn:x", "$ref": "#/$defs/a"}}, "$defs": {"a": {}}},
        "$id below its top",
    ),
    "another draft inside": (
        {"properties": {"a": {"$schema": "http://json-schema.org/draft-07/schema#"}}},
        "$schema below its top",
    ),
    "invalid type": ({"type": "strange"}, "is invalid"),
    "invalid required": ({"required": "approved"}, "is invalid"),
    "unknown draft": ({"$schema": "https://example.com/mine"}, "is not supported"),
    "draft that is no text": ({"$schema": {"a": 1}}, "is not supported"),
}  # fmt: skip


@pytest.mark.parametrize(("schema", "reason"), UNSAFE.values(), ids=UNSAFE)
def test_unsafe_schema_is_refused_at_once_with_the_reason(schema: Any, reason: str) -> None:
    began = time.process_time()

    with pytest.raises(UnsafeSchema) as refusal:
        check_schema(schema)

    assert time.process_time() - began < FAST
    assert reason in str(refusal.value)
    assert len(str(refusal.value)) < 600
    assert isinstance(refusal.value, AgentMistake)


class Address(BaseModel):
    street: str
    zip: str


class Order(BaseModel):
    to: Address
    back: Address | None = None
    lines: dict[str, Address]


SAFE: Final[dict[str, Schema]] = {
    "empty": {},
    "pydantic model": Order.model_json_schema(),
    "definition used twice": doubling(5),
    "as deep as allowed": nested(MAX_SCHEMA_DEPTH - 1),
    "draft 7": {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "items": [{"type": "string"}],
        "definitions": {"a": {}},
        "properties": {"a": {"$ref": "#/definitions/a"}},
    },
    "draft 2019-09": {"$schema": "https://json-schema.org/draft/2019-09/schema"},
    "property called $ref": {"properties": {"$ref": {"type": "string"}}},
    "property called $id": {"properties": {"$id": {"type": "string"}}},
    "property called pattern": {"properties": {"pattern": {"type": "string"}}},
    "reference to a property": {
        "properties": {"a": {"type": "string"}, "b": {"$ref": "#/properties/a"}}
    },
    "pattern that Python does not know": {"pattern": r"^\p{L}+$"},
    "a few unevaluated": unevaluated(3),
    "reference to itself": {"properties": {"a": {"$ref": "#"}}},
    "recursive reference": {
        "$schema": "https://json-schema.org/draft/2019-09/schema",
        "items": {"$recursiveRef": "#"},
    },
    "circle of two": {
        "$ref": "#/$defs/a",
        "$defs": {"a": {"items": {"$ref": "#/$defs/b"}}, "b": {"items": {"$ref": "#/$defs/a"}}},
    },
    "twelve that refer to each other": {
        "$ref": "#/$defs/0",
        "$defs": {
            str(n): {"properties": {str(m): {"$ref": f"#/$defs/{m}"} for m in range(12)}}
            for n in range(12)
        },
    },
    "look-aheads at the beginning": {"pattern": r"^(?=.*\d)(?!.*\s).{8,}$"},
    "a pattern as JavaScript spells it": {"pattern": r"^[\u4e00-\u9fa5]+$"},
}


@pytest.mark.parametrize("schema", SAFE.values(), ids=SAFE)
def test_safe_schema_is_accepted_and_checked_whole(schema: Schema) -> None:
    assert check_schema(schema) == ()


CATASTROPHES: Final[dict[str, tuple[Schema, Any]]] = {
    "pattern": ({"pattern": "^(a+)+$"}, "a" * 60 + "!"),
    "property names": ({"patternProperties": {"^(a+)+$": False}}, {"a" * 60 + "!": 1}),
    "additional property names": (
        {"patternProperties": {"^(a+)+$": {}}, "additionalProperties": True},
        {"a" * 60 + "!": 1},
    ),
    "alternatives": ({"pattern": "^(a|a)*$"}, "a" * 60 + "!"),
    "unique objects": ({"uniqueItems": True}, [{"n": n} for n in range(20_000)]),
    "a fault per item": ({"items": {"type": "string"}}, list(range(200_000))),
    "unevaluated": (unevaluated(3), {str(n): n for n in range(1000)}),
}


@pytest.mark.parametrize(("schema", "value"), CATASTROPHES.values(), ids=CATASTROPHES)
def test_check_takes_linear_time(schema: Schema, value: Any) -> None:
    check_schema(schema)
    began = time.process_time()

    find_schema_fault(schema, value)

    assert time.process_time() - began < FAST


VALID: Final[list[tuple[Schema, Any]]] = [
    ({"pattern": "^(a+)+$"}, "aaaa"),
    ({"pattern": r"^\p{L}+$"}, "löschen"),
    ({"uniqueItems": True}, [1, True, "1", None, [1], {"a": 1}]),
    ({"uniqueItems": False}, [1, 1]),
    ({"properties": {"a": {}}, "patternProperties": {"^b": {}}, "additionalProperties": False},
     {"a": 1, "b1": 2}),
    ({"type": "string"}, ""),
    ({"type": "null"}, None),
    ({"type": "integer"}, 3.0),
    ({"properties": {"a": {"$ref": "#/properties/b"}, "b": {"type": "string"}}}, {"a": "x"}),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "value"), VALID)
def test_valid_value_has_no_fault(schema: Schema, value: Any) -> None:
    assert find_schema_fault(schema, value) is None


FAULTS: Final[list[tuple[Schema, Any, str]]] = [
    ({"required": ["approved"]}, {}, 'the payload: "approved" is missing'),
    ({"type": "object"}, None, "the payload: must be an object, not null"),
    (
        {"properties": {"approved": {"type": "boolean"}}}, {"approved": "true"},
        '/approved: must be true or false, not "true"',
    ),
    (
        {"properties": {"rows": {"items": {"properties": {"n": {"minimum": 1}}}}}},
        {"rows": [{"n": 1}, {"n": 0}]},
        "/rows/1/n: must be at least 1, not 0",
    ),
    ({"enum": ["yes", "no"]}, "maybe", 'the payload: must be one of "yes", "no", not "maybe"'),
    ({"pattern": "^[0-9]+$"}, "x", 'the payload: must match the pattern "^[0-9]+$", not "x"'),
    ({"type": "boolean"}, 1, "the payload: must be true or false, not 1"),
    ({"uniqueItems": True}, [1, 1.0], "the payload: must not have an item twice"),
    (
        {"additionalProperties": False, "properties": {"a": {}}}, {"b": 1},
        "the payload: 'b' is not among the properties that are allowed",
    ),
    (
        {"additionalProperties": {"type": "string"}}, {"b": 1},
        "/b: must be a string, not 1",
    ),
    (
        {"patternProperties": {"^n_": {"type": "number"}}}, {"n_x": "1"},
        '/n_x: must be a number, not "1"',
    ),
    ({"required": ["a", "b"]}, {}, 'the payload: "a" and "b" are missing'),
    ({"type": ["string", "null"]}, 5, "the payload: must be a string or null, not 5"),
    ({"minLength": 1}, "", "the payload: must not be empty"),
    ({"maxItems": 1}, [1, 2], "the payload: must have at most 1 items, not [1, 2]"),
    ({"type": "integer"}, "x" * 99, "the payload: must be a whole number"),
    (
        {"anyOf": [{"type": "string"}, {"type": "null"}]}, 5,
        "the payload: must fit one of the shapes that are allowed, not 5",
    ),
    ({"not": {}}, 5, "the payload: 5 should not be valid under {}"),
    ({"multipleOf": 0.5}, 10**400, "the payload: a number is too large to be checked."),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "value", "fault"), FAULTS)
def test_fault_names_the_place_and_the_rule(schema: Schema, value: Any, fault: str) -> None:
    assert find_schema_fault(schema, value) == fault


def test_fault_nearest_to_the_top_is_told() -> None:
    schema = {"required": ["b"], "properties": {"a": {"type": "string"}}}

    assert find_schema_fault(schema, {"a": 1}) == 'the payload: "b" is missing'


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "object"}, "x" * 1_000_000),
        ({"enum": ["x" * 10_000]}, 1),
        ({"additionalProperties": {"type": "string"}}, {"k" * 100_000: 1}),
        ({"additionalProperties": False}, {"k" * 100_000: 1}),
        ({"patternProperties": {"k": {"type": "string"}}}, {"k" * 100_000: ["v" * 100_000]}),
    ],
    ids=["payload", "rule", "key", "unexpected key", "key and value"],
)
def test_fault_never_repeats_a_huge_payload(schema: Schema, value: Any) -> None:
    fault = find_schema_fault(schema, value)

    assert fault is not None
    assert len(fault) <= 300


def test_schema_of_another_draft_is_checked_by_its_rules() -> None:
    tuple_of_one = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "items": [{"type": "string"}],
    }

    assert find_schema_fault(tuple_of_one, ["x", 1]) is None
    assert find_schema_fault(tuple_of_one, [1]) == "/0: must be a string, not 1"


json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
KEYWORDS: Final = (
    "type", "properties", "required", "items", "enum", "const", "$ref", "$defs", "pattern",
    "patternProperties", "additionalProperties", "anyOf", "oneOf", "allOf", "not", "if", "then",
    "minimum", "multipleOf", "uniqueItems", "maxLength", "contains", "$schema", "$id",
    "dependentRequired", "unevaluatedProperties", "prefixItems",
)  # fmt: skip
schemas: st.SearchStrategy[Any] = st.recursive(
    st.sampled_from(
        (
            {},
            True,
            False,
            {"type": "string"},
            {"$ref": "#/$defs/a"},
            {"$ref": "#"},
            {"type": "integer"},
            {"pattern": "a(?=b)"},
            {"format": "email"},
            "^a",
            1,
        )
    ),
    lambda inner: (
        st.dictionaries(st.sampled_from(KEYWORDS), inner, max_size=3)
        | st.fixed_dictionaries({"properties": st.dictionaries(st.sampled_from("ab"), inner)})
        | st.fixed_dictionaries({"anyOf": st.lists(inner, min_size=1, max_size=2)})
        | st.fixed_dictionaries({"$defs": st.dictionaries(st.just("a"), inner)})
    ),
    max_leaves=6,
)


@given(schemas, json_values)
def test_whatever_was_accepted_checks_every_value(schema: Any, value: Any) -> None:
    try:
        check_schema(schema)
    except UnsafeSchema:
        return

    fault = find_schema_fault(schema, value)

    assert fault is None or (fault and len(fault) <= 300)
