"""Edit and regenerate over a tool call that was approved and carried out, page by page."""

from __future__ import annotations

import time
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from tests.e2e.browser.conftest import OpenTab
from tests.e2e.browser.tab import PATIENCE, Tab, Via
from tests.e2e.target import Target

RUNTIME = pytest.mark.parametrize("via", ["rest", "single"])
"""An agent's own URL has no route that shows a page what was said before."""

BEHIND = "The page had not heard of the newest messages. Nothing was taken back."


def said(target: Target, thread: str) -> list[str]:
    """What people have said on a thread."""
    messages = target.settled(thread)["messages"]
    return [message["content"] for message in messages if message["role"] == "user"]


def sent(tab: Tab, target: Target, name: str) -> None:
    """Have the agent send an email in this tab."""
    tab.say(f"send {name}")
    tab.is_asked("Send an email")
    tab.press("Approve")
    tab.sees("Outcome: sent")
    assert len(target.executed(name)) == 1


@pytest.mark.feature("CopilotKit", "rewrite")
def test_copilotkit_edits_and_regenerates_over_a_call(tab: Tab, target: Target, name: str) -> None:
    tab.say("hello")
    tab.sees("You said: hello")
    sent(tab, target, name)
    tab.regenerate()
    # It is asked for again, as what was carried out before is not in the conversation any more.
    tab.is_asked("Send an email")
    tab.sees_no("Outcome: sent")
    tab.press("Cancel")
    tab.sees("Outcome: not sent.")
    tab.rewrite(f"send {name}", "something else")
    tab.sees("You said: something else")
    tab.sees_no("Outcome: not sent.")
    assert said(target, tab.thread) == ["hello", "something else"]
    tab.rewrite("hello", "good evening")
    tab.sees("You said: good evening")
    tab.sees_no("something else")
    assert said(target, tab.thread) == ["good evening"]
    assert len(target.executed(name)) == 1


@RUNTIME
@pytest.mark.parametrize("wish", ["edit", "regenerate"])
def test_a_tab_of_copilotkit_that_is_behind_takes_nothing_back_and_shows_the_thread(
    open_tab: OpenTab, via: Via, wish: str, target: Target, name: str
) -> None:
    ahead = open_tab(via)
    ahead.say("hello")
    ahead.sees("You said: hello")
    behind = open_tab(via)
    behind.sees("You said: hello")
    sent(ahead, target, name)
    if wish == "edit":
        behind.rewrite("hello", "something else")
        behind.sees("You said: something else")
    else:
        behind.regenerate()
    behind.is_told(BEHIND)
    behind.sees("Outcome: sent")
    added = ["something else"] if wish == "edit" else []
    assert said(target, ahead.thread) == ["hello", f"send {name}", *added]
    assert len(target.executed(name)) == 1


@RUNTIME
@pytest.mark.parametrize("wish", ["edit", "regenerate"])
def test_over_calls_that_only_look_copilotkit_goes_back(
    open_tab: OpenTab, via: Via, wish: str, steady: str
) -> None:
    tab = open_tab(via, port=urlsplit(steady).port or 0, agent="looking")
    tab.say("hello")
    tab.sees("Seen for hello.")
    tab.say("look 1")
    tab.sees("Seen for look 1.")
    if wish == "edit":
        tab.rewrite("look 1", "something else")
        tab.sees("Seen for something else.")
        tab.sees_no("Seen for look 1.")
    else:
        tab.regenerate()
        tab.sees("Seen for look 1.")
    kept = ["hello", "something else" if wish == "edit" else "look 1"]
    assert people_said(steady, tab.thread) == kept


def settled(steady: str, thread: str) -> list[dict[str, Any]]:
    """The thread's messages, once nothing runs."""
    url = steady.replace("/steady", f"/looking/threads/{thread}")
    deadline = time.monotonic() + PATIENCE / 1000
    while (found := httpx.get(url).json()).get("status") != "idle":
        assert time.monotonic() < deadline, found
        time.sleep(0.05)
    messages: list[dict[str, Any]] = found["messages"]
    return messages


def people_said(steady: str, thread: str) -> list[str]:
    """What people have said to the agent that only looks."""
    return [m["content"] for m in settled(steady, thread) if m["role"] == "user"]
