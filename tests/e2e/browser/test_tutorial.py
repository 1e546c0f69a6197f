"""The page of the tutorial's third step, in Chromium."""

from pathlib import Path

from playwright.sync_api import BrowserContext, expect

from tests.docs.reader import Reader, blocks

DELETED = "1234 rows of users deleted"


def test_a_question_survives_a_reload_and_two_tabs_delete_once(
    window: BrowserContext, tmp_path: Path
) -> None:
    reader = Reader(tmp_path)
    (agents,) = blocks("2-approval", "python")
    (app,) = blocks("3-page", "python")
    (html,) = blocks("3-page", "html")
    (serve,) = blocks("3-page", "sh")
    for name, text in {"agents.py": agents, "app.py": app, "page.html": html}.items():
        reader.save(name, text)

    with reader.starts(serve):
        page = window.new_page()
        page.goto(reader.url)
        page.get_by_role("button", name="Send").click()
        expect(page.get_by_text("Delete 1234 users?")).to_be_visible()
        page.reload()
        other = window.new_page()
        other.goto(page.url)
        for tab in (page, other):
            expect(tab.get_by_text("I will delete the old users.")).to_be_visible()
            expect(tab.get_by_role("button", name="Approve")).to_be_visible()
        for tab in (page, other):
            tab.get_by_role("button", name="Approve").click()
            expect(tab.get_by_text(DELETED)).to_be_visible()
        page.reload()
        expect(page.get_by_text(DELETED)).to_have_count(1)
        expect(page.get_by_role("button", name="Approve")).to_have_count(0)
        page.close()
        other.close()
