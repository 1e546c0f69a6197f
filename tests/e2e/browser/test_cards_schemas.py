"""A form for whatever schema libraries and people write: its fields give a valid answer.

The answers are judged by jsonschema, which has no part in the cards. Schemas that zod, valibot and
pydantic really emit: tests/golden/response_schemas.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import jsonschema
import pytest
from playwright.sync_api import Page, expect

from tests.e2e.browser.axe import axe_faults
from tests.e2e.browser.cards import button, field, fill, payload, sent
from tests.e2e.browser.conftest import OpenCase
from tests.e2e.browser.filling import Misfit, fill_in, typed_as_json

EMITTED: Final = Path(__file__).parents[2] / "golden" / "response_schemas"
TEXT: Final = {"type": "string"}
NUMBER: Final = {"type": "number"}
MOMENTS: Final = ("datetime", "z.iso.time", "isoTimestamp", "isoDateTime")
"""Sources of moments, which their fields tell as the schema wants, and never wrong."""


def emitted() -> list[dict[str, Any]]:
    files = (EMITTED / "javascript.json", EMITTED / "python.json")
    return [case for file in files for case in json.loads(file.read_text(encoding="utf-8"))]


def name_of(case: dict[str, Any]) -> str:
    return f"{case['library'].split(',')[0]} {case['source']}"[:70]


def ask(open_case: OpenCase, schema: Any) -> Page:
    """Show a form for a schema."""
    page = open_case(f"&schema={quote(json.dumps(schema))}")
    expect(page.locator(".agc-kind")).to_have_text("Question")
    return page


def may_be_wrong(case: dict[str, Any]) -> bool:
    return "wrong" in case and not any(source in case["source"] for source in MOMENTS)


def faults_of(schema: dict[str, Any], value: Any) -> list[str]:
    """What a validator of others finds wrong."""
    kind = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
    found = kind(schema, format_checker=kind.FORMAT_CHECKER).iter_errors(value)
    return [fault.message for fault in found]


def is_python(schema: Any) -> bool:
    """Whether Python can read all patterns of a schema as they were meant."""
    return not re.search(r"\\\\p\{|\\\\u\{", json.dumps(schema))


@pytest.mark.parametrize("case", emitted(), ids=name_of)
def test_what_libraries_emit_is_filled_in_by_its_fields(
    open_case: OpenCase, case: dict[str, Any]
) -> None:
    schema, right = case["schema"], case["right"]
    page = ask(open_case, schema)
    fill_in(page, right)
    assert typed_as_json(page) == 0
    button(page, "Send").click()
    answer = payload(page)
    if is_python(schema):
        assert faults_of(schema, answer) == []
    else:
        assert answer == right


@pytest.mark.parametrize("case", [it for it in emitted() if may_be_wrong(it)], ids=name_of)
def test_a_wrong_answer_is_told_at_its_field_or_can_not_be_given(
    open_case: OpenCase, case: dict[str, Any]
) -> None:
    page = ask(open_case, case["schema"])
    try:
        fill_in(page, case["wrong"])
    except Misfit:
        return
    button(page, "Send").click()
    expect(page.locator(".agc-fault").first).to_be_visible()
    invalid = page.locator("[aria-invalid], fieldset:has(> .agc-fault)").first
    expect(invalid).to_be_focused()
    expect(page.get_by_test_id("sent")).to_have_text("[]")


def members(required: list[str] | None = None, **properties: Any) -> dict[str, Any]:
    return called(properties, required)


def called(properties: dict[str, Any], required: list[str] | None = None) -> dict[str, Any]:
    names = list(properties) if required is None else required
    return {"type": "object", "properties": properties, "required": names}


NAMED: Final = {"type": "object", "additionalProperties": NUMBER}
EITHER: Final = {
    "anyOf": [
        members(kind={"const": "mail"}, to={"type": "string", "format": "email"}),
        members(kind={"const": "none"}),
        members(kind={"const": "call"}, number={"type": "integer"}),
    ]
}
HARD: Final[dict[str, tuple[dict[str, Any], Any]]] = {
    "a choice of texts and numbers": ({"type": ["string", "integer"], "enum": ["a", 1]}, 1),
    "null alone": (members(x={"type": "null"}, y={"const": None}), {"x": None, "y": None}),
    "null as the whole answer": ({"anyOf": [TEXT, {"type": "null"}]}, None),
    "no, where null is an answer too": (members(x={"type": ["boolean", "null"]}), {"x": False}),
    "no in a list": (members(x={"type": "array", "items": {"type": "boolean"}}), {"x": [False]}),
    "null in a list": (
        members(x={"type": "array", "items": {"type": ["string", "null"]}}),
        {"x": ["a", None]},
    ),
    "a constant that may be left out": (members([], accept={"const": True}), {}),
    "a constant that is chosen": (members([], accept={"const": True}), {"accept": True}),
    "more than a minimum, as OpenAPI 3.0 says it": (
        {
            "$schema": "http://json-schema.org/draft-04/schema#",
            **members(x={"type": "number", "minimum": 0, "exclusiveMinimum": True}),
        },
        {"x": 0.5},
    ),
    "a tuple": (members(x={"type": "array", "prefixItems": [TEXT, NUMBER]}), {"x": ["a", 1]}),
    "names of one's own": (NAMED, {"a": 1, "b": 2.5}),
    "names of one's own within": (members(x=NAMED), {"x": {"a": 1}}),
    "formats that a type stands beside": (
        members(x={"type": "string", "anyOf": [{"format": "ipv4"}, {"format": "ipv6"}]}),
        {"x": "10.0.0.1"},
    ),
    "a variant that leads back to itself": ({"anyOf": [{"$ref": "#"}, TEXT]}, "a"),
    "variants that lead to each other": (
        {
            "$defs": {
                "A": {"anyOf": [{"$ref": "#/$defs/B"}, TEXT]},
                "B": {"anyOf": [{"$ref": "#/$defs/A"}, NUMBER]},
            },
            "$ref": "#/$defs/A",
        },
        "a",
    ),
    "names with spaces and dots": (
        called({"first name": TEXT, "a.b": TEXT, "a": members(b=TEXT)}),
        {"first name": "Ann", "a.b": "1", "a": {"b": "2"}},
    ),
    "names that all objects have": (members(constructor=TEXT), {"constructor": "Ferrari"}),
    "a moment without fractions": (
        members(x={"type": "string", "format": "date-time", "pattern": r":\d\dZ$"}),
        {"x": "2026-02-28T12:30:00Z"},
    ),
    "a moment without a zone": (
        members(x={"type": "string", "format": "date-time", "pattern": r"T\d\d:\d\d:\d\d$"}),
        {"x": "2026-02-28T12:30:00"},
    ),
    "a time with seconds": (
        members(x={"type": "string", "format": "time", "pattern": r"^\d\d:\d\d:\d\d$"}),
        {"x": "12:30:00"},
    ),
    "one of 500": (members(x={"enum": [f"v{at}" for at in range(500)]}), {"x": "v499"}),
}


@pytest.mark.parametrize("case", HARD)
def test_what_few_schemas_say_is_filled_in_by_fields(open_case: OpenCase, case: str) -> None:
    schema, right = HARD[case]
    page = ask(open_case, schema)
    fill_in(page, right)
    assert typed_as_json(page) == 0
    button(page, "Send").click()
    if "lead" not in case:  # jsonschema itself has no end there
        assert faults_of(schema, payload(page)) == []
    if "moment" not in case:
        assert payload(page) == right


@pytest.mark.parametrize(
    ("schema", "wrong", "fault"),
    [
        (
            members(x={"type": "array", "items": TEXT, "uniqueItems": True}),
            {"x": ["a", "a"]},
            "X has the same twice.",
        ),
        (members(x={"type": "string", "pattern": r"^a\-b$"}), {"x": "ab"}, r"X must match ^a\-b$."),
        (
            members(x={"type": "string", "allOf": [{"pattern": "^a"}, {"pattern": "c$"}]}),
            {"x": "bc"},
            "X must match ^a.",
        ),
        (
            members(x={"allOf": [{"type": "integer", "minimum": 3}, {"minimum": 1}]}),
            {"x": 2},
            "X must be 3 or more.",
        ),
        (
            members(x={"type": "integer"}),
            {"x": 9007199254740993},
            "X has more digits than a number can keep.",
        ),
        (members(x=EITHER), {"x": {"kind": "mail", "to": "a"}}, "To must be an e-mail address."),
        (members(x=EITHER), {"x": {"kind": "call"}}, "Number is missing."),
        (
            called({"first name": {"type": "string", "minLength": 2}}),
            {"first name": "A"},
            "First name needs 2 characters or more.",
        ),
    ],
)
def test_a_fault_is_told_at_the_field_that_has_it(
    open_case: OpenCase, schema: dict[str, Any], wrong: Any, fault: str
) -> None:
    page = ask(open_case, schema)
    fill_in(page, wrong)
    button(page, "Send").click()
    expect(page.locator(".agc-fault")).to_have_text(fault)
    told = page.evaluate(
        """() => {
          const it = document.activeElement;
          return document.getElementById(it.getAttribute('aria-describedby')).textContent;
        }"""
    )
    assert told == fault
    expect(page.get_by_test_id("sent")).to_have_text("[]")


def test_a_name_that_is_given_twice_is_told(open_case: OpenCase) -> None:
    page = ask(open_case, members(limits=NAMED))
    for place in range(2):
        button(page, "Add to Limits").click()
        field(page, "Name").nth(place).fill("a")
        field(page, "Value").nth(place).fill("1")
    button(page, "Send").click()
    expect(page.locator(".agc-fault")).to_have_text("Limits has the same name twice.")
    field(page, "Name").last.fill("b")
    button(page, "Send").click()
    assert payload(page) == {"limits": {"a": 1, "b": 1}}


def test_a_constant_can_be_chosen_and_left_out_again(open_case: OpenCase) -> None:
    page = ask(open_case, members([], accept={"const": True}))
    fill(page, "Accept", "true")
    field(page, "Accept").select_option(index=0)
    button(page, "Send").click()
    assert payload(page) == {}


def test_variants_are_called_by_what_they_ask(open_case: OpenCase) -> None:
    page = ask(open_case, members(x={"anyOf": [members(full_name=TEXT), members(id=NUMBER)]}))
    expect(field(page, "Kind of x").locator("option")).to_have_text(["Full name", "Id"])


def test_what_a_field_says_of_itself_goes_before_what_it_is_made_of(open_case: OpenCase) -> None:
    colour = {"title": "Colour", "description": "Of anything.", "default": "red"}
    wall = {"title": "Wall", "default": "blue", "allOf": [{"$ref": "#/$defs/Colour"}]}
    page = ask(open_case, {**members(wall=wall), "$defs": {"Colour": {**TEXT, **colour}}})
    expect(field(page, "Wall")).to_have_accessible_description("Of anything.")
    button(page, "Send").click()
    assert payload(page) == {"wall": "blue"}


def test_a_group_that_lacks_something_is_read_with_what_it_lacks(open_case: OpenCase) -> None:
    tags = {"type": "array", "items": TEXT, "minItems": 1, "description": "Of the report."}
    page = ask(open_case, members(tags=tags))
    button(page, "Send").click()
    group = page.get_by_role("group", name="Tags")
    expect(group).to_be_focused()
    expect(group).to_have_accessible_description("Of the report. Tags needs 1 or more.")


def test_what_a_list_has_of_its_own_fields_has_the_whole_width(open_case: OpenCase) -> None:
    page = ask(open_case, members(limits=NAMED))
    page.set_viewport_size({"width": 390, "height": 780})
    button(page, "Add to Limits").click()
    assert (field(page, "Name").bounding_box() or {"width": 0})["width"] > 250
    assert axe_faults(page) == []


def test_a_name_that_all_objects_have_has_no_value_yet(open_case: OpenCase) -> None:
    page = ask(open_case, members(constructor=TEXT))
    expect(field(page, "Constructor")).to_have_value("")
    button(page, "Send").click()
    expect(page.locator(".agc-fault")).to_have_text("Constructor is missing.")


def test_a_choice_of_texts_and_numbers_is_one_choice(open_case: OpenCase) -> None:
    page = ask(open_case, members(x={"type": ["string", "integer"], "enum": ["a", 1]}))
    expect(field(page, "X").locator("option")).to_have_text(["Choose", "a", "1"])


def test_a_time_gets_the_seconds_that_its_pattern_wants(open_case: OpenCase) -> None:
    page = ask(
        open_case, members(x={"type": "string", "format": "time", "pattern": r":\d\d:\d\d$"})
    )
    fill(page, "X", "12:30")
    button(page, "Send").click()
    assert payload(page) == {"x": "12:30:00"}


def test_only_a_yes_is_no_question_of_yes_and_no(open_case: OpenCase) -> None:
    page = ask(open_case, {"type": "boolean", "const": True})
    button(page, "Send").click()
    assert sent(page)[0]["payload"] is True


def test_a_date_that_is_null_at_first_has_the_field_of_a_date(open_case: OpenCase) -> None:
    day = {"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}], "default": None}
    page = ask(open_case, members([], day=day))
    expect(field(page, "Day")).to_have_attribute("type", "date")
    fill(page, "Day", "2026-03-01")
    button(page, "Send").click()
    assert payload(page) == {"day": "2026-03-01"}


def test_an_answer_that_is_one_value_has_its_hint(open_case: OpenCase) -> None:
    page = ask(open_case, {"type": "string", "description": "As your badge has it."})
    expect(page.get_by_role("textbox").last).to_have_accessible_description("As your badge has it.")
