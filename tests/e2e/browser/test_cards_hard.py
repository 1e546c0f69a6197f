"""The cards and what no page foresees: hard schemas, unfit arguments, haste, and other people."""

from __future__ import annotations

import json
import re
from typing import Any, Final
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.browser.cards import button, field, fill, focused, has_focus, payload, sent
from tests.e2e.browser.conftest import OpenCase

CODE: Final = "def f(x):\n    if x:\n        return 1\n    return 2\n"


def second_of_a_double_click(page: Page, name: str) -> None:
    """What a double click does where a button has come under the pointer after the first one."""
    box = button(page, name).first.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 5, box["y"] + 5)
    page.mouse.down(click_count=2)
    page.mouse.up(click_count=2)


def test_a_schema_that_refers_to_itself_is_filled_in_as_deep_as_wanted(open_case: OpenCase) -> None:
    page = open_case("circle")
    field(page, "Value").fill("root")
    button(page, "Add Next").first.click()
    has_focus(page, "Value")
    field(page, "Value").nth(1).fill("second")
    button(page, "Add to Children").last.click()
    field(page, "Value").nth(2).fill("leaf")
    button(page, "Add Parent").first.click()
    button(page, "Remove Parent").first.click()
    button(page, "Send").click()
    assert payload(page) == {
        "value": "root",
        "next": {"value": "second", "next": None},
        "children": [{"value": "leaf", "next": None}],
    }


def test_a_list_of_lists_without_end_is_shown(open_case: OpenCase) -> None:
    page = open_case("lists")
    button(page, "Add to Tree").click()
    button(page, "Add to Tree 1").click()
    button(page, "Send").click()
    assert payload(page) == {"tree": [[[]]]}


def test_a_schema_that_nothing_can_be_made_of_is_typed_as_json(open_case: OpenCase) -> None:
    page = open_case("broken")
    fill(page, "Percent", '{"a": 1}')
    fill(page, "Anchor", "true")
    fill(page, "Odd", "red")
    button(page, "Send").click()
    assert payload(page) == {"percent": {"a": 1}, "anchor": True, "odd": "red"}


def test_what_may_be_left_out_is_left_out_whole(open_case: OpenCase) -> None:
    page = open_case("optional")
    fill(page, "Title", "Growth")
    button(page, "Send").click()
    assert payload(page) == {"title": "Growth"}
    page = open_case("optional")
    fill(page, "Title", "Growth")
    button(page, "Add Owner").click()
    button(page, "Add to Files").click()
    button(page, "Remove Files 1").click()
    button(page, "Send").click()
    expect(page.get_by_text("Name is missing.")).to_be_visible()
    fill(page, "Name", "Ann")
    button(page, "Send").click()
    assert payload(page) == {"title": "Growth", "owner": {"name": "Ann"}}


def test_a_moment_is_told_so_that_it_is_the_same_elsewhere(open_case: OpenCase) -> None:
    page = open_case("optional")
    fill(page, "Title", "Growth")
    fill(page, "When", "2026-12-24T10:30")
    button(page, "Send").click()
    moment = page.evaluate("new Date(2026, 11, 24, 10, 30).toISOString()")
    assert payload(page) == {"title": "Growth", "when": moment}


def test_choices_have_their_titles_and_null_may_be_chosen(open_case: OpenCase) -> None:
    page = open_case("choices")
    expect(field(page, "Size").locator("option")).to_have_text(["Choose", "Small", "Large"])
    field(page, "Size").select_option("Large")
    page.get_by_label('{"a":2}').check()
    button(page, "Add Either").click()
    fill(page, "Name", "Ann")
    button(page, "Send").click()
    assert payload(page) == {
        "size": "l",
        "level": None,
        "some": [{"a": 2}],
        "either": {"name": "Ann"},
    }


@pytest.mark.parametrize(
    ("case", "reason", "said"),
    [
        ("declinable", " not mine ", {"declined": True, "reason": "not mine"}),
        ("unsure", "", {"declined": True}),
    ],
)
def test_a_question_may_be_declined_where_it_offers_that(
    open_case: OpenCase, case: str, reason: str, said: Any
) -> None:
    page = open_case(case)
    button(page, "Decline").click()
    has_focus(page, "Reason (optional)")
    button(page, "Back").click()
    expect(page.get_by_role("heading", level=2)).to_be_visible()
    assert focused(page).startswith("Decline: ")
    button(page, "Decline").click()
    field(page, "Reason").fill(reason)
    button(page, "Decline").click()
    assert payload(page) == said


def test_beside_a_decline_stands_the_answers_own_form(open_case: OpenCase) -> None:
    page = open_case("declinable")
    fill(page, "Name", "Ann")
    button(page, "Decline").click()
    button(page, "Back").click()
    button(page, "Send").click()
    assert payload(page) == {"name": "Ann"}
    page = open_case("unsure")
    button(page, "No").click()
    assert payload(page) is False


