"""A page made with TDesign's chat for Vue: what it shows, and answers by the recipe of the docs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.browser.cards import button
from tests.e2e.browser.pages import OpenPage, card, sees
from tests.e2e.browser.site import TDESIGN, build, served
from tests.e2e.browser.tab import PATIENCE
from tests.e2e.target import Target


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The page's address."""
    folder: Path = tmp_path_factory.mktemp("tdesign")
    build(TDESIGN, folder)
    with served(folder) as address:
        yield address


def say(page: Page, text: str) -> None:
    """Type a message and send it, once one can be sent."""
    expect(page.locator("main:not([aria-busy=true])")).to_be_visible(timeout=PATIENCE)
    box = page.get_by_role("textbox").last
    box.fill(text)
    box.press("Enter")
    expect(box).to_have_value("")


def answer(page: Page, *, tick: str | None = None, **fields: str) -> None:
    """Answer the first question that is shown, with a box ticked or with fields filled in."""
    asked = card(page).filter(visible=True).first
    if tick is not None:
        asked.get_by_label(tick).check()
    for label, text in fields.items():
        asked.get_by_label(label).fill(text)
    asked.get_by_role("button", name="Answer").click()


@pytest.mark.feature("TDesign", "approve", "reload")
def test_what_is_said_and_called_is_shown_and_after_a_reload_the_call_is_approved_and_runs_once(
    open_page: OpenPage, target: Target, name: str, thread: str
) -> None:
    page = open_page()
    say(page, "hello")
    sees(page, "You said: hello")
    say(page, f"send {name}")
    sees(page, "waiting")
    expect(page.locator("code")).to_contain_text(f'send_email {{"to":"{name}-0@example.com"')
    expect(card(page)).to_contain_text(f"Send an email to {name}-0@example.com?")
    page.reload()
    sees(page, "You said: hello")
    expect(card(page)).to_contain_text(f"Send an email to {name}-0@example.com?", timeout=PATIENCE)
    assert target.executed(name) == []
    answer(page, tick="approved")
    sees(page, f"Outcome: sent to {name}-0@example.com.")
    # TDesign by itself passes over the result of a call from a run before.
    sees(page, f'"body":"original"}} sent to {name}-0@example.com')
    expect(card(page)).to_have_count(0)
    say(page, "hello again")
    sees(page, "You said: hello again")
    assert target.statuses(thread) == ["resolved"]
    assert len(target.executed(name)) == 1


@pytest.mark.feature("TDesign", "edit")
def test_edited_arguments_are_those_that_run(
    open_page: OpenPage, target: Target, name: str
) -> None:
    page = open_page()
    say(page, f"send {name}")
    edited = {"to": f"{name}-1@example.com", "body": "shorter"}
    answer(page, tick="approved", Email=json.dumps(edited))
    sees(page, "Outcome: sent")
    assert [line["body"] for line in target.executed(name)] == ["shorter"]


@pytest.mark.feature("TDesign", "several", "deny")
def test_two_at_once_are_answered_together(open_page: OpenPage, target: Target, name: str) -> None:
    page = open_page()
    say(page, f"both {name}")
    expect(card(page)).to_have_count(2, timeout=PATIENCE)
    answer(page, tick="approved")
    assert target.executed(name) == []
    answer(page, reason="not on a Sunday")
    sees(page, f"Outcomes: sent to {name}-0@example.com, not sent.")
    sees(page, "not on a Sunday")
    assert [line["to"] for line in target.executed(name)] == [f"{name}-0@example.com"]


@pytest.mark.feature("TDesign", "cancel")
def test_a_cancelled_call_does_not_run_and_the_chat_goes_on(
    open_page: OpenPage, target: Target, name: str, thread: str
) -> None:
    page = open_page()
    say(page, f"send {name}")
    button(card(page), "Cancel").click()
    sees(page, "Outcome: not sent.")
    say(page, "hello")
    sees(page, "You said: hello")
    assert target.statuses(thread) == ["cancelled"]
    assert target.executed(name) == []


