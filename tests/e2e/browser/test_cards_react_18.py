"""The cards with React 18, which the package says it works with: its own tests have React 19."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import BrowserContext, expect

from tests.e2e.browser.cards import button, fill, has_focus, payload
from tests.e2e.browser.conftest import OpenCase
from tests.e2e.browser.site import CARDS, build, served

MODULES: Final = Path(__file__).parents[1] / "node_modules"
ASKED: Final = "Send an email to ann@example.com?"


@pytest.fixture(scope="module")
def gallery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The gallery's address, with React 18."""
    folder = tmp_path_factory.mktemp("cards")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REACT", str(MODULES))
        build(CARDS, folder, "gallery")
    [script] = folder.glob("assets/*.js")
    assert '"18.3.1"' in script.read_text(encoding="utf-8").replace("`", '"')
    with served(folder) as address:
        yield address


def test_an_approval_is_edited_and_the_focus_comes_and_goes(open_case: OpenCase) -> None:
    page = open_case("approval", "later")
    page.get_by_label("Message").press("Enter")
    has_focus(page, ASKED)
    button(page, "Edit").click()
    has_focus(page, "To")
    fill(page, "Body", "It is late.")
    button(page, "Approve with changes").click()
    has_focus(page, "Message")
    assert payload(page)["editedArgs"]["body"] == "It is late."


def test_a_form_shows_its_faults_and_sends_its_values(open_case: OpenCase) -> None:
    page = open_case("form")
    button(page, "Send").click()
    expect(page.get_by_text("Quarter is missing.")).to_be_visible()
    fill(page, "Quarter", "Q2")
    fill(page, "Year", "2026")
    button(page, "Send").click()
    assert payload(page) == {"quarter": "Q2", "year": 2026}


def test_several_are_answered_and_one_was_decided_elsewhere(open_case: OpenCase) -> None:
    page = open_case("several")
    button(page, "Approve").first.click()
    expect(page.get_by_text("1 of 3 done")).to_be_visible()
    page = open_case("decided")
    expect(page.get_by_text("Approved by bob elsewhere.", exact=True)).to_be_visible()


def test_arguments_that_change_are_read_again_before_they_are_approved(open_case: OpenCase) -> None:
    page = open_case("revised")
    button(page, "Approve").focus()
    page.evaluate("dispatchEvent(new Event('meanwhile'))")
    button(page, "I have read them").click()
    has_focus(page, "Run it?")
    button(page, "Approve").click()
    assert payload(page)["editedArgs"] == {"path": "/srv/b"}


def test_a_card_that_can_not_be_drawn_leaves_the_others(
    window: BrowserContext, gallery: str
) -> None:
    page = window.new_page()
    page.goto(f"{gallery}?case=failing")
    expect(page.get_by_text("There is no card for this question.")).to_be_visible()
    expect(button(page, "Cancel")).to_have_count(2)
    page.close()
