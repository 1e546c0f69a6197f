"""What the cards' style sheet does to a page and to what is written in it."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, expect

from tests.e2e.browser.cards import field
from tests.e2e.browser.conftest import OpenCase

AHEAD = """(it, [one, other]) => {
  const texts = document.createTreeWalker(it, NodeFilter.SHOW_TEXT);
  const places = {};
  while (texts.nextNode()) {
    const { data } = texts.currentNode;
    for (const part of [one, other]) {
      const at = data.indexOf(part);
      if (at < 0) continue;
      const range = document.createRange();
      range.setStart(texts.currentNode, at);
      range.setEnd(texts.currentNode, at + part.length);
      places[part] ??= range.getBoundingClientRect().left;
    }
  }
  return places[one] < places[other];
}"""


def stand(within: Locator, one: str, other: str) -> bool:
    """Whether a part of a text stands to the left of another one."""
    return bool(within.evaluate(AHEAD, [one, other]))


def test_what_is_announced_makes_no_page_longer(open_case: OpenCase) -> None:
    page = open_case("approval")
    expect(page.locator("[data-agc-live]")).to_have_text("Send an email to ann@example.com?")
    page.set_viewport_size({"width": 1280, "height": 700})
    page.add_style_tag(content="body { margin: 0; padding: 0 } main { height: 700px }")
    page.add_style_tag(content="main { overflow: auto }")
    assert page.evaluate("document.documentElement.scrollHeight") == 700


def test_an_example_in_a_field_is_read_in_the_dark(open_case: OpenCase) -> None:
    page = open_case('&schema={"type":"string","examples":["Growth"]}')
    page.emulate_media(color_scheme="dark")
    shown = field(page, "Your answer")
    colour = shown.evaluate("it => getComputedStyle(it, '::placeholder').color")
    assert colour == "rgb(169, 180, 192)"
    page.emulate_media(color_scheme=None)


@pytest.mark.parametrize("direction", ["ltr", "rtl"])
def test_what_is_written_in_either_direction_is_read_on_any_page(
    open_case: OpenCase, direction: str
) -> None:
    page = open_case("arabic")
    page.evaluate("direction => { document.documentElement.dir = direction }", direction)
    arabic, english = page.get_by_role("article").all()
    assert stand(page.locator(".agc-count"), "questions", "done")
    assert stand(english.get_by_text("2 of these"), "2 of these", "cleo.")
    assert stand(arabic.get_by_role("heading"), "؟", "ما")
    assert stand(arabic.locator("label"), ":", "الاسم")
    assert stand(arabic.get_by_text("اكتب"), ").", "اكتب")
    english.get_by_role("button", name="Cancel").click()
    expect(page.locator(".agc-done")).to_be_visible()
    assert stand(page.locator(".agc-done > span"), "Run", "?")
