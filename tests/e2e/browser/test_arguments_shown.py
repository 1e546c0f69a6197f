"""What a page shows beside an enabled button that approves says which arguments would run."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, expect

from tests.e2e.browser.arguments import SEED, Json, Shown, seen, shown, twins
from tests.e2e.browser.cards import button
from tests.e2e.browser.conftest import OpenCase
from tests.e2e.browser.inbox import InboxSite, inbox_site
from tests.e2e.target import Target

Look = Callable[[Json], Shown | None]
"""Shows arguments; None where there is no button that approves, or none that is enabled."""


@pytest.fixture(scope="module")
def site(window: BrowserContext) -> Iterator[InboxSite]:
    browser = window.browser
    assert isinstance(browser, Browser)
    with inbox_site(browser) as site:
        yield site


def differ(look: Look, least: int, pairs: Iterable[tuple[Json, Json]] | None = None) -> None:
    """Whatever differs looks different; so many of the pairs can be approved."""
    alike, approved, looks = [], 0, dict[str, Shown | None]()
    for pair in twins(SEED) if pairs is None else pairs:
        texts = [json.dumps(args) for args in pair]
        for text in texts:
            if text not in looks:
                looks[text] = look(json.loads(text))
        one, other = (looks[text] for text in texts)
        approved += one is not None and other is not None
        if one == other and one is not None:
            alike.append((*(text[:200] for text in texts), one))
    assert alike == [], "\n".join(map(str, alike))
    assert approved >= least


@pytest.mark.parametrize("by", ["page", "link"])
def test_the_inbox_shows_what_would_run(site: InboxSite, by: str) -> None:
    page = site.person("ann" if by == "page" else None)
    link = {"actor": "ann"} if by == "link" else {}

    def look(args: Json) -> Shown | None:
        thread = site.ask("caller", text=json.dumps(args))
        page.goto(site.path("caller", thread, **link))
        approve = page.get_by_role("button", name="Approve", exact=True)
        return shown(page.locator("article")) if enabled(approve) else None

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


def test_the_cards_show_what_would_run(open_case: OpenCase, gallery: str) -> None:
    page, count = open_case("approval"), 0
    # Else a card appears little by little.
    page.emulate_media(reduced_motion="reduce")

    def look(args: Json) -> Shown | None:
        nonlocal count
        count += 1
        page.goto(f"{gallery}?n={count}#{urlencode({'args': json.dumps(args)})}")
        card = page.get_by_role("article")
        expect(card).to_be_visible()
        return shown(card) if enabled(button(card, "Approve")) else None

    differ(look, 50)


@pytest.fixture(scope="module")
def playground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("target")
    with Target(folder, module="tests.e2e.browser.playground_target") as target:
        yield f"http://127.0.0.1:{target.port}/playground"


def test_the_playground_shows_what_would_run(window: BrowserContext, playground: str) -> None:
    """As far as it can: it is a page of others, which marks nothing, and reads as browsers do."""
    numbers, pairs = dict[str, int](), []
    for number, pair in enumerate(twins(SEED)):
        one, other = (seen(json.dumps(args, ensure_ascii=False)) for args in pair)
        if (
            number % 2 == 0
            and one != other
            and not any(str(2**60)[:9] in it for it in (one, other))
        ):
            numbers |= {json.dumps(args): 2 * number + place for place, args in enumerate(pair)}
            pairs.append(pair)
    page = window.new_page()

    def look(args: Json) -> Shown | None:
        page.goto(playground)
        page.get_by_role("button", name="Agent target").click()
        page.get_by_role("button", name="/agents/caller").first.click()
        page.get_by_placeholder("Message the agent").fill(str(numbers[json.dumps(args)]))
        page.get_by_role("button", name="Send message").click()
        resolve = page.get_by_role("button", name="Resolve interrupt")
        expect(resolve).to_be_enabled()
        return shown(page.locator("[data-entry=tool] .agui-card-b"))

    differ(look, 6, pairs)
    page.close()


def enabled(approve: Locator) -> bool:
    return approve.count() > 0 and approve.is_enabled()
