"""What a page shows beside an enabled button that approves says which arguments would run."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from tests.e2e.browser.arguments import Shown, shown, twins
from tests.e2e.browser.inbox import InboxSite, inbox_site

SEED: Final = 20_260_101

Look = Callable[[dict[str, Any]], Shown | None]
"""Shows arguments; None where there is no button that approves, or none that is enabled."""


@pytest.fixture(scope="module")
def site(window: BrowserContext) -> Iterator[InboxSite]:
    browser = window.browser
    assert isinstance(browser, Browser)
    with inbox_site(browser) as site:
        yield site


def differ(look: Look, least: int) -> None:
    """Whatever differs looks different; so many of the pairs can be approved."""
    alike, approved, seen = [], 0, dict[str, Shown | None]()
    for pair in twins(SEED):
        texts = [json.dumps(args) for args in pair]
        for text in texts:
            if text not in seen:
                seen[text] = look(json.loads(text))
        one, other = (seen[text] for text in texts)
        approved += one is not None and other is not None
        if one == other and one is not None:
            alike.append((*(text[:200] for text in texts), one))
    assert alike == [], "\n".join(map(str, alike))
    assert approved >= least


@pytest.mark.parametrize("by", ["page", "link"])
def test_the_inbox_shows_what_would_run(site: InboxSite, by: str) -> None:
    page = site.person("ann" if by == "page" else None)
    link = {"actor": "ann"} if by == "link" else {}

    def look(args: dict[str, Any]) -> Shown | None:
        thread = site.ask("caller", text=json.dumps(args))
        page.goto(site.path("caller", thread, **link))
        button = page.get_by_role("button", name="Approve", exact=True)
        return shown(page.locator("article")) if enabled(button) else None

    differ(look, 50)


def test_the_inboxs_list_shows_what_would_run(site: InboxSite) -> None:
    texts = {json.dumps(args) for pair in twins(SEED) for args in pair}
    paths = {text: site.path("caller", site.ask("caller", text=text)) for text in texts}
    page, rows = site.person(), dict[str, Shown]()
    page.goto("/inbox?agent=caller")
    while True:
        for row in page.locator("li.row").all():
            address = row.locator("h2 a").get_attribute("href") or ""
            if row.get_by_role("checkbox").count():
                rows["/inbox/" + address.rpartition("/")[2]] = shown(row)
        more = page.get_by_role("link", name="Show the next ones")
        if not more.count():
            break
        more.click()
    expect(page.get_by_role("button", name="Approve them")).to_be_enabled()
    differ(lambda args: rows.get(paths[json.dumps(args)]), 20)


def enabled(button: Locator) -> bool:
    return button.count() > 0 and button.is_enabled()
