"""Reloads and second tabs: what is open is shown, and one answer counts."""

import pytest

from tests.e2e.browser.conftest import OpenTab
from tests.e2e.browser.tab import Tab, Via, seen
from tests.e2e.target import Target

RUNTIME = pytest.mark.parametrize("via", ["rest", "single"])
"""An agent's own URL has no route that shows a page what was said before."""


def asked(tab: Tab, name: str) -> None:
    tab.is_asked(f"Send an email to {name}-0@example.com?")


@pytest.mark.feature("CopilotKit", "reload")
@RUNTIME
def test_after_a_reload_the_conversation_and_the_open_question_are_there(
    open_tab: OpenTab, via: Via, target: Target, name: str
) -> None:
    tab = open_tab(via)
    tab.say("hello")
    tab.sees("You said: hello")
    tab.say(f"send {name}")
    asked(tab, name)
    tab.reload()
    tab.sees("You said: hello")
    tab.sees(f"send {name}")
    asked(tab, name)
    tab.press("Approve")
    tab.sees("Outcome: sent")
    assert len(target.executed(name)) == 1
    tab.reload()
    tab.sees("Outcome: sent")
    tab.is_asked_nothing()


@pytest.mark.feature("CopilotKit", "follow")
@RUNTIME
def test_a_run_that_goes_on_during_a_reload_is_followed(
    open_tab: OpenTab, via: Via, target: Target
) -> None:
    tab = open_tab(via)
    tab.say("slow 80")
    tab.sees("0 1 2 3")
    tab.reload()
    tab.sees("0 1 2 3")
    tab.sees("77 78 79")
    said = target.settled(tab.thread)["messages"][-1]["content"]
    assert said == "".join(f"{number} " for number in range(80))


@RUNTIME
def test_two_tabs_that_approve_at_once_cause_one_execution(
    open_tab: OpenTab, via: Via, target: Target, name: str
) -> None:
    first = open_tab(via)
    first.say(f"send {name}")
    asked(first, name)
    second = open_tab(via, unaware=True)
    asked(second, name)
    first.press("Approve")
    second.press("Approve")
    for tab in (first, second):
        tab.sees("Outcome: sent")
        tab.is_asked_nothing()
        tab.say("hello")
        tab.sees("You said: hello")
    assert len(target.executed(name)) == 1


def test_two_tabs_that_answer_differently_get_the_first_answer(
    open_tab: OpenTab, via: Via, target: Target, name: str
) -> None:
    first = open_tab(via)
    first.say(f"send {name}")
    asked(first, name)
    second = open_tab(via, unaware=True)
    if via == "direct":
        second.say("hello?")
        second.is_told("INTERRUPT_PENDING")
    asked(second, name)
    first.press("Approve")
    first.sees("Outcome: sent")
    second.press("Cancel")
    second.is_told("INTERRUPT_ALREADY_ANSWERED")
    second.sees("Outcome: sent")
    second.is_asked_nothing()
    second.say("hello")
    second.sees("You said: hello")
    assert target.statuses(first.thread) == ["resolved"]
    assert len(target.executed(name)) == 1


def test_beside_the_chat_stands_what_waits_and_what_was_answered(
    open_tab: OpenTab, name: str
) -> None:
    first = open_tab()
    first.say(f"send {name}")
    asked(first, name)
    second = open_tab(thread=f"another-{name}")
    seen(second.panel("Pending"), f"{name}-0@example.com", "send_email", "target, just now")
    second.panel("Pending").get_by_role("button", name=name).click()
    asked(second, name)
    second.press("Approve")
    second.sees("Outcome: sent")
    for tab in (first, second):
        seen(tab.panel("History"), f"{name}-0@example.com", "open", "approved", "anonymous")
    seen(first.panel("Conversations"), f"send {name}now")


@pytest.mark.feature("CopilotKit", "elsewhere")
def test_a_tab_whose_question_was_answered_in_another_one_says_so_and_shows_the_outcome(
    open_tab: OpenTab, target: Target, name: str
) -> None:
    first = open_tab()
    first.say(f"send {name}")
    asked(first, name)
    second = open_tab()
    asked(second, name)
    first.press("Approve")
    first.sees("Outcome: sent")
    second.sees("Approved by anonymous elsewhere.")
    second.look()
    second.press("Show the outcome")
    second.sees("Outcome: sent")
    second.is_asked_nothing()
    assert len(target.executed(name)) == 1
