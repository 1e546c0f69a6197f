"""A question's schema with a decline beside the answer, and without null."""

from __future__ import annotations

from typing import Any, Final

import pytest

from agui_bridge.protocol.answers.decisions import (
    declinable,
    find_answer_fault,
    has_decline,
    without_null,
)
from agui_bridge.protocol.answers.forms import fields_from_schema, payload_from_input
from agui_bridge.protocol.schemas.checking import check_schema, find_schema_fault

FORM: Final[dict[str, Any]] = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "$id": "https://example.com/form",
    "type": "object",
    "required": ["city"],
    "properties": {"city": {"$ref": "#/$defs/city"}, "nights": {"type": "integer"}},
    "additionalProperties": False,
    "$defs": {"city": {"type": "string", "minLength": 2}},
}
DECLINED: Final = {"declined": True}


@pytest.mark.parametrize(
    "schema", [None, {}, FORM, {"type": "string"}, {"anyOf": [{"type": "string"}]}]
)
def test_a_decline_is_taken_beside_the_answer(schema: dict[str, Any] | None) -> None:
    offered = declinable(schema)

    check_schema(offered)
    assert has_decline(offered)
    for payload in (DECLINED, {**DECLINED, "reason": "private", "more": [1]}):
        assert find_answer_fault(offered, payload) is None
        assert find_schema_fault(offered, payload) is None


@pytest.mark.parametrize(
    "payload",
    [
        {"city": "Bonn"},
        {"city": "Bonn", "nights": 2},
        {"city": "B"},
        {},
        {"nights": 2},
        None,
        "Bonn",
    ],
)
def test_an_answer_is_checked_and_faulted_as_without_a_decline(payload: Any) -> None:
    assert find_answer_fault(declinable(FORM), payload) == find_answer_fault(FORM, payload)


@pytest.mark.parametrize("payload", [{"declined": False}, {"declined": "true"}, {"declined": 1}])
def test_nothing_but_true_declines(payload: Any) -> None:
    assert find_answer_fault(declinable(FORM), payload)


def test_a_decline_has_a_reason_in_words() -> None:
    assert find_answer_fault(declinable(FORM), {"declined": True, "reason": 7})


def test_forms_show_the_fields_of_the_answer() -> None:
    offered = declinable(FORM)

    assert fields_from_schema(offered) == fields_from_schema(FORM)
    assert fields_from_schema(declinable({"type": "number"})) == fields_from_schema(
        {"type": "number"}
    )
    assert payload_from_input(offered, {"city": "Bonn", "nights": "2"}) == {
        "city": "Bonn",
        "nights": 2,
    }


def test_other_alternatives_are_no_decline() -> None:
    assert not has_decline({"anyOf": [{"type": "string"}, {"type": "null"}]})
    assert not has_decline({"anyOf": [declinable(FORM)["anyOf"][1]]})
    assert not has_decline(FORM)
    assert not has_decline(None)


@pytest.mark.parametrize(
    "schema",
    [None, {}, {"type": ["string", "null"]}, {"not": {"type": "string"}}, {"enum": [None, 1]}],
)
def test_null_is_excluded_and_nothing_else(schema: dict[str, Any] | None) -> None:
    narrowed = without_null(schema)

    check_schema(narrowed)
    assert find_schema_fault(narrowed, None)
    others: list[Any] = [0, "", False, [], {}, 1, "text"]
    for payload in others:
        own = find_schema_fault(schema or {}, payload)
        assert (find_schema_fault(narrowed, payload) is None) == (own is None)


def test_a_schema_that_takes_no_null_stays_as_it_is() -> None:
    assert without_null(FORM) is FORM
