"""assistant-ui's page: questions of every kind, reloads, refusals, stops, a tool of the page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.browser.cards import button, fill
from tests.e2e.browser.pages import OpenPage, card, say, sees
from tests.e2e.browser.pictures import fits, keep
from tests.e2e.browser.site import ASSISTANT_UI, build, served
from tests.e2e.browser.tab import PATIENCE
from tests.e2e.target import Target


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The page's address."""
    folder: Path = tmp_path_factory.mktemp("assistant-ui")
    build(ASSISTANT_UI, folder)
    with served(folder) as address:
        yield address


@pytest.mark.feature("assistant-ui", "approve", "edit", "reload")
def test_after_a_reload_the_approval_is_there_and_runs_once_with_edited_arguments(
    open_page: OpenPage, target: Target, name: str, thread: str
) -> None:
    page = open_page()
    say(page, f"send {name}")
    expect(card(page)).to_have_count(1, timeout=PATIENCE)
    page.reload()
    sees(page, f"send {name}")
    expect(card(page)).to_contain_text(f"Send an email to {name}-0@example.com?", timeout=PATIENCE)
    assert target.executed(name) == []
    button(page, "Edit").click()
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


@pytest.mark.feature("assistant-ui", "form")
def test_after_a_reload_the_form_is_there_and_the_page_fits_a_phone_and_the_dark(
    open_page: OpenPage, target: Target, name: str
) -> None:
    page = open_page()
    say(page, f"form {name}")
    expect(card(page)).to_have_count(1, timeout=PATIENCE)
    page.reload()
    expect(card(page)).to_contain_text(f"Which quarter for {name}?", timeout=PATIENCE)
    fits(page, "assistant-ui-form")
    button(card(page), "Send").click()
    expect(card(page)).to_contain_text("Quarter is missing.")
    fill(page, "Quarter", "Q3")
    fill(page, "Year", "2026")
    button(card(page), "Send").click()
    sees(page, "Quarter: Q3 2026.")


@pytest.mark.feature("assistant-ui", "cancel")
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


@pytest.mark.feature("assistant-ui", "several", "deny")
def test_two_at_once_are_answered_together_also_after_a_reload(
    open_page: OpenPage, target: Target, name: str
) -> None:
    page = open_page()
    say(page, f"both {name}")
    expect(card(page)).to_have_count(2, timeout=PATIENCE)
    page.reload()
    expect(card(page)).to_have_count(2, timeout=PATIENCE)
    button(page, "Approve").first.click()
    button(page, "Deny").last.click()
    fill(page, "Reason", "not on a Sunday")
    assert target.executed(name) == []
    button(page, "Deny").last.click()
    sees(page, f"Outcomes: sent to {name}-0@example.com, not sent.")
    sees(page, "not on a Sunday")
    assert [line["to"] for line in target.executed(name)] == [f"{name}-0@example.com"]


def test_what_is_typed_while_a_question_is_open_stays_until_it_is_answered(
    open_page: OpenPage, name: str
) -> None:
    page = open_page()
    say(page, f"send {name}")
    expect(card(page)).to_have_count(1, timeout=PATIENCE)
    box = page.get_by_label("Message", exact=True)
    box.fill("and then?")
    box.press("Enter")
    expect(page.get_by_role("button", name="Send", exact=True)).to_be_disabled()
    button(page, "Deny").click()
    button(page, "Deny").click()
    sees(page, "Outcome: not sent.")
    expect(box).to_have_value("and then?")
    box.press("Enter")
    sees(page, "You said: and then?")


def test_a_tool_that_nobody_carries_out_is_told_and_skipped(open_page: OpenPage) -> None:
    page = open_page(tools="off")
    say(page, "frontend news")
    sees(page, "show_page waits, and this page has no such tool.")
    page.get_by_role("button", name="Skip show_page").click()
    sees(page, "Shown: This page has no such tool; the call was not carried out..")


def test_that_the_connection_broke_off_is_told_until_the_next_message(open_page: OpenPage) -> None:
    page = open_page()
    say(page, "hello")
    sees(page, "You said: hello")
    page.context.set_offline(True)
    say(page, "anybody there?")
    notice = page.get_by_role("alert")
    expect(notice).to_contain_text("The connection to the server broke off.")
    page.context.set_offline(False)
    say(page, "hello again")
    sees(page, "You said: hello again")
    expect(notice).to_have_count(0)


