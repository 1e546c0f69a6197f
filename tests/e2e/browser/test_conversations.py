"""Messages at the wrong time, stops, and second thoughts, in each way to reach the bridge."""

from collections.abc import Iterator

import pytest

from tests.e2e.browser.conftest import OpenTab
from tests.e2e.browser.tab import Tab, Via
from tests.e2e.target import Target

WHOLE = "".join(f"{number} " for number in range(200))
"""What `slow 200` says if nobody stops it, after ten seconds."""


@pytest.fixture(scope="module")
def hasty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    """A server whose questions expire after a second and a half."""
    with Target(tmp_path_factory.mktemp("hasty"), expires_in=1.5) as server:
        yield server


def said(target: Target, tab: Tab) -> list[str]:
    """What the bridge has of a conversation."""
    messages = target.settled(tab.thread)["messages"]
    return [message["content"] for message in messages if message.get("content")]


def test_a_message_typed_while_a_question_is_open_goes_with_the_answer(
    tab: Tab, target: Target, name: str
) -> None:
    tab.say(f"send {name}")
    tab.is_asked("Send an email")
    tab.say("and hurry")
    tab.is_told("Not sent yet")
    tab.is_asked("Send an email")
    tab.press("Approve")
    tab.sees("Outcome: sent")
    tab.sees("and hurry")
    assert "and hurry" in said(target, tab)
    assert len(target.executed(name)) == 1


@pytest.mark.feature("CopilotKit", "stop")
def test_what_was_said_before_a_stop_stays_and_the_chat_goes_on(tab: Tab, target: Target) -> None:
    tab.say("slow 200")
    tab.sees("0 1 2 3")
    tab.stop()
    text, partial = said(target, tab)
    assert text == "slow 200"
    assert WHOLE.startswith(partial) and len(partial) < len(WHOLE)
    tab.sees("0 1 2 3")
    tab.say("hello")
    tab.sees("You said: hello")
    assert tab.conversation[1].startswith("0 1 2 3")


def test_an_expired_question_is_refused_and_the_chat_goes_on(
    open_tab: OpenTab, via: Via, hasty: Target, name: str
) -> None:
    tab = open_tab(via, port=hasty.port, unaware=True)
    tab.say(f"send {name}")
    tab.is_asked("Send an email")
    hasty.wait_for_expiry(tab.thread)
    tab.press("Approve")
    tab.is_told("INTERRUPT_EXPIRED")
    tab.is_asked_nothing()
    tab.say("hello")
    tab.sees("You said: hello")
    assert hasty.executed(name) == []
    assert hasty.statuses(tab.thread) == ["expired"]


@pytest.mark.feature("CopilotKit", "expired")
def test_a_question_says_when_its_time_is_over_and_goes_away(
    open_tab: OpenTab, hasty: Target, name: str
) -> None:
    tab = open_tab(port=hasty.port)
    tab.say(f"send {name}")
    tab.sees("The time to answer is over.")
    tab.press("Show the outcome")
    tab.is_asked_nothing()
    tab.say("hello")
    tab.sees("You said: hello")
    assert hasty.executed(name) == []


@pytest.mark.feature("CopilotKit", "rewrite")
def test_an_edited_message_takes_the_place_of_the_old_one(tab: Tab, target: Target) -> None:
    for text in ("one", "two", "three"):
        tab.say(text)
        tab.sees(f"You said: {text}")
    tab.rewrite("two", "2")
    tab.sees("You said: 2")
    tab.sees_no("You said: three")
    assert said(target, tab) == ["one", "You said: one", "2", "You said: 2"]


def test_a_regenerated_answer_takes_the_place_of_the_old_one(tab: Tab, target: Target) -> None:
    for text in ("one", "two"):
        tab.say(text)
        tab.sees(f"You said: {text}")
    before = target.settled(tab.thread)["messages"][-1]["id"]
    tab.regenerate()
    tab.page.wait_for_function(
        "old => !document.querySelector(`[data-message-id='${old}']`)", arg=before
    )
    tab.sees("You said: two")
    assert said(target, tab) == ["one", "You said: one", "two", "You said: two"]
    assert target.settled(tab.thread)["messages"][-1]["id"] != before
