"""What the page adds to CopilotKit: a tool that nobody carries out, an answer that got lost."""

import re
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Route, expect

from tests.e2e.browser.conftest import OpenTab
from tests.e2e.browser.tab import PATIENCE, Tab, Via
from tests.e2e.target import Target


def test_a_tool_that_nobody_carries_out_is_told_and_skipped(tab: Tab, target: Target) -> None:
    tab.say("frontend one")
    notice = tab.page.get_by_role("alert")
    expect(notice).to_contain_text("Nobody carries out show_page", timeout=PATIENCE)
    notice.get_by_role("button", name="Skip").click()
    tab.sees("Shown: This page has no such tool; the call was not carried out..")
    expect(notice).to_have_count(0)
    target.settled(tab.thread)


@pytest.mark.feature("CopilotKit", "state")
def test_the_state_that_the_agent_keeps_is_shown(open_tab: OpenTab, via: Via, steady: str) -> None:
    tab = open_tab(via, port=urlsplit(steady).port or 0, agent="steady")
    tab.say("count")
    tab.is_asked("Was 80 enough?")
    expect(tab.page.get_by_label("State")).to_contain_text('"counted": 80')


def test_the_time_is_counted_by_the_bridges_clock(open_tab: OpenTab, steady: str) -> None:
    tab = open_tab(port=urlsplit(steady).port or 0, agent="timed")
    fast = "const now = Date.now; Date.now = () => now() + 600_000;"
    tab.page.add_init_script(fast)
    tab.reload()
    tab.say("hello")
    tab.is_asked("Go on?")
    expect(tab.page.get_by_role("timer")).to_have_text(re.compile(r"[45] min \d+ s left"))
    tab.press("Yes")
    tab.sees("Confirmed.")


def test_an_answer_that_does_not_arrive_leaves_its_card_with_the_error(
    tab: Tab, target: Target, name: str
) -> None:
    tab.say(f"send {name}")
    tab.is_asked(f"Send an email to {name}-0@example.com?")

    def fail(route: Route) -> None:
        if route.request.method == "POST":
            route.abort()
        else:
            route.continue_()

    for _ in range(2):
        tab.page.route("**/*", fail)
        tab.press("Approve")
        failure = tab.page.get_by_role("article").get_by_role("alert")
        expect(failure).to_contain_text("The answer did not arrive", timeout=PATIENCE)
        expect(tab.page.get_by_role("main")).not_to_contain_text('"approved":true')
        tab.page.unroute("**/*")
    tab.look()
    assert target.executed(name) == []
    tab.broken.clear()
    tab.press("Approve")
    tab.sees("Outcome: sent")
    tab.is_asked_nothing()
    assert len(target.executed(name)) == 1
