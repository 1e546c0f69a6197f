"""assistant-ui's page: a refusal while a question is open leaves the question where it is."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final
from urllib.parse import urlencode

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from tests.e2e.browser.conftest import ARTEFACTS
from tests.e2e.browser.site import ASSISTANT_UI, build, served
from tests.e2e.target import Target

PATIENCE: Final = 15_000.0
"""Milliseconds until something that ought to be seen counts as missing."""

OpenPage = Callable[..., Page]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The page's address."""
    folder: Path = tmp_path_factory.mktemp("assistant-ui")
    build(ASSISTANT_UI, folder)
    with served(folder) as address:
        yield address


@pytest.fixture
def thread() -> str:
    """A thread of its own."""
    return f"thread-{secrets.token_hex(4)}"


@pytest.fixture
def open_page(
    request: pytest.FixtureRequest,
    window: BrowserContext,
    address: str,
    target: Target,
    thread: str,
) -> Iterator[OpenPage]:
    """Opens the page on the test's thread; nothing may break in it that no test is about."""
    broken: list[str] = []
    pages: list[Page] = []

    def open_page(**choices: str) -> Page:
        page = window.new_page()
        pages.append(page)
        page.set_default_timeout(PATIENCE)
        page.on("pageerror", lambda error: broken.append(str(error)))
        page.goto(f"{address}?{urlencode({'url': target.url, 'thread': thread, **choices})}")
        return page

    yield open_page
    ARTEFACTS.mkdir(parents=True, exist_ok=True)
    for number, page in enumerate(pages, 1):
        name = request.node.name.removeprefix("test_")[:80]
        page.screenshot(path=ARTEFACTS / f"assistant-ui-{name}-{number}.png")
        page.close()
    assert broken == []


def say(page: Page, text: str) -> None:
    """Type a message and send it."""
    page.get_by_label("Message").fill(text)
    page.get_by_role("button", name="Send").click()


def answer(page: Page, **fields: str) -> None:
    """Fill in the card and send it."""
    for label, value in fields.items():
        card(page).get_by_label(label).fill(value)
    card(page).get_by_role("button", name="Answer").click()


def card(page: Page) -> Locator:
    """What is asked."""
    return page.get_by_role("article")


def sees(page: Page, text: str) -> None:
    """Wait until the conversation shows a text."""
    expect(page.get_by_role("main")).to_contain_text(text, timeout=PATIENCE)


def test_after_a_wrong_value_the_card_stays_and_the_corrected_answer_is_carried_out(
    open_page: OpenPage, target: Target, name: str, thread: str
) -> None:
    page = open_page(refusals="ask")
    say(page, f"send {name}")
    expect(card(page).get_by_role("paragraph")).to_have_text(
        f"Send an email to {name}-0@example.com?"
    )
    answer(page, approved="true", editedArgs='{"to": 5, "body": "b"}')
    expect(card(page)).to_contain_text("INVALID_RESUME_PAYLOAD", timeout=PATIENCE)
    expect(card(page)).to_contain_text(f"Send an email to {name}-0@example.com?")
    assert target.executed(name) == []
    assert target.statuses(thread) == ["open"]

    corrected = f'{{"to": "{name}-9@example.com", "body": "corrected"}}'
    answer(page, approved="true", editedArgs=corrected)
    sees(page, f"Outcome: sent to {name}-9@example.com.")
    expect(card(page)).to_have_count(0)
    assert [line["body"] for line in target.executed(name)] == ["corrected"]
    say(page, "hello")
    sees(page, "You said: hello")


def test_a_form_that_is_filled_in_wrongly_twice_can_still_be_corrected(
    open_page: OpenPage, target: Target, name: str
) -> None:
    page = open_page(refusals="ask")
    say(page, f"form {name}")
    for year in ("soon", "never"):
        answer(page, quarter="Q2", year=year)
        expect(card(page).get_by_role("strong")).to_have_text("INVALID_RESUME_PAYLOAD")
        expect(card(page)).to_contain_text(f"Which quarter for {name}?")
    answer(page, quarter="Q2", year="2026")
    sees(page, "Quarter: Q2 2026.")
    expect(card(page)).to_have_count(0)


def test_a_fresh_page_on_a_thread_with_an_open_question_gets_the_card_and_answers_it(
    open_page: OpenPage, target: Target, name: str
) -> None:
    asking = open_page(refusals="ask")
    say(asking, f"send {name}")
    expect(card(asking)).to_have_count(1)

    fresh = open_page(refusals="ask")
    say(fresh, "are you there?")
    expect(card(fresh)).to_contain_text(f"Send an email to {name}-0@example.com?", timeout=PATIENCE)
    expect(card(fresh)).to_contain_text("INTERRUPT_PENDING")
    answer(fresh, approved="true")
    sees(fresh, f"Outcome: sent to {name}-0@example.com.")
    expect(card(fresh)).to_have_count(0)
    assert len(target.executed(name)) == 1


def test_with_an_error_the_card_is_gone(open_page: OpenPage, target: Target, name: str) -> None:
    """What `refusals: ask` is for: should assistant-ui mend it, this test says so."""
    page = open_page()
    say(page, f"form {name}")
    answer(page, quarter="Q2", year="soon")
    expect(page.get_by_role("alert")).not_to_be_empty(timeout=PATIENCE)
    expect(card(page)).to_have_count(0)
