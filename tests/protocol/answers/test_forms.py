"""Form fields and JSON Schema become each other, and what a form brings back fits."""

from __future__ import annotations

from typing import Any, Final, Literal

import pytest
from hypothesis import given, strategies as st
from pydantic import BaseModel, Field

from agui_bridge.protocol.answers.decisions import CONFIRM_SCHEMA, approval_schema, declinable
from agui_bridge.protocol.answers.forms import (
    WHOLE_VALUE,
    FormField,
    fields_from_schema,
    payload_from_input,
    schema_from_fields,
)
from agui_bridge.protocol.schemas.checking import check_schema, find_schema_fault

letters = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
texts = st.text(letters, max_size=8)
names = st.text(letters, min_size=1, max_size=8)


@st.composite
def form_fields(draw: st.DrawFn) -> FormField:
    kind: Literal["text", "confirm", "select"] = draw(
        st.sampled_from(("text", "confirm", "select"))
    )
    options = draw(st.lists(texts, min_size=1, max_size=3, unique=True)) if kind == "select" else ()
    return FormField(draw(names), kind, draw(texts), draw(st.booleans()), tuple(options))


forms = st.lists(form_fields(), max_size=4, unique_by=lambda field: field.name).map(tuple)


@given(forms)
def test_fields_survive_the_way_to_a_schema_and_back(fields: tuple[FormField, ...]) -> None:
    schema = schema_from_fields(fields)
    check_schema(schema)

    assert fields_from_schema(schema) == fields


@given(forms)
def test_fields_survive_the_wire(fields: tuple[FormField, ...]) -> None:
    assert tuple(FormField.from_json(field.to_json()) for field in fields) == fields


@given(forms, st.data())
def test_what_a_filled_in_form_brings_back_fits_its_schema(
    fields: tuple[FormField, ...], data: st.DataObject
) -> None:
    filled: dict[str, Any] = {}
    for field in fields:
        if field.required or data.draw(st.booleans()):
            value = {
                "text": texts,
                "confirm": st.booleans(),
                "select": st.sampled_from(field.options or ("",)),
            }[field.type]
            filled[field.name] = data.draw(value)
    schema = schema_from_fields(fields)

    payload = payload_from_input(schema, filled)

    assert find_schema_fault(schema, payload) is None


def test_confirmation_of_the_documentation_is_read() -> None:
    field = FormField.from_json(
        {"name": "confirm", "type": "confirm", "label": "确认删除", "required": True}
    )

    assert field == FormField("confirm", "confirm", "确认删除", required=True)
    assert schema_from_fields([field]) == {
        "type": "object",
        "required": ["confirm"],
        "properties": {"confirm": {"type": "boolean", "title": "确认删除"}},
    }


def test_required_field_must_be_filled_in() -> None:
    schema = schema_from_fields([FormField("city", required=True)])

    assert find_schema_fault(schema, {}) == 'the payload: "city" is missing'


def test_confirmation_and_approval_become_forms() -> None:
    assert fields_from_schema(CONFIRM_SCHEMA) == (FormField("confirm", "confirm", required=True),)
    assert fields_from_schema(approval_schema(None, editable=False)) == (
        FormField("approved", "confirm", required=True),
        FormField("reason", "text"),
    )


class Size(BaseModel):
    height: float


class Order(BaseModel):
    quarter: Literal["Q1", "Q2"] = Field(title="Which quarter?")
    count: int
    year: Literal[2025, 2026] = 2026
    rush: bool = False
    note: str | None = None
    size: Size | None = None
    tags: list[str] = []


ORDER: Final = Order.model_json_schema()


def test_model_becomes_a_flat_form() -> None:
    assert fields_from_schema(ORDER) == (
        FormField("quarter", "select", "Which quarter?", True, ("Q1", "Q2")),
        FormField("count", "text", "Count", required=True),
        FormField("year", "select", "Year", False, ("2025", "2026")),
        FormField("rush", "confirm", "Rush"),
        FormField("note", "text", "Note"),
        FormField("size", "text", "Size"),
        FormField("tags", "text", "Tags"),
    )


