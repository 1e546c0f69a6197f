"""TanStack AI's page: answers by its own means, reloads, refusals, stops, a tool of the page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.browser.axe import axe_faults
from tests.e2e.browser.cards import button, fill
from tests.e2e.browser.pages import OpenPage, card, say, sees
from tests.e2e.browser.pictures import fits, keep
from tests.e2e.browser.site import TANSTACK_AI, build, served
from tests.e2e.browser.tab import PATIENCE
from tests.e2e.target import Target


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The page's address."""
    folder: Path = tmp_path_factory.mktemp("tanstack-ai")
    build(TANSTACK_AI, folder)
    with served(folder) as address:
        yield address


@pytest.mark.feature("TanStack AI", "approve", "edit", "reload")
def test_after_a_reload_the_approval_is_there_and_runs_once_with_edited_arguments(
    open_page: OpenPage, target: Target, name: str, thread: str
) -> None:
    page = open_page()
    say(page, f"send {name}")
    expect(card(page)).to_contain_text(f"Send an email to {name}-0@example.com?", timeout=PATIENCE)
    page.reload()
    sees(page, f"send {name}")
    expect(card(page)).to_contain_text(f"Send an email to {name}-0@example.com?", timeout=PATIENCE)
    assert target.executed(name) == []
    assert axe_faults(page) == []
    button(page, "Edit").click()
    # As the agent wrote them; TanStack AI sorts the members of what it is told.
    expect(card(page).locator("label")).to_have_text(["To", "Body"])
    fill(page, "Body", "shorter")
    button(page, "Approve with changes").click()
    sees(page, f"Outcome: sent to {name}-0@example.com.")
    expect(card(page)).to_have_count(0)
    assert [line["body"] for line in target.executed(name)] == ["shorter"]
    page.reload()
    sees(page, f"Outcome: sent to {name}-0@example.com.")
    expect(card(page)).to_have_count(0)
    say(page, "hello")
    sees(page, "You said: hello")
    assert target.statuses(thread) == ["resolved"]
    assert len(target.executed(name)) == 1


def test_a_tool_that_nobody_carries_out_is_told_and_skipped(open_page: OpenPage) -> None:
    page = open_page(tools="off")
    say(page, "frontend news")
    sees(page, "show_page waits for a page that has this tool.")
    page.reload()
    page.get_by_role("button", name="Skip show_page").click()
    sees(page, "Shown: No page has carried out this call..")
    expect(page.get_by_role("button", name="Skip show_page")).to_have_count(0)


@pytest.mark.feature("TanStack AI", "cancel")
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


@pytest.mark.feature("TanStack AI", "several", "deny")
def test_two_at_once_are_answered_together(open_page: OpenPage, target: Target, name: str) -> None:
    page = open_page()
    say(page, f"both {name}")
    expect(card(page)).to_have_count(2, timeout=PATIENCE)
    button(page, "Approve").first.click()
    button(page, "Deny").last.click()
    fill(page, "Reason", "not on a Sunday")
    assert target.executed(name) == []
    button(page, "Deny").last.click()
    sees(page, f"Outcomes: sent to {name}-0@example.com, not sent.")
    sees(page, "not on a Sunday")
    assert [line["to"] for line in target.executed(name)] == [f"{name}-0@example.com"]


@pytest.mark.feature("TanStack AI", "follow", "confirm")
def test_after_a_reload_in_a_run_the_run_goes_on_and_its_question_is_answered(
    open_page: OpenPage, steady: str
) -> None:
    page = open_page(url=steady)
    say(page, "count")
    sees(page, "0 1 2 3")
    page.reload()
    sees(page, "0 1 2 3")
    sees(page, "77 78 79")
    expect(card(page)).to_contain_text("Was 80 enough?", timeout=PATIENCE)
    button(page, "Yes").click()
    sees(page, "Confirmed.")
    expect(card(page)).to_have_count(0)
    say(page, "count")
    expect(card(page)).to_contain_text("Was 80 enough?", timeout=PATIENCE)
    button(page, "No").click()
    sees(page, "Not confirmed.")


