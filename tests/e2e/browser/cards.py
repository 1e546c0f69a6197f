"""The cards of examples/cards, as somebody uses them on any page."""

from __future__ import annotations

import json
import re
from typing import Any

from playwright.sync_api import Locator, Page

__all__ = ["all_sent", "button", "field", "fill", "focused", "has_focus", "payload", "sent"]


def button(within: Page | Locator, name: str) -> Locator:
    """The buttons whose name begins so; the rest says to which question each belongs."""
    named = re.compile(rf"^{re.escape(name)}(:|$)")
    return within.get_by_role("button", name=named)


def field(within: Page | Locator, label: str) -> Locator:
    """The fields with a label, whatever else has the word in its name."""
    named = re.compile(rf"^{re.escape(label)}( \(.*\))?$", re.IGNORECASE)
    return within.locator("input, select, textarea").and_(within.get_by_label(named))


def fill(within: Page | Locator, label: str, value: str) -> None:
    """Fill in a field, or choose in it, whatever it is."""
    found = field(within, label).first
    if found.evaluate("element => element.tagName") == "SELECT":
        found.select_option(value)
    else:
        found.fill(value)


def sent(page: Page, times: int = 1) -> Any:
    """The answers that were sent last, once some were sent so many times."""
    told = page.get_by_test_id("sent")
    page.wait_for_function(
        "([told, times]) => JSON.parse(told.textContent).length >= times",
        arg=[told.element_handle(), times],
    )
    found = all_sent(page)
    assert len(found) == times
    return found[-1]


def all_sent(page: Page) -> list[Any]:
    """All answers that were sent until now, whether more will be or not."""
    found: list[Any] = json.loads(page.get_by_test_id("sent").inner_text())
    return found


def payload(page: Page, times: int = 1) -> Any:
    """What the only answer says that was sent last, once some were sent so many times."""
    [answer] = sent(page, times)
    return answer["payload"]


def focused(page: Page) -> str:
    """What has the focus: the first line of its name or its text."""
    return str(
        page.evaluate(
            """() => {
              const it = document.activeElement;
              const title = document.getElementById(it.getAttribute('aria-labelledby'));
              const label = it.labels?.[0]?.textContent;
              return it.ariaLabel ?? title?.textContent ?? label ?? it.tagName;
            }"""
        )
    )


def has_focus(page: Page, name: str) -> None:
    """Wait until something has the focus."""
    page.wait_for_function("() => document.activeElement !== document.body")
    for _ in range(40):
        if focused(page) == name:
            return
        page.wait_for_timeout(25)
    assert focused(page) == name