@pytest.mark.feature("assistant-ui", "follow", "confirm", "state")
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
    expect(page.get_by_label("State")).to_contain_text('{"counted":80}')
    button(page, "Yes").click()
    sees(page, "Confirmed.")
    expect(card(page)).to_have_count(0)
    say(page, "count")
    expect(card(page)).to_contain_text("Was 80 enough?", timeout=PATIENCE)
    button(page, "No").click()
    sees(page, "Not confirmed.")


@pytest.mark.feature("assistant-ui", "page state")
def test_a_state_that_the_page_sets_is_kept(
    open_page: OpenPage, target: Target, thread: str
) -> None:
    page = open_page(state='{"theme": "dark"}')
    say(page, "hello")
    sees(page, "You said: hello")
    assert target.settled(thread)["state"] == {"theme": "dark"}
    # The thread's state is not that of the address any more.
    other = open_page(state='{"theme": "light"}')
    expect(other.get_by_label("State")).to_have_text('{"theme":"dark"}', timeout=PATIENCE)
    say(other, "hello again")
    sees(other, "You said: hello again")
    assert target.settled(thread)["state"] == {"theme": "dark"}


def test_a_state_in_the_address_that_is_not_json_is_told(open_page: OpenPage) -> None:
    page = open_page(state="theme=dark")
    expect(page.get_by_role("alert")).to_contain_text("is not JSON", timeout=PATIENCE)
    say(page, "hello")
    sees(page, "You said: hello")


@pytest.mark.feature("assistant-ui", "refused")
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