def test_texts_of_a_form_become_what_the_model_asks_for() -> None:
    filled = {
        "quarter": "Q2", "count": "3", "year": "2025", "rush": True, "note": "7",
        "size": '{"height": 1.5}', "tags": '["a"]',
    }  # fmt: skip

    payload = payload_from_input(ORDER, filled)

    assert payload == {
        "quarter": "Q2", "count": 3, "year": 2025, "rush": True, "note": "7",
        "size": {"height": 1.5}, "tags": ["a"],
    }  # fmt: skip
    assert Order.model_validate(payload).size == Size(height=1.5)


def test_empty_text_of_what_is_not_required_is_left_out() -> None:
    filled = {"quarter": "Q1", "count": "1", "note": "", "year": ""}

    assert payload_from_input(ORDER, filled) == {"quarter": "Q1", "count": 1}


@pytest.mark.parametrize("text", ["three", "1.5.2", "true", "[1]", "", "NaN", "1e999", "[" * 9999])
def test_text_that_is_no_number_is_left_for_the_check_to_refuse(text: str) -> None:
    payload = payload_from_input(ORDER, {"quarter": "Q1", "count": text})

    assert payload == {"quarter": "Q1", "count": text}
    assert find_schema_fault(ORDER, payload) is not None


@pytest.mark.parametrize("text", ["true", "yes", "1", "on", "false"])
def test_text_is_never_read_as_a_confirmation(text: str) -> None:
    payload = payload_from_input(CONFIRM_SCHEMA, {"confirm": text})

    assert payload == {"confirm": text}
    assert find_schema_fault(CONFIRM_SCHEMA, payload) is not None


def test_schema_that_is_no_object_is_asked_for_in_one_field() -> None:
    schema = {"type": "integer", "title": "How many?"}

    assert fields_from_schema(schema) == (FormField(WHOLE_VALUE, "text", "How many?", True),)
    assert payload_from_input(schema, {WHOLE_VALUE: "12"}) == 12


def test_object_without_properties_asks_nothing() -> None:
    assert fields_from_schema({"type": "object"}) == ()
    assert payload_from_input({"type": "object"}, {"a": "1"}) == {"a": "1"}


def test_unknown_keys_are_kept() -> None:
    assert payload_from_input(CONFIRM_SCHEMA, {"confirm": True, "by": ""}) == {
        "confirm": True,
        "by": "",
    }


def test_choice_that_can_not_be_written_as_options_is_a_text() -> None:
    schema = {"properties": {"a": {"enum": [1, "1"]}, "b": {"enum": [True, "x"]}}}

    assert [field.type for field in fields_from_schema(schema)] == ["text", "text"]


def test_field_of_an_unknown_type_is_a_text() -> None:
    assert FormField.from_json({"name": "when", "type": "date"}) == FormField("when")


@pytest.mark.parametrize(
    "field",
    [
        {},
        {"name": 1},
        {"name": "a", "type": "select"},
        {"name": "a", "type": "select", "options": []},
    ],
)
def test_field_without_name_or_options_is_refused(field: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="a"):
        FormField.from_json(field)


def test_a_schema_that_refers_to_itself_becomes_a_form() -> None:
    tree = {
        "type": "object",
        "required": ["name"],
        "properties": {
            "name": {"type": "string"},
            "parent": {"anyOf": [{"$ref": "#"}, {"type": "null"}]},
            "lost": {"$ref": "#/properties/lost"},
        },
    }

    assert [(field.name, field.type) for field in fields_from_schema(tree)] == [
        ("name", "text"),
        ("parent", "text"),
        ("lost", "text"),
    ]
    values: dict[str, Any] = {"name": "a", "parent": '{"name": "b"}', "lost": "x"}
    assert payload_from_input(tree, values) == {**values, "parent": {"name": "b"}}


def test_a_pointer_leads_through_lists() -> None:
    model = {
        "type": "object",
        "properties": {"size": {"$ref": "#/$defs/Size"}},
        "$defs": {"Size": {"type": "string", "enum": ["S", "L"]}},
    }

    (field,) = fields_from_schema(declinable(model))

    assert (field.type, field.options) == ("select", ("S", "L"))
