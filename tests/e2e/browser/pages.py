"""A page on one thread, as somebody uses it: a box for messages, a conversation, cards."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Locator, Page, expect

from tests.e2e.browser.tab import PATIENCE

__all__ = ["OpenPage", "card", "say", "sees"]

OpenPage = Callable[..., Page]
"""Opens the page on the test's thread; takes parameters of its address."""


def say(page: Page, text: str) -> None:
    """Type a message and send it, once one can be sent."""
    page.get_by_label("Message").fill(text)
    page.get_by_role("button", name="Send", exact=True).click()


def card(page: Page) -> Locator:
    """What is asked."""
    return page.get_by_role("article")


def sees(page: Page, text: str) -> None:
    """Wait until the conversation shows a text."""
    expect(page.get_by_role("main")).to_contain_text(text, timeout=PATIENCE)
