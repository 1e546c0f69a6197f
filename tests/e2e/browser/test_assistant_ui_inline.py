"""Approvals in the lines of their calls, by assistant-ui's own means."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.e2e.browser.cards import button, has_focus
from tests.e2e.browser.pages import OpenPage, card, say, sees
from tests.e2e.browser.pictures import fits
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


@pytest.mark.parametrize("anew", [False, True], ids=["as asked", "after a reload"])
def test_approvals_are_given_by_assistant_uis_own_means(
    open_page: OpenPage, target: Target, name: str, anew: bool
) -> None:
    page = open_page(approvals="inline")
    say(page, f"both {name}")
    asked = card(page)
    expect(asked).to_have_count(2, timeout=PATIENCE)
    if anew:
        page.reload()
    expect(asked.first).to_contain_text(f"Send an email to {name}-0@example.com?")
    expect(asked).to_have_count(2)
    # The cards beside the conversation are for what can't be asked there.
    expect(page.get_by_label("Waiting for you")).to_have_count(0)
    button(asked.first, "Approve").click()
    assert target.executed(name) == []
    button(asked.last, "Deny").click()
    sees(page, f"Outcomes: sent to {name}-0@example.com, not sent.")
    assert [line["to"] for line in target.executed(name)] == [f"{name}-0@example.com"]
    say(page, f"form {name}")
    form = page.get_by_label("Waiting for you")
    expect(form).to_contain_text(f"Which quarter for {name}?", timeout=PATIENCE)


def test_the_focus_goes_to_what_is_asked_on_to_the_next_and_back(
    open_page: OpenPage, target: Target, name: str
) -> None:
    page = open_page(approvals="inline")
    box = page.get_by_label("Message")
    box.fill(f"both {name}")
    box.press("Enter")
    first, second = (f"Send an email to {name}-{n}@example.com?" for n in (0, 1))
    expect(card(page)).to_have_count(2, timeout=PATIENCE)
    has_focus(page, first)
    expect(page.get_by_role("status")).to_have_text(f"{first} {second}")
    approve = page.get_by_role("button", name=f"Approve: {first}")
    # Its second click must not answer what comes in its place.
    approve.dblclick()
    expect(card(page)).to_have_count(1)
    has_focus(page, second)
    assert target.executed(name) == []
    page.get_by_role("button", name=f"Approve: {second}").click()
    sees(page, f"Outcomes: sent to {name}-0@example.com, sent to {name}-1@example.com.")
    expect(box).to_be_focused()
    assert len(target.executed(name)) == 2


def test_after_its_time_an_approval_can_not_be_given(open_page: OpenPage, name: str) -> None:
    page = open_page(approvals="inline")
    say(page, f"brief {name}")
    expect(card(page)).to_contain_text("Time is over", timeout=PATIENCE)
    for word in ("Approve", "Deny"):
        expect(button(page, word)).to_be_disabled()


def test_approvals_that_do_not_arrive_are_asked_again(
    open_page: OpenPage, target: Target, name: str
) -> None:
    page = open_page(approvals="inline")
    say(page, f"send {name}")
    expect(card(page)).to_have_count(1, timeout=PATIENCE)
    page.context.set_offline(True)
    button(page, "Approve").click()
    expect(card(page).get_by_role("alert")).to_contain_text("Nothing was sent: try again.")
    page.context.set_offline(False)
    page.route("**/agents/target", lambda route: route.abort())
    button(page, "Approve").click()
    notice = page.get_by_text(re.compile("The connection to the server broke off"))
    expect(notice).to_be_visible(timeout=PATIENCE)
    expect(card(page)).to_have_count(1)
    assert target.executed(name) == []
    page.unroute_all()
    button(page, "Approve").click()
    sees(page, f"Outcome: sent to {name}-0@example.com.")
    assert len(target.executed(name)) == 1


def test_approvals_in_lines_fit_a_phone_and_the_dark(open_page: OpenPage, name: str) -> None:
    page = open_page(approvals="inline")
    say(page, f"both {name}")
    expect(card(page)).to_have_count(2, timeout=PATIENCE)
    fits(page, "assistant-ui-inline")
    box = button(page, "Approve").first.bounding_box()
    assert box is not None and box["height"] >= 40


def test_a_page_that_is_behind_shows_what_it_is_asked(
    open_page: OpenPage, target: Target, name: str
) -> None:
    behind, ahead = open_page(), open_page()
    say(behind, "hello")
    sees(behind, "You said: hello")
    ahead.reload()
    say(ahead, f"send {name}")
    button(card(ahead), "Approve").click()
    sees(ahead, "Outcome: sent")
    say(behind, f"form {name}")
    expect(card(behind)).to_contain_text(f"Which quarter for {name}?", timeout=PATIENCE)
    sees(behind, "Outcome: sent")
    assert len(target.executed(name)) == 1
