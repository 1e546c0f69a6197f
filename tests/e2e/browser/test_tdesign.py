"""A page made with TDesign's chat for Vue: what it shows, and answers by the recipe of the docs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.e2e.browser.cards import button
from tests.e2e.browser.pages import OpenPage, card, sees
from tests.e2e.browser.site import TDESIGN, build, served
from tests.e2e.browser.tab import PATIENCE
from tests.e2e.steady import steady_in
from tests.e2e.target import Target


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The page's address."""
    folder: Path = tmp_path_factory.mktemp("tdesign")
    build(TDESIGN, folder)
    with served(folder) as address:
        yield address


@pytest.fixture(scope="module")
def steady(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    """A server whose agent goes on while nobody listens."""
    with steady_in(tmp_path_factory.mktemp("steady")) as steady:
        yield steady


def say(page: Page, text: str) -> None:
    """Type a message and send it, once one can be sent."""
    expect(page.locator("main:not([aria-busy=true])")).to_be_visible(timeout=PATIENCE)
    type_in(page, text)
    expect(box(page)).to_have_value("")


def type_in(page: Page, text: str) -> None:
    """Type a message and press Enter."""
    box(page).fill(text)
    box(page).press("Enter")


def box(page: Page) -> Locator:
    """Where messages are typed."""
    return page.get_by_role("textbox").last


def press_stop(page: Page) -> None:
    """Press the button that stops what runs."""
    page.locator(".t-chat-sender__footer button, .t-chat-sender button").last.click()


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
    press_stop(page)
    target.settled(thread)
    sees(page, "0 1 2 3")
    say(page, "hello")
    sees(page, "You said: hello")
    expect(page.get_by_role("main")).not_to_contain_text("197 198 199")


@pytest.mark.feature("TDesign", "stop")
@pytest.mark.parametrize("part", ["all", "approvals"])
def test_a_stop_ends_a_run_that_goes_on_without_its_page(
    open_page: OpenPage, steady: Target, name: str, thread: str, part: str
) -> None:
    page = open_page(url=steady.url, part=part)
    say(page, f"count {name} 200")
    sees(page, "0 1 2 3")
    # TDesign's box sends on Enter even then.
    type_in(page, "hello")
    press_stop(page)
    stopped = steady.settled(thread)
    steps = len(steady.executed(name))
    assert stopped["status"] == "idle"
    assert steps < 200
    expect(box(page)).to_have_value("hello")
    say(page, "hello")
    sees(page, "You said: hello")
    sees(page, "0 1 2 3")
    assert len(steady.executed(name)) == steps
    asked = [m["content"] for m in steady.thread(thread)["messages"] if m["role"] == "user"]
    assert asked == [f"count {name} 200", "hello"]


@pytest.mark.feature("TDesign", "follow")
@pytest.mark.parametrize("part", ["all", "approvals"])
def test_a_run_that_goes_on_during_a_reload_is_followed(
    open_page: OpenPage, steady: Target, name: str, thread: str, part: str
) -> None:
    page = open_page(url=steady.url, part=part)
    say(page, f"count {name} 150")
    sees(page, "0 1 2 3")
    page.reload()
    sees(page, f"count {name} 150")
    sees(page, "0 1 2 3")
    assert steady.thread(thread)["status"] == "running"
    expect(page.locator("main[aria-busy=true]")).to_be_visible()
    once = re.compile(r"^(?!.*0 1 2 3.*0 1 2 3).*0 1 2 3", re.DOTALL)
    expect(page.get_by_role("main")).to_have_text(once)
    sees(page, "147 148 149")
    expect(page.locator("main:not([aria-busy=true])")).to_be_visible(timeout=PATIENCE)
    expect(page.get_by_role("main")).to_have_text(once)
    say(page, "hello")
    sees(page, "You said: hello")
    sees(page, "147 148 149")
    assert len(steady.executed(name)) == 150


def test_a_run_that_is_followed_is_stopped(
    open_page: OpenPage, steady: Target, name: str, thread: str
) -> None:
    page = open_page(url=steady.url)
    say(page, f"count {name} 200")
    sees(page, "0 1 2 3")
    page.reload()
    expect(page.locator("main[aria-busy=true]")).to_be_visible(timeout=PATIENCE)
    sees(page, "8 9 10")
    press_stop(page)
    assert steady.settled(thread)["status"] == "idle"
    steps = len(steady.executed(name))
    assert steps < 200
    say(page, "hello")
    sees(page, "You said: hello")
    sees(page, "8 9 10")
    assert len(steady.executed(name)) == steps


def test_a_stop_that_can_not_be_sent_is_told(
    open_page: OpenPage, steady: Target, name: str, thread: str
) -> None:
    page = open_page(url=steady.url)
    say(page, f"count {name} 60")
    sees(page, "0 1 2 3")
    page.route("**/stop", lambda route: route.abort())
    press_stop(page)
    expect(page.get_by_role("alert")).to_contain_text("Failed to fetch", timeout=PATIENCE)
    assert steady.stop(thread)["status"] == "success"


@pytest.mark.parametrize("part", ["all", "approvals"])
def test_a_message_that_the_bridge_did_not_take_is_back_where_it_was_typed(
    open_page: OpenPage, steady: Target, name: str, thread: str, part: str
) -> None:
    first, second = open_page(url=steady.url), open_page(url=steady.url, part=part)
    say(first, f"count {name} 200")
    sees(first, "0 1 2 3")
    type_in(second, "hello")
    expect(second.get_by_role("alert")).to_contain_text("run", timeout=PATIENCE)
    expect(box(second)).to_have_value("hello")
    press_stop(first)
    steady.settled(thread)
    say(second, "hello")
    sees(second, "You said: hello")
    expect(second.get_by_role("alert")).to_have_count(0)


@pytest.mark.parametrize("part", ["all", "approvals"])
def test_what_is_typed_while_a_question_is_open_stays_until_it_can_be_sent(
    open_page: OpenPage, target: Target, name: str, thread: str, part: str
) -> None:
    page = open_page(part=part)
    say(page, f"send {name}")
    expect(card(page)).to_have_count(1, timeout=PATIENCE)
    type_in(page, "hello")
    expect(box(page)).to_have_value("hello")
    button(card(page), {"all": "Cancel", "approvals": "Deny"}[part]).click()
    sees(page, "Outcome: not sent.")
    expect(box(page)).to_have_value("hello")
    say(page, "hello")
    sees(page, "You said: hello")
    asked = [m["content"] for m in target.thread(thread)["messages"] if m["role"] == "user"]
    assert asked == [f"send {name}", "hello"]


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
    # TDesign's list offers, in Chinese, to clear the history, which the bridge keeps.
    expect(page.get_by_text("清空历史记录")).to_have_count(0)
