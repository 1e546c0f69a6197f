"""What assistant-ui's and TanStack AI's pages have in common: failures, and small screens."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.sync_api import BrowserContext, Page, Route, expect

from tests.e2e.browser.axe import axe_faults
from tests.e2e.browser.cards import button, field, fill
from tests.e2e.browser.pages import OpenPage, card, say, sees
from tests.e2e.browser.site import ASSISTANT_UI, TANSTACK_AI, build, served
from tests.e2e.browser.tab import PATIENCE
from tests.e2e.target import Target

HERE = {"access-control-allow-origin": "*"}
UNKNOWN = "What came of it is not known."


@pytest.fixture(scope="module", params=[ASSISTANT_UI, TANSTACK_AI], ids=lambda page: page.name)
def address(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """The page's address."""
    folder: Path = tmp_path_factory.mktemp("page")
    build(request.param, folder)
    with served(folder) as address:
        yield address


def fail_posts(page: Page, status: int) -> None:
    """From now on a proxy answers what the page sends, and lets pass what it reads."""

    def answer(route: Route) -> None:
        if route.request.method == "POST":
            route.fulfill(status=status, body="<html>Bad gateway</html>", headers=HERE)
        else:
            route.continue_()

    page.route("**/agents/**", answer)


def cut_before_the_result(route: Route) -> None:
    """Let the server carry out all of it, and the page hear only of the beginning."""
    if route.request.method != "POST":
        return route.continue_()
    answer = route.fetch()
    heard = answer.text().partition("TOOL_CALL_RESULT")[0].rpartition("data:")[0]
    route.fulfill(status=200, headers=answer.headers, body=heard)


def test_an_approved_call_whose_result_is_lost_can_not_be_skipped(
    open_page: OpenPage, target: Target, name: str
) -> None:
    page = open_page()
    say(page, f"send {name}")
    expect(card(page)).to_have_count(1, timeout=PATIENCE)
    page.route("**/agents/target", cut_before_the_result)
    button(page, "Approve").click()
    sees(page, UNKNOWN)
    expect(page.get_by_role("button", name="Skip")).to_have_count(0)
    assert len(target.executed(name)) == 1
    page.unroute_all()
    page.get_by_role("main").get_by_role("button", name="Reload").click()
    sees(page, f"Outcome: sent to {name}-0@example.com.")
    assert len(target.executed(name)) == 1


def test_a_call_during_which_the_server_dies_can_not_be_skipped(
    window: BrowserContext, address: str, tmp_path: Path, name: str, thread: str
) -> None:
    page = window.new_page()
    with Target(tmp_path) as server:
        page.goto(f"{address}?{urlencode({'url': server.url, 'thread': thread})}")
        say(page, f"crash {name}")
        button(page, "Approve").click()
        told = page.get_by_role("alert")
        expect(told).to_contain_text("The connection to the server broke off.", timeout=PATIENCE)
        expect(page.get_by_role("button", name="Skip")).to_have_count(0)
        assert len(server.executed(name)) == 1
    page.close()


def test_an_answer_that_a_proxy_turns_away_leaves_its_card_and_what_was_typed(
    open_page: OpenPage, target: Target, name: str, thread: str
) -> None:
    page = open_page()
    say(page, f"form {name}")
    fill(page, "Quarter", "Q2")
    fill(page, "Year", "2026")
    fail_posts(page, 502)
    for _ in range(2):
        button(card(page), "Send").click()
        expect(card(page).get_by_role("alert")).to_contain_text("The server answered HTTP 502.")
        expect(page.get_by_role("alert")).to_have_count(1)
        expect(page.locator("body")).not_to_contain_text("Bad gateway")
        expect(field(page, "Year")).to_have_value("2026")
    assert target.statuses(thread) == ["open"]
    page.unroute_all()
    button(card(page), "Send").click()
    sees(page, "Quarter: Q2 2026.")
    expect(card(page)).to_have_count(0)


def test_nothing_is_sent_while_a_proxy_answers_in_place_of_the_server(
    open_page: OpenPage, name: str
) -> None:
    page = open_page()
    say(page, f"send {name}")
    expect(card(page)).to_have_count(1, timeout=PATIENCE)
    posts: list[str] = []
    page.on("request", lambda it: posts.append(it.url) if it.method == "POST" else None)
    page.route("**/agents/**", lambda route: route.fulfill(status=503, headers=HERE))
    button(page, "Approve").click()
    expect(card(page).get_by_role("alert")).to_contain_text("Nothing was sent: try again.")
    assert posts == []


def test_edited_arguments_stay_edited_when_their_connection_breaks(
    open_page: OpenPage, target: Target, name: str
) -> None:
    page = open_page()
    say(page, f"send {name}")
    button(page, "Edit").click()
    fill(page, "Body", "with care")
    page.route("**/agents/target", lambda route: route.abort())
    button(page, "Approve with changes").click()
    expect(card(page).get_by_role("alert")).to_contain_text(
        "The connection to the server broke off."
    )
    expect(field(page, "Body")).to_have_value("with care")
    page.unroute_all()
    button(page, "Approve with changes").click()
    sees(page, f"Outcome: sent to {name}-0@example.com.")
    assert [line["body"] for line in target.executed(name)] == ["with care"]


@pytest.mark.parametrize("status", [500, None], ids=["an error", "no server"])
def test_a_conversation_that_can_not_be_read_is_not_taken_for_a_new_one(
    open_page: OpenPage, name: str, status: int | None
) -> None:
    page = open_page()
    say(page, f"send {name}")
    expect(card(page)).to_have_count(1, timeout=PATIENCE)

    def fail(route: Route) -> None:
        if status:
            route.fulfill(status=status, headers=HERE)
        else:
            route.abort()

    page.route("**/agents/**", fail)
    page.reload()
    notice = page.get_by_role("alert")
    expect(notice).to_contain_text("The conversation can't be read.", timeout=PATIENCE)
    page.unroute_all()
    notice.get_by_role("button", name="Reload").click()
    expect(card(page)).to_have_count(1, timeout=PATIENCE)
    expect(notice).to_have_count(0)


def test_a_long_conversation_on_a_phone_is_for_everybody(open_page: OpenPage) -> None:
    page = open_page()
    page.set_viewport_size({"width": 360, "height": 640})
    say(page, "word " * 800)
    sees(page, "You said: word")
    assert axe_faults(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_the_button_that_skips_a_tool_is_large_enough_for_a_finger(
    window: BrowserContext, address: str, target: Target, thread: str
) -> None:
    assert window.browser is not None
    phone = window.browser.new_context(
        viewport={"width": 360, "height": 640}, has_touch=True, is_mobile=True
    )
    page = phone.new_page()
    page.goto(f"{address}?{urlencode({'url': target.url, 'thread': thread, 'tools': 'off'})}")
    say(page, "frontend news")
    skip = page.get_by_role("button", name="Skip show_page")
    expect(skip).to_be_visible(timeout=PATIENCE)
    box = skip.bounding_box()
    assert box is not None and box["height"] >= 40
    assert axe_faults(page) == []
    phone.close()