def test_lines_and_texts_that_an_element_would_hide_are_shown_and_kept(open_case: OpenCase) -> None:
    page = open_case("code")
    said = page.get_by_role("definition").nth(1)
    assert said.inner_text() == CODE
    button(page, "Edit").click()
    expect(field(page, "Content")).to_have_value(CODE)
    expect(field(page, "At")).to_have_value("2026-11-01T10:00:00+01:00")
    expect(field(page, "Day")).to_have_value("tomorrow")
    fill(page, "Content", f"{CODE}# checked\n")
    button(page, "Approve with changes").click()
    args = payload(page)["editedArgs"]
    assert args["content"] == f"{CODE}# checked\n"
    assert args["at"] == "2026-11-01T10:00:00+01:00"


def test_long_arguments_scroll_by_the_keyboard_and_the_buttons_stay_near(
    open_case: OpenCase,
) -> None:
    page = open_case("long", "later")
    page.set_viewport_size({"width": 1280, "height": 800})
    page.get_by_label("Message").press("Enter")
    page.get_by_role("article").wait_for()
    place = page.locator(".agc-args")
    box = place.bounding_box()
    assert box is not None
    assert round(box["height"], 2) <= 400  # the browser's sums are off by 3e-8
    page.keyboard.press("Tab")
    page.keyboard.press("End")
    page.wait_for_function(
        "() => {const it = document.querySelector('.agc-args');"
        " return it.scrollTop + it.clientHeight >= it.scrollHeight - 1}"
    )
    page.keyboard.press("Tab")
    assert focused(page).startswith("Approve: Run ")


def test_arguments_as_deep_as_a_phone_is_narrow_are_read_in_lines(open_case: OpenCase) -> None:
    page = open_case("deep")
    page.set_viewport_size({"width": 320, "height": 640})
    box = page.get_by_text("reached", exact=True).bounding_box()
    assert box is not None
    assert box["height"] < 40


def test_arguments_that_do_not_fit_their_schema_can_be_mended(open_case: OpenCase) -> None:
    page = open_case("unfit")
    button(page, "Edit").click()
    expect(field(page, "To")).to_have_value('"ann@example.com"')
    button(page, "Approve with changes").click()
    for fault in ("To must be a list.", "Tags must be a list.", "Count must be a number."):
        expect(page.get_by_text(fault)).to_be_visible()
    fill(page, "To", '["ann@example.com"]')
    fill(page, "Tags", '["red"]')
    fill(page, "Who", '{"name": "Ann"}')
    fill(page, "Count", "3")
    button(page, "Approve with changes").click()
    assert payload(page)["editedArgs"] == {
        "to": ["ann@example.com"],
        "tags": ["red"],
        "who": {"name": "Ann"},
        "count": 3,
    }


def test_arguments_that_refer_to_their_schemas_place_have_fields(open_case: OpenCase) -> None:
    page = open_case("nested")
    button(page, "Edit").click()
    has_focus(page, "Name")
    fill(page, "Name", "Bob")
    button(page, "Approve with changes").click()
    assert payload(page)["editedArgs"] == {"who": {"name": "Bob"}}


def test_a_call_whose_arguments_are_not_known_says_so_and_offers_no_edit(
    open_case: OpenCase,
) -> None:
    page = open_case("unknown")
    expect(page.get_by_role("article")).to_contain_text(
        "Which tool it is, and its arguments, are not known here."
    )
    expect(button(page, "Approve")).to_have_count(1)
    expect(button(page, "Edit")).to_have_count(0)


def test_who_agrees_with_others_agrees_to_the_arguments_that_they_have_changed(
    open_case: OpenCase,
) -> None:
    page = open_case("agreed")
    shown = page.get_by_role("article")
    expect(shown).to_contain_text("One of each: bob; any dba. 1 of 2 so far: bob.")
    expect(shown).to_contain_text("has changed the arguments")
    expect(shown.get_by_role("definition")).to_have_text("/srv/b")
    button(page, "Approve").click()
    assert payload(page) == {"approved": True, "editedArgs": {"path": "/srv/b"}}


def test_what_can_not_be_read_is_sent_as_it_was_typed_where_nothing_checks_it(
    open_case: OpenCase,
) -> None:
    page = open_case("form", "check=off")
    field(page, "Quarter").select_option("Q2")
    field(page, "Year").fill("soon")
    button(page, "Send").click()
    assert payload(page) == {"quarter": "Q2", "year": "soon"}


def test_two_equal_questions_have_names_of_their_own(open_case: OpenCase) -> None:
    page = open_case("twins")
    names = [it.get_attribute("aria-label") for it in page.locator("article button").all()]
    assert len(names) == len(set(names)) == 8
    expect(page.locator("[data-agc-live]")).to_have_text(
        "2 questions wait for you: Run it? (1 of 2) Run it? (2 of 2)"
    )


def test_the_second_click_of_a_double_one_answers_no_other_question(open_case: OpenCase) -> None:
    page = open_case("twins")
    button(page, "Approve").first.click()
    expect(page.get_by_text("1 of 2 done")).to_be_visible()
    second_of_a_double_click(page, "Approve")
    expect(page.get_by_text("1 of 2 done")).to_be_visible()
    button(page, "Approve").first.click()
    assert [answer["interruptId"] for answer in sent(page)] == ["one", "two"]


