"""The page before the demo, as its README says; pictures for the documentation are taken here."""

from typing import Final

from tests.e2e.browser.conftest import ARTEFACTS, OpenTab
from tests.e2e.browser.tab import Tab

PICTURES: Final = ARTEFACTS.parent / "pictures"
"""`make pictures` copies them to docs/images."""

LARGEST: Final = 200_000


def keep(tab: Tab, name: str, height: int) -> None:
    """Keep what the chat looks like in a window of that height."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    tab.page.set_viewport_size({"width": 1280, "height": height})
    tab.page.get_by_role("main").screenshot(path=PICTURES / name)
    assert (PICTURES / name).stat().st_size < LARGEST


def test_an_approval_with_edited_arguments(open_tab: OpenTab, demo: int) -> None:
    tab = open_tab(port=demo, agent="ops", thread="clean-up")
    tab.say("Clean up the users")
    tab.is_asked("Delete 1234 rows of users?")
    keep(tab, "copilotkit-approval.png", 660)
    tab.press("Edit")
    tab.fill(Limit="10")
    tab.press("Approve with changes")
    tab.sees("Done: 10 rows of users deleted.")


def test_a_form(open_tab: OpenTab, demo: int) -> None:
    tab = open_tab(port=demo, agent="report", thread="report")
    tab.say("Write the report")
    tab.fill(Quarter="Q3", Year="2026")
    keep(tab, "copilotkit-form.png", 580)
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
    keep(tab, "copilotkit-database.png", 740)
    tab.fill(**{"Rows per batch": "20"})
    tab.press("Approve the dry run")
    tab.sees("Dry run: 42 rows would go, 20 at a time.")
    tab.say("Now do it")
    tab.page.get_by_label("Dry run", exact=True).uncheck()
    tab.press("Change the database")
    tab.sees("42 rows are gone, 10 at a time.")
