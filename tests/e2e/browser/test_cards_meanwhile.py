"""The cards while things change: other questions come, answers fail, time goes by unseen."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.e2e.browser.axe import axe_faults
from tests.e2e.browser.cards import all_sent, button, field, focused, has_focus, payload, sent
from tests.e2e.browser.conftest import OpenCase


def test_an_answer_stays_given_while_another_question_comes(open_case: OpenCase) -> None:
    page = open_case("growing")
    button(page, "Approve").first.click()
    expect(page.get_by_text("1 of 2 done")).to_be_visible()
    button(page, "Deny").click()
    field(page, "Reason").fill("because")
    page.evaluate("dispatchEvent(new Event('meanwhile'))")
    expect(page.get_by_text("1 of 3 done")).to_be_visible()
    expect(field(page, "Reason")).to_have_value("because")
    button(page, "Deny").first.click()
    button(page, "Approve").click()
    assert [answer["interruptId"] for answer in sent(page)] == ["one", "two", "three"]


def test_answers_that_are_given_at_the_same_time_are_all_taken(open_case: OpenCase) -> None:
    page = open_case("twins")
    expect(button(page, "Approve")).to_have_count(2)
    page.evaluate(
        "document.querySelectorAll('[aria-label^=\"Approve:\"]').forEach(it => it.click())"
    )
    assert [answer["interruptId"] for answer in sent(page)] == ["one", "two"]


def test_only_the_card_whose_answer_failed_says_so(open_case: OpenCase) -> None:
    page = open_case("several", "each=1", "fail=1")
    button(page, "Approve").nth(1).click()
    told = page.get_by_role("alert")
    expect(told).to_have_count(1)
    expect(page.get_by_role("article", name="bob@example.com").get_by_role("alert")).to_be_visible()
    has_focus(page, "Send an email to bob@example.com?")


def test_of_answers_that_failed_together_the_first_card_says_so(open_case: OpenCase) -> None:
    page = open_case("twins", "fail=1")
    button(page, "Approve").first.click()
    button(page, "Approve").click()
    expect(page.get_by_role("alert")).to_have_text("The server can't be reached. Try again.")
    has_focus(page, "Run it? (1 of 2)")
    expect(button(page, "Approve")).to_have_count(2)


def sleep(page: Page, seconds: int) -> None:
    """Let time go by unseen by the page; Playwright's clock would move that of all tabs."""
    page.evaluate(
        "seconds => { const now = Date.now; Date.now = () => now() + seconds * 1000 }", seconds
    )


def test_a_minute_that_was_slept_through_is_told_and_so_are_both_cards(open_case: OpenCase) -> None:
    page = open_case("together")
    said = page.locator("[data-agc-live]")
    expect(page.get_by_role("timer").first).to_have_text(re.compile(r"^1 min \d+ s left$"))
    # What is said at the same time is said together.
    expect(said).to_have_text("2 questions wait for you: Run it? (1 of 2) Run it? (2 of 2)")
    sleep(page, 60)
    expect(said).to_have_text(
        re.compile(r"^Run it\? \(1 of 2\) \d\d s left to answer. Run it\? \(2 of 2\) \d\d s left")
    )
    sleep(page, 60)
    over = "The time to answer is over."
    expect(said).to_have_text(f"Run it? (1 of 2) {over} Run it? (2 of 2) {over}")


def test_days_are_told_as_days(open_case: OpenCase) -> None:
    expect(open_case("patient").get_by_role("timer")).to_have_text("2 d 2 h left")


def test_what_looks_like_a_page_is_text_and_a_time_that_is_none_is_no_end(
    open_case: OpenCase,
) -> None:
    page = open_case("strange")
    shown = page.get_by_role("article")
    expect(shown.get_by_role("heading")).to_contain_text("<script>alert(1)</script>")
    expect(shown).to_contain_text("<img src=x>")
    expect(page.get_by_role("timer")).to_have_count(0)
    button(page, "Approve").click()
    assert sent(page)[0]["payload"] == {"approved": True}