def test_the_focus_stays_at_a_card_whose_time_ends_while_somebody_types(
    open_case: OpenCase,
) -> None:
    page = open_case("hurried")
    button(page, "Deny").click()
    page.keyboard.type("because")
    expect(page.get_by_role("timer")).to_have_text("Time is over")
    has_focus(page, "Run it?")
    expect(field(page, "Reason")).to_have_value("because")
    expect(page.locator("[data-agc-live]")).to_contain_text("The time to answer is over.")
    page.keyboard.press("Tab")
    has_focus(page, "Dismiss: Run it?")


def test_who_types_an_answer_is_told_that_somebody_else_was_faster(open_case: OpenCase) -> None:
    page = open_case("overtaken")
    button(page, "Deny").click()
    page.keyboard.type("because")
    said = page.locator("[data-agc-live]")
    expect(said).to_have_text("Run it?")
    page.evaluate("dispatchEvent(new Event('meanwhile'))")
    expect(said).to_have_text("Run it? Denied by bob elsewhere.")
    has_focus(page, "Dismiss: Run it?")


def test_an_answer_that_fails_late_brings_the_focus_back_to_its_card(open_case: OpenCase) -> None:
    page = open_case("form", "fail=1")
    field(page, "Quarter").select_option("Q2")
    field(page, "Year").fill("2026")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_have_text("The server can't be reached. Try again.")
    has_focus(page, "Which quarter shall the report cover?")


def test_an_answer_that_fails_leaves_those_that_were_handed_over(open_case: OpenCase) -> None:
    page = open_case("several", "each=1", "fail=2")
    button(page, "Approve").first.click()
    button(page, "Approve").first.click()
    expect(page.get_by_role("alert").first).to_be_visible()
    expect(page.get_by_text("1 of 3 done")).to_be_visible()
    has_focus(page, "Send an email to bob@example.com?")


def test_an_answer_that_is_refused_in_the_same_words_can_be_given_again(
    open_case: OpenCase,
) -> None:
    page = open_case("form", "refuse=2")
    for year in ("2026", "2027", "2028"):
        field(page, "Quarter").select_option("Q2")
        field(page, "Year").fill(year)
        button(page, "Send").click()
    assert payload(page, times=3) == {"quarter": "Q2", "year": 2028}


def test_a_double_click_adds_one_and_takes_one_away(open_case: OpenCase) -> None:
    page = open_case("everything")
    items = page.get_by_role("button", name="Remove Readers")
    button(page, "Add to Readers").dblclick()
    has_focus(page, "Readers 2")
    expect(items).to_have_count(2)
    page.get_by_role("button", name="Remove Readers 1").dblclick()
    expect(items).to_have_count(1)


@pytest.mark.parametrize("first", ["somebody else", "this person"])
def test_what_somebody_else_has_answered_is_sent_with_the_rest(
    open_case: OpenCase, first: str
) -> None:
    page = open_case("shared")
    if first == "this person":
        button(page, "Deny").last.click()
        button(page, "Deny").last.click()
        expect(page.get_by_text("1 of 2 done")).to_be_visible()
    page.evaluate("dispatchEvent(new Event('meanwhile'))")
    if first == "somebody else":
        expect(page.get_by_text("Approved by bob elsewhere.", exact=True)).to_be_visible()
        has_focus(page, "Run it? (2 of 2)")
        expect(page.get_by_text("1 of 2 done")).to_be_visible()
        button(page, "Deny").click()
        button(page, "Deny").click()
    assert sent(page) == [
        {"interruptId": "one", "status": "resolved", "payload": {"approved": True}},
        {"interruptId": "two", "status": "resolved", "payload": {"approved": False}},
    ]


def test_a_text_that_hides_something_is_json_in_a_form_and_stays_what_it_is(
    open_case: OpenCase,
) -> None:
    schema = {"type": "object", "properties": {"to": {"type": "string", "default": "a\u200b"}}}
    page = open_case(f"&schema={quote(json.dumps(schema))}")
    expect(field(page, "To")).to_have_value('"a\\u200b"')
    button(page, "Send").click()
    assert payload(page) == {"to": "a\u200b"}


def test_what_an_agent_hides_is_marked_on_its_card(open_case: OpenCase) -> None:
    page = open_case("unseen")
    card = page.get_by_role("article")
    for shown in (r"Run\u200b it\u202e?", r"p\u0430y", r"to\u3164", r"report.txt\u{e0101}"):
        expect(card).to_contain_text(shown)
    for shown in (r"ex\u0430mple.com", "👩🏽‍🚀 می\u200cخواهم", r"\ud800"):  # noqa: RUF001
        expect(card).to_contain_text(shown)
    assert not re.search("[\u200b\u202e\u3164\U000e0101\u0430]", card.inner_text())