@pytest.mark.feature("TDesign", "confirm")
def test_a_confirmation_is_a_yes_or_a_no(open_page: OpenPage, name: str) -> None:
    page = open_page()
    say(page, f"confirm {name}")
    answer(page)
    sees(page, "Not confirmed.")
    say(page, f"confirm {name}")
    answer(page, tick="confirm")
    sees(page, " Confirmed.")


@pytest.mark.feature("TDesign", "form", "refused")
def test_a_form_that_is_filled_in_wrongly_can_be_corrected(
    open_page: OpenPage, target: Target, name: str, thread: str
) -> None:
    page = open_page()
    say(page, f"form {name}")
    for _ in range(2):
        answer(page, Quarter="Q2")
        expect(card(page)).to_contain_text("INVALID_RESUME_PAYLOAD", timeout=PATIENCE)
    assert target.statuses(thread) == ["open"]
    answer(page, Quarter="Q2", Year="2026")
    sees(page, "Quarter: Q2 2026.")
    expect(card(page)).to_have_count(0)


def test_an_answer_that_can_not_be_sent_leaves_its_question(
    open_page: OpenPage, target: Target, name: str
) -> None:
    page = open_page()
    say(page, f"send {name}")
    expect(card(page)).to_have_count(1, timeout=PATIENCE)
    page.context.set_offline(True)
    answer(page, tick="approved")
    expect(page.get_by_role("alert")).to_contain_text("Failed to fetch", timeout=PATIENCE)
    page.context.set_offline(False)
    answer(page, tick="approved")
    sees(page, f"Outcome: sent to {name}-0@example.com.")
    expect(page.get_by_role("alert")).to_have_count(0)
    assert len(target.executed(name)) == 1


@pytest.mark.feature("TDesign", "elsewhere")
def test_an_answer_after_another_one_is_refused_and_the_outcome_is_shown(
    open_page: OpenPage, target: Target, name: str
) -> None:
    first, second = open_page(), open_page()
    say(first, f"send {name}")
    expect(card(first)).to_have_count(1, timeout=PATIENCE)
    second.reload()
    expect(card(second)).to_have_count(1, timeout=PATIENCE)
    answer(first, tick="approved")
    sees(first, "Outcome: sent")
    answer(second)
    alert = second.get_by_role("alert")
    expect(alert).to_contain_text("Another answer was given", timeout=PATIENCE)
    sees(second, "Outcome: sent")
    expect(card(second)).to_have_count(0)
    assert len(target.executed(name)) == 1


@pytest.mark.feature("TDesign", "expired")
def test_an_answer_after_the_time_is_refused_and_the_chat_goes_on(
    open_page: OpenPage, target: Target, name: str, thread: str
) -> None:
    page = open_page()
    say(page, f"brief {name}")
    expect(card(page)).to_have_count(1, timeout=PATIENCE)
    target.wait_for_expiry(thread)
    answer(page, tick="approved")
    expect(page.get_by_role("alert")).to_contain_text("is over", timeout=PATIENCE)
    expect(card(page)).to_have_count(0)
    say(page, "hello")
    sees(page, "You said: hello")
    assert target.executed(name) == []


@pytest.mark.feature("TDesign", "stop")
def test_what_was_said_before_a_stop_stays_and_the_chat_goes_on(
    open_page: OpenPage, target: Target, thread: str
) -> None:
    page = open_page()
    say(page, "slow 200")
    sees(page, "0 1 2 3")
    page.locator(".t-chat-sender__footer button, .t-chat-sender button").last.click()
    target.settled(thread)
    sees(page, "0 1 2 3")
    say(page, "hello")
    sees(page, "You said: hello")
    expect(page.get_by_role("main")).not_to_contain_text("197 198 199")


def test_the_component_of_the_page_in_the_docs_approves_and_denies(
    open_page: OpenPage, target: Target, name: str
) -> None:
    page = open_page(part="approvals")
    say(page, f"both {name}")
    button(card(page), "Deny").click()
    sees(page, "Outcomes: not sent, not sent.")
    say(page, f"send {name}")
    expect(card(page)).to_contain_text(f"Send an email to {name}-0@example.com?", timeout=PATIENCE)
    assert target.executed(name) == []
    button(card(page), "Approve").click()
    sees(page, f"Outcome: sent to {name}-0@example.com.")
    assert len(target.executed(name)) == 1
