"""The page before the demo, as its README says; pictures for the documentation are taken here."""

from playwright.sync_api import BrowserContext, Locator, expect

from tests.e2e.browser.conftest import OpenTab
from tests.e2e.browser.pictures import Film, fits, keep
from tests.e2e.browser.tab import Tab


def chat(tab: Tab, height: int) -> Locator:
    """The chat, in a window of that height."""
    tab.page.set_viewport_size({"width": 1280, "height": height})
    return tab.page.get_by_role("main")


def test_an_approval_with_edited_arguments(open_tab: OpenTab, demo: int) -> None:
    tab = open_tab(port=demo, agent="ops", thread="clean-up")
    film = Film(chat(tab, 760))
    tab.type("Clean up the users")
    film.take(1.5)
    tab.send()
    tab.is_asked("Delete 1234 rows of users?")
    film.take(3)
    tab.press("Edit")
    film.take(1.5)
    tab.fill(Limit="10")
    film.take(1.5)
    tab.page.keyboard.press("Tab")
    film.take(1)
    tab.press("Approve with changes")
    tab.sees("Done: 10 rows of users deleted.")
    tab.is_asked_nothing()
    film.take(4)
    film.keep("copilotkit-approval.webp")


def test_an_approval(open_tab: OpenTab, demo: int) -> None:
    tab = open_tab(port=demo, agent="ops", thread="approval")
    tab.say("Clean up the users")
    tab.is_asked("Delete 1234 rows of users?")
    keep("copilotkit-approval.png", chat(tab, 660))
    tab.press("Approve")
    tab.sees("Done: 1234 rows of users deleted.")


def test_a_form(open_tab: OpenTab, demo: int) -> None:
    tab = open_tab(port=demo, agent="report", thread="report")
    tab.say("Write the report")
    tab.fill(Quarter="Q3", Year="2026")
    keep("copilotkit-form.png", chat(tab, 580))
    tab.press("Send")
    tab.sees("The report for Q3 2026 is on its way.")


def test_two_approvals_at_once(open_tab: OpenTab, demo: int) -> None:
    tab = open_tab(port=demo, agent="mailer", thread="mails")
    tab.say("Write to both")
    tab.is_asked("Write to bob@example.com?", count=2)
    tab.press("Approve")
    tab.press("Deny")
    tab.press("Deny")
    tab.sees("sent to ann@example.com; not sent to bob@example.com.")


def test_a_reason_with_a_card_of_its_own(open_tab: OpenTab, demo: int) -> None:
    tab = open_tab(port=demo, agent="database", thread="users")
    tab.say("Remove inactive users")
    tab.is_asked("Restore from the backup snapshot-2025-01-23")
    keep("copilotkit-database.png", chat(tab, 740))
    tab.fill(**{"Rows per batch": "20"})
    tab.press("Approve the dry run")
    tab.sees("Dry run: 42 rows would go, 20 at a time.")
    tab.say("Now do it")
    tab.page.get_by_label("Dry run", exact=True).uncheck()
    tab.press("Change the database")
    tab.sees("42 rows are gone, 10 at a time.")


def test_the_first_page_fits_a_phone_and_the_dark(window: BrowserContext, demo: int) -> None:
    page = window.new_page()
    page.goto(f"http://127.0.0.1:{demo}/")
    expect(page.get_by_role("heading", name="Agents")).to_be_visible()
    expect(page.get_by_text(f"http://127.0.0.1:{demo}/agents/ops", exact=True)).to_be_visible()
    fits(page, "first-page")
    page.get_by_role("link", name="Inbox").click()
    expect(page.get_by_role("link", name="Waiting")).to_be_visible()
    page.close()