@pytest.mark.feature("TanStack AI", "form", "refused")
def test_a_form_that_is_filled_in_wrongly_twice_can_still_be_corrected(
    open_page: OpenPage, target: Target, name: str, thread: str
) -> None:
    page = open_page(check="off")
    say(page, f"form {name}")
    for _ in range(2):
        fill(page, "Quarter", "Q2")
        button(card(page), "Send").click()
        expect(card(page).get_by_role("alert")).to_contain_text("INVALID_RESUME_PAYLOAD")
        expect(card(page).get_by_role("heading")).to_have_text(f"Which quarter for {name}?")
    assert target.statuses(thread) == ["open"]
    fill(page, "Quarter", "Q2")
    fill(page, "Year", "2026")
    button(card(page), "Send").click()
    sees(page, "Quarter: Q2 2026.")
    expect(card(page)).to_have_count(0)


def test_an_answer_that_can_not_be_sent_leaves_its_card_and_what_was_typed(
    open_page: OpenPage, name: str
) -> None:
    page = open_page()
    say(page, f"form {name}")
    fill(page, "Quarter", "Q2")
    fill(page, "Year", "2026")
    page.context.set_offline(True)
    button(card(page), "Send").click()
    expect(card(page).get_by_role("alert")).to_contain_text("The server can't be reached.")
    page.context.set_offline(False)
    button(card(page), "Send").click()
    sees(page, "Quarter: Q2 2026.")
    expect(card(page)).to_have_count(0)


@pytest.mark.feature("TanStack AI", "expired")
def test_a_question_whose_time_is_over_says_so_and_the_chat_goes_on(
    open_page: OpenPage, target: Target, name: str
) -> None:
    page = open_page()
    say(page, f"brief {name}")
    sees(page, "The time to answer is over.")
    button(page, "Show the outcome").click()
    expect(page.get_by_role("main")).not_to_contain_text("The time to answer is over.")
    say(page, "hello")
    sees(page, "You said: hello")
    assert target.executed(name) == []


@pytest.mark.feature("TanStack AI", "elsewhere")
def test_an_answer_given_in_another_tab_is_told(
    open_page: OpenPage, target: Target, name: str
) -> None:
    first = open_page()
    say(first, f"send {name}")
    expect(card(first)).to_have_count(1, timeout=PATIENCE)
    second = open_page()
    expect(card(second)).to_have_count(1, timeout=PATIENCE)
    button(first, "Approve").click()
    sees(first, "Outcome: sent")
    sees(second, "Approved by anonymous elsewhere.")
    button(second, "Show the outcome").click()
    sees(second, "Outcome: sent")
    assert len(target.executed(name)) == 1


def another_answer(page: Page) -> None:
    page.get_by_role("button", name="Another answer").click()


def people_said(target: Target, thread: str) -> list[str]:
    """What people have said, as the bridge has it."""
    messages = target.settled(thread)["messages"]
    return [message["content"] for message in messages if message["role"] == "user"]


@pytest.mark.parametrize("reloaded", [False, True])
def test_another_answer_takes_an_approved_call_back(
    open_page: OpenPage, target: Target, name: str, thread: str, reloaded: bool
) -> None:
    page = open_page()
    say(page, "hello")
    sees(page, "You said: hello")
    say(page, f"send {name}")
    button(page, "Approve").click()
    sees(page, "Outcome: sent to")
    if reloaded:
        page.reload()
        sees(page, "Outcome: sent to")
    another_answer(page)
    # It is asked for again, as what was carried out is not in the conversation any more.
    button(page, "Cancel").click()
    sees(page, "Outcome: not sent.")
    expect(page.get_by_role("main")).not_to_contain_text("Outcome: sent to")
    expect(page.get_by_role("alert")).to_have_count(0)
    assert people_said(target, thread) == ["hello", f"send {name}"]
    assert target.statuses(thread) == ["resolved", "cancelled"]
    assert len(target.executed(name)) == 1


