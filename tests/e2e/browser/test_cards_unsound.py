"""Whatever a question is made of, its card can be answered, or leaves the others as they are."""

from __future__ import annotations

import json
from typing import Any, Final
from urllib.parse import quote

import pytest
from playwright.sync_api import BrowserContext, expect

from tests.e2e.browser.axe import axe_faults
from tests.e2e.browser.cards import button, field, fill, has_focus, payload, sent
from tests.e2e.browser.conftest import OpenCase

TEXT: Final = {"type": "string"}


def named(part: Any, **schema: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"name": part}, **schema}


SCHEMAS: Final[dict[str, tuple[Any, str, Any]]] = {
    "anyOf is null": ({"anyOf": None, **named(TEXT)}, "Ann", {"name": "Ann"}),
    "required is true": (named({**TEXT, "required": True}, required=True), "Ann", {"name": "Ann"}),
    "a member is null": (named(None), '"Ann"', {"name": "Ann"}),
    "its words are none": (
        named({**TEXT, "title": 5, "description": {"en": "Who?"}}),
        "Ann",
        {"name": "Ann"},
    ),
    "a format has the name of what all objects have": (
        named({**TEXT, "format": "constructor", "default": "Bob"}),
        "Ann",
        {"name": "Ann"},
    ),
    "members are null": (
        named({**TEXT, "enum": None, "items": None, "pattern": None, "minLength": None}),
        "Ann",
        {"name": "Ann"},
    ),
}
"""What is wrong with a schema: the schema, what is typed, and what is sent."""


@pytest.mark.parametrize("wrong", SCHEMAS)
def test_a_schema_that_is_not_as_it_should_be_has_a_form(open_case: OpenCase, wrong: str) -> None:
    schema, typed, said = SCHEMAS[wrong]
    page = open_case(f"&schema={quote(json.dumps(schema))}")
    fill(page, "Name", typed)
    button(page, "Send").click()
    assert payload(page) == said


def test_fields_with_the_names_of_what_all_objects_have_are_not_wrong_until_they_are(
    open_case: OpenCase,
) -> None:
    schema = {
        "type": "object",
        "required": ["valueOf"],
        "properties": {"constructor": TEXT, "valueOf": TEXT, "toString": named(TEXT)},
    }
    page = open_case(f"&schema={quote(json.dumps(schema))}")
    expect(field(page, "Value of")).to_be_visible()
    expect(page.locator("[aria-invalid]")).to_have_count(0)
    button(page, "Send").click()
    expect(page.get_by_text("Value of is missing.")).to_be_visible()
    expect(page.locator("[aria-invalid]")).to_have_count(1)


def test_null_in_the_place_of_whatever_is_not_there_is_nothing(open_case: OpenCase) -> None:
    page = open_case("nulls")
    expect(page.get_by_role("article")).to_have_count(3)
    button(page, "Approve").first.click()
    button(page, "Approve").first.click()
    expect(page.get_by_role("heading", level=2)).to_have_text('{"ask":"a name"}')
    fill(page, "Your answer", "Ann")
    button(page, "Send").click()
    payloads = [answer["payload"] for answer in sent(page)]
    assert payloads == [{"approved": True}, {"approved": True}, "Ann"]


def test_a_reason_with_the_name_of_what_all_objects_have_has_its_card(open_case: OpenCase) -> None:
    page = open_case("named")
    button(page, "Approve").click()
    fill(page, "Your answer", "Ann")
    button(page, "Send").click()
    assert [answer["payload"] for answer in sent(page)] == [{"approved": True}, "Ann"]


def test_a_card_that_can_not_be_drawn_shows_what_is_asked_and_leaves_the_others(
    window: BrowserContext, gallery: str
) -> None:
    page = window.new_page()
    page.goto(f"{gallery}?case=failing")
    broken = page.get_by_role("article").first
    expect(broken.get_by_role("heading", level=2)).to_have_text("Run it? (1 of 2)")
    expect(broken).to_contain_text('"reason": "failing"')
    expect(broken).to_contain_text('"path": "/srv/a"')
    assert axe_faults(page) == []
    button(broken, "Cancel").click()
    has_focus(page, "Run it? (2 of 2)")
    button(page, "Approve").click()
    assert sent(page) == [
        {"interruptId": "one", "status": "cancelled"},
        {"interruptId": "two", "status": "resolved", "payload": {"approved": True}},
    ]
    page.close()


def test_a_moment_that_no_clock_knows_is_sent_as_it_was_given(open_case: OpenCase) -> None:
    page = open_case("optional")
    fill(page, "Title", "Growth")
    fill(page, "When", "275760-09-13T00:00")
    button(page, "Send").click()
    assert payload(page) == {"title": "Growth", "when": "275760-09-13T00:00"}


def test_after_a_lost_run_nobody_says_that_it_was_carried_out(open_case: OpenCase) -> None:
    page = open_case("lost")
    said = "Approved; whether it was carried out is not known."
    expect(page.get_by_text(said, exact=True)).to_be_visible()
