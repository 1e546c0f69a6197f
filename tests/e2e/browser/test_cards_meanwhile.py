"""The cards while things change: other questions come, answers fail, time goes by unseen."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.e2e.browser.axe import axe_faults
from tests.e2e.browser.cards import button, field, has_focus, sent
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
