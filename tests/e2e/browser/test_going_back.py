"""Edit and regenerate over a tool call that was approved and carried out, page by page."""

from __future__ import annotations

import re

import pytest

from tests.e2e.browser.conftest import OpenTab
from tests.e2e.browser.tab import Tab, Via
from tests.e2e.target import Target
from tests.support.proxy import proxy_in_a_thread
from tests.support.waiting import wait_until

RUNTIME = pytest.mark.parametrize("via", ["rest", "single"])
"""An agent's own URL has no route that shows a page what was said before."""

BROKE_OFF = re.compile("network error|net::ERR_")
"""What a browser and CopilotKit say of a connection that broke."""

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
    open_tab: OpenTab, via: Via, wish: str, counting: Target, name: str
) -> None:
    tab = open_tab(via, port=counting.port)
    tab.say("hello")
    tab.sees("You said: hello")
    tab.say(f"look {name} 1")
    tab.sees(f"Outcome of look {name}")
    if wish == "edit":
        tab.rewrite(f"look {name} 1", "something else")
        tab.sees("You said: something else")
        tab.sees_no(f"Outcome of look {name}")
    else:
        tab.regenerate()
        wait_until(lambda: len(counting.executed(name)) == 2)
        tab.sees(f"Outcome of look {name}")
    kept = "something else" if wish == "edit" else f"look {name} 1"
    assert said(counting, tab.thread) == ["hello", kept]


@RUNTIME
@pytest.mark.parametrize("wish", ["edit", "regenerate"])
def test_after_its_connection_broke_copilotkit_takes_no_call_back_that_it_has_not_seen(
    open_tab: OpenTab, via: Via, wish: str, counting: Target, name: str
) -> None:
    with proxy_in_a_thread(counting.port) as (proxy, call):
        tab = open_tab(via, port=proxy.port)
        tab.say("hello")
        tab.sees("You said: hello")
        tab.say(f"pay {name} 40")
        tab.sees("0 1 2")
        tab.expected = BROKE_OFF  # Once the proxy is gone, the page's polls find nobody there.
        call(proxy.cut)
        tab.is_told("The connection to the server broke off.")
        wait_until(lambda: len(counting.executed(name)) == 1)
        counting.settled(tab.thread)
        if wish == "edit":
            tab.rewrite("hello", "something else")
            tab.sees("You said: something else")
        else:
            tab.regenerate()
        tab.is_told(BEHIND)
        tab.sees(f"Outcome of pay {name}")
        added = ["something else"] if wish == "edit" else []
        assert said(counting, tab.thread) == ["hello", f"pay {name} 40", *added]
        assert len(counting.executed(name)) == 1
    assert any("network error" in line for line in tab.complaints)
