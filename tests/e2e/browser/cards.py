"""The cards of examples/cards, as somebody uses them on any page."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, Page

__all__ = ["button", "field", "fill"]


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
