"""Edit and another answer in assistant-ui's page, another answer in TanStack AI's.

Over calls that only look they go back; what a page has not seen since its connection broke stays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.browser.pages import OpenPage, say, sees
from tests.e2e.browser.site import ASSISTANT_UI, TANSTACK_AI, build, served
from tests.e2e.target import Target
from tests.support.proxy import proxy_in_a_thread
from tests.support.waiting import wait_until

Wish = Callable[[Page, int], None]


def change(page: Page, place: int) -> None:
    """Say something else in place of a message."""
    page.get_by_role("button", name="Change").nth(place).click()
    page.get_by_label("Say instead").fill("something else")
    page.get_by_role("button", name="Say it").click()


def another_answer(page: Page, place: int) -> None:
    """Have the last answer made again, whatever the place."""
    page.get_by_role("button", name="Another answer").click()


# TanStack AI has no means to change a message.
WISHES = pytest.mark.parametrize(
    ("address", "wish"),
    [
        (ASSISTANT_UI, change),
        (ASSISTANT_UI, another_answer),
        (TANSTACK_AI, another_answer),
    ],
    ids=["assistant-ui-change", "assistant-ui-another-answer", "tanstack-ai-another-answer"],
    indirect=["address"],
)


@pytest.fixture(scope="module")
def address(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """The page's address."""
    folder: Path = tmp_path_factory.mktemp("page")
    build(request.param, folder)
    with served(folder) as address:
        yield address


def people_said(target: Target, thread: str) -> list[str]:
    """What people have said, as the bridge has it."""
    messages = target.settled(thread)["messages"]
    return [message["content"] for message in messages if message["role"] == "user"]


@WISHES
def test_over_calls_that_only_look_a_page_goes_back(
    open_page: OpenPage, counting: Target, name: str, thread: str, wish: Wish
) -> None:
    page = open_page(url=counting.url)
    say(page, "hello")
    sees(page, "You said: hello")
    say(page, f"look {name} 1")
    sees(page, f"Outcome of look {name}")
    wish(page, 1)
    if wish is change:
        sees(page, "You said: something else")
        expect(page.get_by_role("main")).not_to_contain_text(f"Outcome of look {name}")
    else:
        wait_until(lambda: len(counting.executed(name)) == 2)
    kept = "something else" if wish is change else f"look {name} 1"
    assert people_said(counting, thread) == ["hello", kept]
    expect(page.get_by_role("alert")).to_have_count(0)


@WISHES
def test_after_its_connection_broke_a_page_takes_no_call_back_that_it_has_not_seen(
    open_page: OpenPage, counting: Target, name: str, thread: str, wish: Wish
) -> None:
    with proxy_in_a_thread(counting.port) as (proxy, call):
        page = open_page(url=f"http://127.0.0.1:{proxy.port}/agents/target")
        say(page, "hello")
        sees(page, "You said: hello")
        say(page, f"pay {name} 40")
        sees(page, "0 1 2")
        call(proxy.cut)
        notice = page.get_by_role("alert")
        expect(notice).to_contain_text("The connection to the server broke off.")
        wait_until(lambda: len(counting.executed(name)) == 1)
        counting.settled(thread)
        wish(page, 0)
        expect(notice).to_contain_text("Nothing was taken back.")
        sees(page, f"Outcome of pay {name}")
        added = ["something else"] if wish is change else []
        assert people_said(counting, thread) == ["hello", f"pay {name} 40", *added]
        assert len(counting.executed(name)) == 1
