"""HttpAgent goes back: over calls that only look, beside another page, after its connection broke.

It sends no sign of what it had. So nothing that was carried out leaves the conversation.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.e2e.clients import OpenPage, Page, resolved
from tests.e2e.target import Target
from tests.support.waiting import wait_until

Wish = Callable[[Page, int], None]


def edit(page: Page, place: int) -> None:
    """Say something else in place of a message."""
    page.rewrite(page.messages[:place])
    page.say("something else")


def regenerate(page: Page, place: int) -> None:
    """Have the answer to a message made again."""
    page.rewrite(page.messages[: place + 1])
    page.rerun()


@pytest.fixture(params=[edit, regenerate], ids=lambda wish: wish.__name__)
def wish(request: pytest.FixtureRequest) -> Wish:
    """What somebody wants."""
    found: Wish = request.param
    return found


def said(target: Target, thread: str) -> list[str]:
    """What people have said."""
    messages = target.settled(thread)["messages"]
    return [message["content"] for message in messages if message["role"] == "user"]


def results(page: Page) -> list[str]:
    """The results that a page has."""
    return [message["content"] for message in page.messages if message["role"] == "tool"]


def test_over_calls_that_only_look_a_page_goes_back(
    open_page: OpenPage, steady: Target, name: str, wish: Wish
) -> None:
    page = open_page(steady)
    page.say("hello")
    page.say(f"look {name} 1")
    wish(page, 2)
    kept, looked = ("something else", 1) if wish is edit else (f"look {name} 1", 2)
    assert said(steady, page.thread) == ["hello", kept]
    assert len(steady.executed(name)) == looked
    assert results(page) == ["done"] * (looked - 1)
    page.agrees()


def test_a_page_that_is_behind_takes_no_approved_call_back_and_has_the_thread_then(
    open_page: OpenPage, target: Target, name: str, wish: Wish
) -> None:
    ahead, behind = open_page(), open_page()
    ahead.say("hello")
    ahead.say("second")
    behind.take(behind.begin_to_come_back())
    ahead.say(f"send {name}")
    ahead.answer(resolved(ahead.pending[0], {"approved": True}))
    wish(behind, 2)
    added = ["something else"] if wish is edit else []
    assert said(target, behind.thread) == ["hello", "second", f"send {name}", *added]
    assert results(behind) == [f"sent to {name}-0@example.com"]
    assert len(target.executed(name)) == 1
    behind.agrees()


def test_after_its_connection_broke_a_page_takes_no_call_back_that_it_has_not_seen(
    open_page: OpenPage, steady: Target, name: str, wish: Wish
) -> None:
    page = open_page(steady)
    page.say("hello")
    page.begin_say(f"pay {name} 40").until("TEXT_MESSAGE_CONTENT", 3)
    page.abort()
    wait_until(lambda: len(steady.executed(name)) == 1)
    steady.settled(page.thread)
    assert results(page) == []
    wish(page, 2)
    added = ["something else"] if wish is edit else []
    assert said(steady, page.thread) == ["hello", f"pay {name} 40", *added]
    assert results(page) == ["done"]
    assert len(steady.executed(name)) == 1
    page.agrees()