def test_a_tab_that_is_behind_takes_no_call_back_and_shows_the_thread(
    open_page: OpenPage, target: Target, name: str, thread: str
) -> None:
    ahead = open_page()
    say(ahead, "hello")
    sees(ahead, "You said: hello")
    behind = open_page()
    sees(behind, "You said: hello")
    say(ahead, f"send {name}")
    button(ahead, "Approve").click()
    sees(ahead, "Outcome: sent to")
    another_answer(behind)
    notice = behind.get_by_role("alert")
    expect(notice).to_contain_text("had not heard of the newest messages. Nothing was taken back.")
    sees(behind, "Outcome: sent to")
    assert people_said(target, thread) == ["hello", f"send {name}"]
    assert len(target.executed(name)) == 1


@pytest.mark.feature("TanStack AI", "page tool")
def test_a_tool_of_the_page_runs_there_and_its_result_goes_on(
    open_page: OpenPage, name: str
) -> None:
    page = open_page()
    say(page, f"frontend {name}")
    sees(page, f"Shown: the page {name}.")
    assert page.title() == name


def test_a_tool_of_the_page_beside_an_approval_runs_there_after_it(
    open_page: OpenPage, target: Target, name: str
) -> None:
    page = open_page()
    say(page, f"mixed {name}")
    button(page, "Approve").click()
    sees(page, f"Outcome: sent to {name}-0@example.com. Shown: the page {name}.")
    assert page.title() == name
    assert len(target.executed(name)) == 1


def test_a_page_that_is_loaded_anew_carries_out_what_waits_for_it(
    open_page: OpenPage, name: str
) -> None:
    page = open_page(tools="off")
    say(page, f"frontend {name}")
    sees(page, "show_page waits for a page that has this tool.")
    page = open_page()
    sees(page, f"Shown: the page {name}.")
    assert page.title() == name


@pytest.mark.feature("TanStack AI", "stop")
def test_what_was_said_before_a_stop_stays_and_the_chat_goes_on(
    open_page: OpenPage, target: Target, thread: str
) -> None:
    page = open_page()
    say(page, "slow 200")
    sees(page, "0 1 2 3")
    page.get_by_role("button", name="Stop").click()
    target.settled(thread)
    sees(page, "0 1 2 3")
    say(page, "hello")
    sees(page, "You said: hello")
    expect(page.get_by_role("main")).not_to_contain_text("197 198 199")


@pytest.mark.feature("TanStack AI", "stop")
def test_a_stop_ends_a_run_that_goes_on_without_its_page(
    open_page: OpenPage, counting: Target, name: str, thread: str
) -> None:
    page = open_page(url=counting.url)
    say(page, f"count {name} 200")
    sees(page, "0 1 2 3")
    page.get_by_role("button", name="Stop").click()
    assert counting.settled(thread)["status"] == "idle"
    steps = len(counting.executed(name))
    assert steps < 200
    say(page, "hello")
    sees(page, "You said: hello")
    assert len(counting.executed(name)) == steps


def test_a_stop_that_can_not_be_sent_is_told(
    open_page: OpenPage, counting: Target, name: str, thread: str
) -> None:
    page = open_page(url=counting.url)
    say(page, f"count {name} 60")
    sees(page, "0 1 2 3")
    page.route("**/stop", lambda route: route.abort())
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_role("alert")).to_contain_text("The run may go on.")
    assert counting.stop(thread)["status"] == "success"


def test_the_page_with_an_approval_fits_a_phone_and_the_dark(
    open_page: OpenPage, demo: int
) -> None:
    page = open_page(url=f"http://127.0.0.1:{demo}/agents/ops")
    say(page, "Clean up the users")
    expect(card(page)).to_contain_text("Delete 1234 rows of users?", timeout=PATIENCE)
    fits(page, "tanstack-ai")
    page.set_viewport_size({"width": 780, "height": 620})
    sees(page, "There are 1234.")
    keep("tanstack-ai-approval.png", page)
    button(page, "Approve").click()
    sees(page, "Done: 1234 rows of users deleted.")


def test_enter_sends_a_message_and_with_shift_begins_a_line(open_page: OpenPage) -> None:
    page = open_page()
    box = page.get_by_label("Message")
    box.fill("hello")
    box.press("Shift+Enter")
    box.press_sequentially("there")
    expect(box).to_have_value("hello\nthere")
    box.press("Enter")
    sees(page, "You said: hello\nthere")
    expect(box).to_have_value("")