@pytest.mark.feature("assistant-ui", "expired")
def test_a_question_whose_time_is_over_goes_away_and_the_chat_goes_on(
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


@pytest.mark.feature("assistant-ui", "elsewhere")
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


@pytest.mark.feature("assistant-ui", "rewrite")
def test_a_message_that_is_changed_takes_the_place_of_what_followed(
    open_page: OpenPage, target: Target, name: str, thread: str
) -> None:
    page = open_page()
    for said in ("hello", "second", "third"):
        say(page, said)
        sees(page, f"You said: {said}")
    expect(page.get_by_role("button", name="Change")).to_have_count(3)
    page.get_by_role("button", name="Change").nth(1).click()
    page.get_by_label("Say instead").fill(f"send {name}")
    page.get_by_role("button", name="Say it").click()
    expect(card(page)).to_have_count(1, timeout=PATIENCE)
    expect(page.get_by_role("button", name="Change")).to_have_count(0)
    button(page, "Approve").click()
    sees(page, "Outcome: sent to")
    expect(page.get_by_role("main")).not_to_contain_text("third")
    page.reload()
    sees(page, "Outcome: sent to")
    expect(page.get_by_role("main")).not_to_contain_text("third")
    kept = [it["content"] for it in target.thread(thread)["messages"] if it["role"] == "user"]
    assert kept == ["hello", f"send {name}"]


def change(page: Page, place: int, text: str) -> None:
    """Say something else in place of a message."""
    page.get_by_role("button", name="Change").nth(place).click()
    page.get_by_label("Say instead").fill(text)
    page.get_by_role("button", name="Say it").click()


def people_said(target: Target, thread: str) -> list[str]:
    """What people have said, as the bridge has it."""
    messages = target.settled(thread)["messages"]
    return [message["content"] for message in messages if message["role"] == "user"]


@pytest.mark.feature("assistant-ui", "rewrite")
@pytest.mark.parametrize("reloaded", [False, True])
def test_a_change_takes_an_approved_call_back_and_the_first_message_too(
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
    change(page, 1, "something else")
    sees(page, "You said: something else")
    expect(page.get_by_role("main")).not_to_contain_text("Outcome: sent to")
    assert people_said(target, thread) == ["hello", "something else"]
    change(page, 0, "good evening")
    sees(page, "You said: good evening")
    expect(page.get_by_role("main")).not_to_contain_text("something else")
    assert people_said(target, thread) == ["good evening"]
    expect(page.get_by_role("alert")).to_have_count(0)
    assert len(target.executed(name)) == 1


@pytest.mark.parametrize("wish", ["change", "another answer"])
def test_a_page_that_is_behind_takes_nothing_back_and_shows_the_thread(
    open_page: OpenPage, target: Target, name: str, thread: str, wish: str
) -> None:
    ahead = open_page()
    say(ahead, "hello")
    sees(ahead, "You said: hello")
    behind = open_page()
    sees(behind, "You said: hello")
    say(ahead, f"send {name}")
    button(ahead, "Approve").click()
    sees(ahead, "Outcome: sent to")
    if wish == "change":
        change(behind, 0, "something else")
        sees(behind, "You said: something else")
    else:
        behind.get_by_role("button", name="Another answer").click()
    sees(behind, "Outcome: sent to")
    expect(behind.get_by_role("alert")).to_contain_text("Nothing was taken back.")
    added = ["something else"] if wish == "change" else []
    assert people_said(target, thread) == ["hello", f"send {name}", *added]
    assert len(target.executed(name)) == 1


def test_another_answer_takes_an_approved_call_back(
    open_page: OpenPage, target: Target, name: str, thread: str
) -> None:
    page = open_page()
    say(page, "hello")
    sees(page, "You said: hello")
    say(page, f"send {name}")
    button(page, "Approve").click()
    sees(page, "Outcome: sent to")
    page.get_by_role("button", name="Another answer").click()
    # It is asked for again, as what was carried out is not in the conversation any more.
    button(page, "Cancel").click()
    sees(page, "Outcome: not sent.")
    expect(page.get_by_role("main")).not_to_contain_text("Outcome: sent to")
    expect(page.get_by_role("alert")).to_have_count(0)
    assert people_said(target, thread) == ["hello", f"send {name}"]
    assert target.statuses(thread) == ["resolved", "cancelled"]
    assert len(target.executed(name)) == 1


@pytest.mark.parametrize("place", [0, 1, None])
def test_a_tab_that_is_behind_takes_no_call_back_and_shows_the_thread(
    open_page: OpenPage, target: Target, name: str, thread: str, place: int | None
) -> None:
    ahead = open_page()
    for said in ("hello", "second"):
        say(ahead, said)
        sees(ahead, f"You said: {said}")
    behind = open_page()
    sees(behind, "You said: second")
    say(ahead, f"send {name}")
    button(ahead, "Approve").click()
    sees(ahead, "Outcome: sent to")
    if place is None:
        behind.get_by_role("button", name="Another answer").click()
    else:
        change(behind, place, "something else")
    notice = behind.get_by_role("alert")
    expect(notice).to_contain_text("had not heard of the newest messages. Nothing was taken back.")
    sees(behind, "Outcome: sent to")
    added = [] if place is None else ["something else"]
    assert people_said(target, thread) == ["hello", "second", f"send {name}", *added]
    assert len(target.executed(name)) == 1


def test_a_vote_that_is_not_enough_leaves_its_card(open_page: OpenPage, steady: str) -> None:
    page = open_page(url=steady.replace("/steady", "/careful"))
    say(page, "go on")
    expect(card(page)).to_contain_text("2 of these must agree: anybody.")
    button(page, "Approve").click()
    expect(card(page)).to_contain_text("1 of 2 so far: anonymous.", timeout=PATIENCE)
    button(page, "Deny").click()
    button(page, "Deny").click()
    sees(page, "Not published.")
    expect(card(page)).to_have_count(0)


@pytest.mark.feature("assistant-ui", "page tool")
def test_a_tool_of_the_page_runs_there_and_its_result_goes_on(
    open_page: OpenPage, name: str
) -> None:
    page = open_page()
    say(page, f"frontend {name}")
    sees(page, f"Shown: the page {name}.")
    assert page.title() == name


@pytest.mark.feature("assistant-ui", "stop")
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


@pytest.mark.feature("assistant-ui", "stop")
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


def test_with_an_error_the_card_is_gone(open_page: OpenPage, name: str) -> None:
    """What `refusals: ask` is for: should assistant-ui mend it, this test says so."""
    page = open_page(refusals="error", check="off")
    say(page, f"form {name}")
    fill(page, "Quarter", "Q2")
    button(card(page), "Send").click()
    expect(page.get_by_role("alert")).not_to_be_empty(timeout=PATIENCE)
    expect(card(page)).to_have_count(0)


def test_the_page_with_an_approval_fits_a_phone_and_the_dark(
    open_page: OpenPage, demo: int
) -> None:
    page = open_page(url=f"http://127.0.0.1:{demo}/agents/ops")
    say(page, "Clean up the users")
    expect(card(page)).to_contain_text("Delete 1234 rows of users?", timeout=PATIENCE)
    fits(page, "assistant-ui")
    page.set_viewport_size({"width": 780, "height": 620})
    sees(page, "There are 1234.")
    keep("assistant-ui-approval.png", page)
    button(page, "Approve").click()
    sees(page, "Done: 1234 rows of users deleted.")