def test_two_agents_ask_on_one_page(open_case: OpenCase) -> None:
    page = open_case("form", "beside=text")
    said = page.locator("[data-agc-live]")
    expect(said).to_contain_text("Which quarter shall the report cover?")
    expect(said).to_contain_text("What shall I call it?")
    assert axe_faults(page) == []
    field(page, "Your answer").fill("Growth")
    field(page, "Your answer").press("Enter")
    assert sent(page) == [{"interruptId": "one", "status": "resolved", "payload": "Growth"}]


NEW = {"approved": True, "editedArgs": {"path": "/srv/b"}}
NEWS = "Run it? The arguments have changed."


def revise(page: Page) -> None:
    """Have a colleague change what is to be approved."""
    said = page.locator("[data-agc-live]")
    # What is said at the same time is said together.
    expect(said).to_have_text("Run it?")
    page.evaluate("dispatchEvent(new Event('meanwhile'))")
    expect(said).to_have_text(NEWS)


def test_a_press_that_was_meant_for_other_arguments_approves_nothing(open_case: OpenCase) -> None:
    page = open_case("revised")
    approve = button(page, "Approve")
    box = approve.bounding_box()
    assert box is not None
    approve.focus()
    revise(page)
    has_focus(page, "Run it?")
    expect(page.get_by_role("article")).to_contain_text("The arguments have changed")
    expect(page.get_by_role("definition")).to_have_text("/srv/b")
    page.keyboard.press("Enter")
    expect(approve).to_have_count(0)
    page.mouse.click(box["x"] + 5, box["y"] + 5)
    button(page, "I have read them").click()
    has_focus(page, "Run it?")
    assert all_sent(page) == []
    approve.click()
    assert payload(page) == NEW


def test_what_is_chosen_besides_approves_no_arguments_that_nobody_has_read(
    open_case: OpenCase,
) -> None:
    page = open_case("revised")
    button(page, "Approve and…").click()
    field(page, "Remember").select_option("thread")
    revise(page)
    expect(button(page, "Approve")).to_have_count(0)
    button(page, "I have read them").click()
    button(page, "Approve").click()
    assert payload(page) == {**NEW, "remember": "thread"}


def test_who_edits_arguments_that_a_colleague_changes_may_take_those(open_case: OpenCase) -> None:
    page = open_case("revised")
    button(page, "Edit").click()
    field(page, "Path").fill("/srv/c")
    revise(page)
    assert focused(page) == "Path (optional)"
    expect(field(page, "Path")).to_have_value("/srv/c")
    expect(page.get_by_role("article")).to_contain_text("These are the earlier ones.")
    button(page, "Take the new ones").click()
    expect(field(page, "Path")).to_have_value("/srv/b")
    button(page, "Approve with changes").click()
    assert payload(page) == NEW


def test_who_opens_the_form_after_a_change_edits_the_new_arguments(open_case: OpenCase) -> None:
    page = open_case("revised")
    button(page, "Edit").click()
    button(page, "Back").click()
    revise(page)
    button(page, "Edit").click()
    expect(field(page, "Path")).to_have_value("/srv/b")
    expect(page.get_by_role("article")).not_to_contain_text("These are the earlier ones.")


def test_who_writes_a_message_while_arguments_change_goes_on_writing(open_case: OpenCase) -> None:
    page = open_case("revised")
    page.get_by_label("Message").fill("and hurry")
    revise(page)
    assert focused(page) == "Message"


def test_what_was_typed_is_still_there_for_whoever_comes_back(open_case: OpenCase) -> None:
    page = open_case("revised")
    for name, label, text in (("Edit", "Path", "/srv/c"), ("Deny", "Reason", "not today")):
        button(page, name).click()
        field(page, label).fill(text)
        button(page, "Back").click()
        has_focus(page, f"{name}: Run it?")
    button(page, "Edit").click()
    expect(field(page, "Path")).to_have_value("/srv/c")
    button(page, "Back").click()
    button(page, "Deny").click()
    expect(field(page, "Reason")).to_have_value("not today")
    button(page, "Deny").click()
    assert payload(page) == {"approved": False, "reason": "not today"}
