"""Plain schemas: what their check says yes to, jsonschema says yes to as well."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from hypothesis import given, strategies as st

from agui_bridge.protocol.answers.decisions import CONFIRM_SCHEMA, approval_schema
from agui_bridge.protocol.schemas.checking import find_schema_fault, plain_check

PARAMETERS = {
    "type": "object",
    "title": "Rows to delete",
    "required": ["table", "limit"],
    "properties": {
        "table": {"type": "string", "enum": ["users", "orders"], "description": "where"},
        "limit": {"type": "integer", "minimum": 1, "maximum": 10},
        "tags": {"type": "array", "items": {"type": "string", "minLength": 1}, "maxItems": 2},
        "any": {},
    },
    "additionalProperties": False,
}

NAMES = st.sampled_from(["a", "b", "c"])
NUMBERS = st.integers(-3, 3) | st.sampled_from([0.0, -0.0, 1.0, 1.5, 2**70, float("nan")])
TEXTS = st.sampled_from(["", "a", "b", "ab", "é", "👩"])


def lengths(least: str, most: str) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional={least: st.integers(0, 3), most: st.integers(0, 3)})


def of_type(kind: str, *rules: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[Any]:
    return st.tuples(*rules).map(
        lambda made: {"type": kind, **{k: v for m in made for k, v in m.items()}}
    )


SCHEMAS = st.recursive(
    st.sampled_from([{}, {"title": "x"}, {"type": "null"}, {"type": "boolean"}])
    | of_type("integer", lengths("minimum", "maximum"))
    | of_type("number", lengths("minimum", "maximum"))
    | of_type("string", lengths("minLength", "maxLength"))
    | of_type("string", st.fixed_dictionaries({"enum": st.lists(TEXTS | NUMBERS, min_size=1)}))
    | st.sampled_from(
        [{"type": ["string", "null"]}, {"const": 1}, {"type": "string", "pattern": "a"}]
    ),
    lambda inner: (
        of_type(
            "array",
            lengths("minItems", "maxItems"),
            st.fixed_dictionaries({}, optional={"items": inner}),
        )
        | of_type(
            "object",
            st.fixed_dictionaries(
                {},
                optional={
                    "properties": st.dictionaries(NAMES, inner, max_size=3),
                    "required": st.lists(NAMES, unique=True),
                    "additionalProperties": st.booleans() | inner,
                },
            ),
        )
    ),
    max_leaves=6,
)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)


@given(SCHEMAS, VALUES)
def test_what_is_surely_valid_is_valid(schema: Any, value: Any) -> None:
    check = plain_check(schema)
    if check is not None and check(value):
        assert jsonschema.Draft202012Validator(schema).is_valid(value)
        assert jsonschema.Draft6Validator(schema).is_valid(value)


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (CONFIRM_SCHEMA, {"confirm": False, "besides": [1]}),
        (approval_schema(None, editable=False), {"approved": True, "reason": "fine"}),
        (
            approval_schema(PARAMETERS, editable=True),
            {"approved": True, "editedArgs": {"table": "users", "limit": 5, "tags": ["x"]}},
        ),
        (PARAMETERS, {"table": "orders", "limit": 10, "any": {"deep": [None]}}),
    ],
)
def test_common_schemas_are_plain(schema: Any, value: Any) -> None:
    check = plain_check(schema)
    assert check is not None and check(value)


@pytest.mark.parametrize(
    "args",
    [
        {"table": "users"},
        {"table": "users", "limit": 0},
        {"table": "users", "limit": 11},
        {"table": "users", "limit": True},
        {"table": "users", "limit": "5"},
        {"table": "others", "limit": 5},
        {"table": 1, "limit": 5},
        {"table": "users", "limit": 5, "tags": [""]},
        {"table": "users", "limit": 5, "tags": ["a", "b", "c"]},
        {"table": "users", "limit": 5, "unknown": 1},
        [],
        None,
    ],
)
def test_what_is_not_valid_is_told_as_ever(args: Any) -> None:
    check = plain_check(PARAMETERS)
    assert check is not None and not check(args)
    assert find_schema_fault(PARAMETERS, args) is not None


@pytest.mark.parametrize(
    "keyword",
    [
        {"pattern": "^a"},
        {"format": "date"},
        {"const": "a"},
        {"anyOf": [{"type": "string"}]},
        {"$ref": "#/x"},
        {"not": {}},
        {"unheard_of": 1},
    ],
)
def test_a_schema_with_any_other_keyword_is_not_plain(keyword: dict[str, Any]) -> None:
    assert plain_check({"type": "string", **keyword}) is None
    assert (
        plain_check({"type": "object", "properties": {"a": {"type": "string", **keyword}}}) is None
    )


def test_a_value_of_many_members_is_left_to_the_check_that_counts_its_work() -> None:
    check = plain_check({"type": "array", "items": {"type": "integer"}})
    assert check is not None and check([1] * 200) and not check([1] * 201)
    check = plain_check({"type": "object"})
    assert check is not None and check(dict.fromkeys(map(str, range(201)), 1))
    check = plain_check({"type": "object", "properties": {}})
    assert check is not None and not check(dict.fromkeys(map(str, range(201)), 1))
