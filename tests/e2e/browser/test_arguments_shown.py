"""What a page shows beside an enabled button that approves says which arguments would run."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, expect

from tests.e2e.browser.arguments import SEED, Json, Shown, shown, twins
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


@pytest.fixture
def empty_site(window: BrowserContext) -> Iterator[InboxSite]:
    """One whose list has room for what a test asks."""
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
    numbers = {
        json.dumps(args): str(2 * number + place)
        for number, pair in enumerate(twins(SEED))
        for place, args in enumerate(pair)
    }
    page = window.new_page()

    def look(args: Json) -> Shown | None:
        page.goto(playground)
        page.get_by_role("button", name="Agent target").click()
        page.get_by_role("button", name="/agents/caller").first.click()
        page.get_by_placeholder("Message the agent").fill(numbers[json.dumps(args)])
        page.get_by_role("button", name="Send message").click()
        expect(page.get_by_role("button", name="Resolve interrupt")).to_be_enabled()
        # What the page makes of the arguments itself is not what would run.
        expect(page.get_by_text("Arguments", exact=True)).to_have_count(1)
        expect(page.get_by_text("Arguments", exact=True)).to_be_hidden()
        return shown(page.locator("[data-entry=interrupt] .agui-card-b"))

    differ(look, 28, [*twins(SEED)][::2])
    page.get_by_label("Answer for interrupt").fill('{"approved": true}')
    page.get_by_role("button", name="Resolve interrupt").click()
    expect(page.get_by_text("Called.").first).to_be_visible()
    expect(page.get_by_text("Arguments", exact=True).first).to_be_visible()
    page.close()


ORDER = """region => {
  const found = document.createTreeWalker(region, NodeFilter.SHOW_TEXT), places = [];
  for (let node; (node = found.nextNode()); )
    for (const word of ["אב", "גד", "12345"]) {
      const at = node.data.indexOf(word);
      if (at < 0) continue;
      const range = document.createRange();
      range.setStart(node, at);
      range.setEnd(node, at + word.length);
      places.push([range.getBoundingClientRect().left, word]);
    }
  return places.sort(([one], [other]) => one - other).map(([, word]) => word);
}"""


def test_words_that_are_read_from_right_to_left_stand_in_their_order(
    empty_site: InboxSite,
) -> None:
    site, words = empty_site, ["אב", "גד", 12345]
    path = site.path("caller", site.ask("caller", text=json.dumps({"words": words})))
    site.ask("caller", text="{}")
    page = site.person()
    page.goto(path)
    assert page.locator("article pre").evaluate(ORDER) == list(map(str, words))
    page.goto("/inbox?agent=caller")
    listed = page.locator("li.row", has_text="12345")
    assert listed.locator("dd").evaluate(ORDER) == list(map(str, words))


def enabled(approve: Locator) -> bool:
    return approve.count() > 0 and approve.is_enabled()
