"""What the page adds to CopilotKit: a tool that nobody carries out, an answer that got lost."""

import re
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Route, expect

from tests.e2e.browser.cards import field
from tests.e2e.browser.conftest import OpenTab
from tests.e2e.browser.tab import PATIENCE, Tab, Via, seen
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


def fail_posts(tab: Tab, status: int | None = None) -> None:
    """From now on what the page sends does not arrive; what it reads does."""

    def fail(route: Route) -> None:
        if route.request.method != "POST":
            route.continue_()
        elif status is None:
            route.abort()
        else:
            headers = {"access-control-allow-origin": "*"}
            route.fulfill(status=status, body="<html>Bad gateway</html>", headers=headers)

    tab.page.route("**/*", fail)


def cut_before_the_result(route: Route) -> None:
    """Let the server carry out all of it, and the page hear only of the beginning."""
    if route.request.method != "POST" or '"resume"' not in (route.request.post_data or ""):
        return route.continue_()
    answer = route.fetch()
    heard = answer.text().partition("TOOL_CALL_RESULT")[0].rpartition("data:")[0]
    route.fulfill(status=200, headers=answer.headers, body=heard)


@pytest.mark.parametrize(
    ("status", "told"),
    [
        (None, "The connection to the server broke off."),
        (502, "The server answered HTTP 502."),
    ],
)
def test_an_answer_that_does_not_arrive_leaves_its_card_and_what_was_typed(
    tab: Tab, target: Target, name: str, status: int | None, told: str
) -> None:
    tab.say(f"send {name}")
    tab.is_asked(f"Send an email to {name}-0@example.com?")
    tab.press("Edit")
    tab.fill(Body="with care")
    for _ in range(2):
        fail_posts(tab, status)
        tab.press("Approve with changes")
        expect(tab.page.get_by_role("article").get_by_role("alert")).to_contain_text(
            told, timeout=PATIENCE
        )
        expect(tab.page.get_by_role("alert")).to_have_count(1)
        expect(tab.page.locator("body")).not_to_contain_text("Bad gateway")
        expect(field(tab.page, "Body")).to_have_value("with care")
        tab.page.unroute_all()
    tab.look()
    assert target.executed(name) == []
    tab.broken.clear()
    tab.press("Approve with changes")
    tab.sees("Outcome: sent")
    tab.is_asked_nothing()
    assert [line["body"] for line in target.executed(name)] == ["with care"]


def test_an_approved_call_whose_result_is_lost_can_not_be_skipped(
    open_tab: OpenTab, target: Target, name: str
) -> None:
    tab = open_tab()
    tab.say(f"send {name}")
    tab.is_asked("Send an email")
    tab.page.route("**/*", cut_before_the_result)
    tab.press("Approve")
    notice = tab.page.get_by_role("alert")
    expect(notice).to_contain_text(re.compile("not known here|broke off"), timeout=PATIENCE)
    expect(tab.page.get_by_role("button", name="Skip")).to_have_count(0)
    assert len(target.executed(name)) == 1
    tab.page.unroute_all()
    tab.broken.clear()
    notice.get_by_role("button", name="Reload").click()
    tab.sees("Outcome: sent")
    assert len(target.executed(name)) == 1


def test_a_message_that_is_turned_away_is_told_once_and_in_words(tab: Tab) -> None:
    tab.type("hello")
    fail_posts(tab, 503)
    tab.send()
    notice = tab.page.get_by_role("alert")
    expect(notice).to_contain_text("The server answered HTTP 503.", timeout=PATIENCE)
    expect(notice).to_have_count(1)
    expect(notice).not_to_contain_text(re.compile("agent_|Bad gateway"))
    tab.page.unroute_all()
    tab.broken.clear()


def test_a_change_of_a_database_that_tells_nothing_has_the_usual_card(
    open_tab: OpenTab, steady: str
) -> None:
    tab = open_tab(port=urlsplit(steady).port or 0, agent="terse")
    tab.say("go on")
    tab.is_asked("Change the database?")
    tab.reload()
    tab.is_asked("Change the database?")
    tab.press("Approve")
    tab.sees("Changed.")


def test_arguments_that_are_null_leave_the_card(open_tab: OpenTab, name: str) -> None:
    tab = open_tab()

    def forget(route: Route) -> None:
        if route.request.method != "POST":
            return route.continue_()
        answer = route.fetch()
        arguments = re.compile(r'("(?:arguments|delta)":)"\{(?:[^"\\]|\\.)*\}"')
        route.fulfill(response=answer, body=arguments.sub(r'\1"null"', answer.text()))

    tab.page.route("**/run", forget)
    tab.say(f"send {name}")
    tab.is_asked("Send an email")
    expect(tab.cards).not_to_contain_text("original")


def test_lists_keep_what_was_read_last_and_ask_no_more_than_once_at_a_time(
    open_tab: OpenTab, name: str
) -> None:
    tab = open_tab()
    tab.page.clock.install()
    tab.reload()
    tab.say(f"send {name}")
    pending = tab.panel("Pending")
    seen(pending, name)
    open_path = re.compile(r"/interrupts\?status=open$")
    tab.page.route(open_path, lambda route: route.fulfill(status=503))
    with tab.page.expect_response(open_path):
        tab.page.clock.run_for(2_000)
    with tab.page.expect_response(open_path):
        tab.page.clock.run_for(2_000)
    expect(pending).to_contain_text(name)
    tab.page.unroute(open_path)
    asked: list[Route] = []
    tab.page.route(open_path, lambda route: asked.append(route))
    with tab.page.expect_request(open_path):
        tab.page.clock.run_for(2_000)
    tab.page.clock.run_for(10_000)
    # By then a second request would have come.
    tab.page.evaluate("fetch(location.href)")
    assert len(asked) == 1
    asked[0].fulfill(json={"interrupts": []})
    tab.broken.clear()
