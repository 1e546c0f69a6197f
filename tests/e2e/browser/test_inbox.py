"""The inbox in Chromium with JavaScript off; pictures for the documentation are taken here."""

import os
from collections.abc import Iterator
from typing import Any, Final, Literal

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.e2e.browser.inbox import InboxSite, inbox_site
from tests.e2e.browser.pictures import keep

PHONE: Final = {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def served(window: BrowserContext) -> Iterator[InboxSite]:
    """A bridge with an inbox, which this file's tests share."""
    browser = window.browser
    assert isinstance(browser, Browser)
    with inbox_site(browser) as site:
        yield site


@pytest.fixture
def site(served: InboxSite) -> Iterator[InboxSite]:
    """The same; pages that break the rules they came with fail the test."""
    served.complaints.clear()
    yield served
    assert served.complaints == []


def press(page: Page, name: str) -> None:
    """Press a button."""
    page.get_by_role("button", name=name, exact=True).click()


def test_pictures(site: InboxSite) -> None:
    names = {"ops": "clean-up", "careful": "archive", "sure": "newsletter", "report": "growth"}
    for agent, name in names.items():
        site.ask(agent, actor="maria", thread=f"{name}-{os.getpid()}")
    site.ask("ops", actor="li", thread=f"more-{os.getpid()}")
    path = site.path("ops", f"clean-up-{os.getpid()}")
    for scheme in ("light", "dark"):
        desk = site.person("ann", color_scheme=scheme)
        desk.goto("/inbox")
        if scheme == "light":
            keep("inbox-list-light.png", desk)
        desk.goto(path)
        keep(f"inbox-question-{scheme}.png", desk)
    phone = site.person("ann", viewport=PHONE, color_scheme="dark")
    phone.goto(path)
    keep("inbox-phone.png", phone)


def test_a_question_is_found_and_approved(site: InboxSite) -> None:
    thread = site.ask("ops")
    page = site.person()
    page.goto("/inbox?agent=ops")
    page.get_by_role("link", name="delete_rows").last.click()
    press(page, "Approve")

    expect(page.get_by_role("status")).to_contain_text("Approved")
    expect(page.get_by_text("Done: 1234 rows of sessions deleted.")).to_be_visible()
    assert site.asked("ops", thread)["status"] == "resolved"


def test_the_keyboard_alone_changes_arguments_and_decides(site: InboxSite) -> None:
    thread = site.ask("ops")
    page = site.person()
    page.goto(site.path("ops", thread))
    reach(page, "summary", "Change the arguments")
    page.keyboard.press("Enter")
    reach(page, "input", "Limit")
    page.keyboard.press("Control+a")
    page.keyboard.type("7")
    page.keyboard.press("Enter")
    assert site.asked("ops", thread)["status"] == "open", "Enter in a field decides nothing"
    reach(page, "button", "Approve with these changes")
    page.keyboard.press("Enter")

    expect(page.get_by_role("status")).to_contain_text("Approved with changes")
    assert site.asked("ops", thread)["answer"]["payload"]["editedArgs"]["limit"] == 7


def reach(page: Page, kind: Literal["summary", "input", "button"], name: str) -> None:
    """Press Tab until something has the focus, which must be seen."""
    for _ in range(40):
        page.keyboard.press("Tab")
        focused = page.locator(f"{kind}:focus-visible")
        if focused.count():
            label = focused.evaluate("e => e.labels?.[0]?.innerText ?? e.innerText")
            if str(label).strip() == name:
                outline = focused.evaluate("e => getComputedStyle(e).outlineStyle")
                assert outline == "solid"
                return
    raise AssertionError(f"Tab never came to {name}")


def test_a_scanner_of_mails_decides_nothing_and_the_person_does(site: InboxSite) -> None:
    thread = site.ask("ops")
    link = site.path("ops", thread, actor="dan")
    site.scan(link)
    asked = site.asked("ops", thread)
    assert (asked["status"], len(asked["history"])) == ("open", 1)

    page = site.person(None)
    page.goto(link)
    assert site.faults(page) == []
    page.get_by_label("Reason").fill("We need them for the audit.")
    press(page, "Decline")

    expect(page.get_by_role("status")).to_contain_text("Declined")
    assert [e["actor"] for e in site.asked("ops", thread)["history"]].count("dan") >= 1
    page.goto(link)
    expect(page.get_by_role("status")).to_contain_text("Decided already")
    assert site.faults(page) == []


def test_who_comes_by_a_link_in_another_sites_page_keeps_what_is_open_elsewhere(
    site: InboxSite,
) -> None:
    one, two = site.ask("ops"), site.ask("ops")
    page = site.person()
    page.goto(site.path("ops", one))
    mail = page.context.new_page()
    mail.route(
        "http://mail.example/",
        lambda route: route.fulfill(
            content_type="text/html",
            body=f'<a href="{site.url}{site.path("ops", two)}">Decide</a>',
        ),
    )
    mail.goto("http://mail.example/")
    mail.get_by_role("link", name="Decide").click()
    press(mail, "Approve")
    expect(mail.get_by_role("status")).to_contain_text("Approved")
    press(page, "Approve")
    expect(page.get_by_role("status")).to_contain_text("Approved")


def test_every_field_of_a_form_and_what_is_wrong_with_it(site: InboxSite) -> None:
    thread = site.ask("report")
    page = site.person()
    page.goto(site.path("report", thread))
    assert site.faults(page) == []
    page.get_by_label("Year").fill("last")
    press(page, "Send the answer")

    expect(page).to_have_title("Error: What shall the report cover?")
    keep("inbox-form.png", page)
    expect(page.get_by_label("Year")).to_have_accessible_description(
        "At least 2000. Enter a number, such as 42 or 0.5."
    )
    assert site.faults(page) == []
    page.get_by_role("alert").get_by_role("link", name="Year").click()
    expect(page.get_by_label("Year")).to_be_focused()
    page.get_by_label("Year").fill("2026")
    page.get_by_label("Title").fill("Growth")
    page.get_by_label("Quarter").select_option("Q3")
    page.get_by_role("group", name="Urgent").get_by_label("No").check()
    press(page, "Send the answer")

    expect(page.get_by_role("status")).to_contain_text("The agent goes on with it.")
    assert site.asked("report", thread)["answer"]["payload"] == {
        "title": "Growth",
        "quarter": "Q3",
        "year": 2026,
        "urgent": False,
        "readers": ["board@example.com"],
    }


def test_votes_reasons_and_disabled_buttons(site: InboxSite) -> None:
    thread = site.ask("careful", actor="bob")
    path = site.path("careful", thread)
    for actor, why in (("ann", "Only role:dba"), ("bob", "bob asked for this")):
        page = site.person(actor)
        page.goto(path)
        approve = page.get_by_role("button", name="Approve", exact=True)
        expect(approve).to_be_disabled()
        assert why in str(page.locator("#why").text_content())
        assert site.faults(page) == []
    dan = site.person("dan")
    dan.goto(path)
    dan.get_by_text("Change the arguments").click()
    dan.get_by_label("Limit").fill("500")
    press(dan, "Approve with these changes")
    expect(dan.get_by_role("status")).to_contain_text("Vote recorded")
    assert site.faults(dan) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", ["desk", "phone"])
def test_what_is_remembered_is_listed_and_revoked_by_keyboard(
    site: InboxSite, scheme: Literal["light", "dark"], size: str
) -> None:
    window: dict[str, Any] = {"viewport": PHONE} if size == "phone" else {}
    page = site.person(color_scheme=scheme, **window)
    page.goto("/inbox/rules")
    expect(page.get_by_role("button", name="Revoke")).to_have_count(0)
    seen = [("none", site.faults(page), wide(page))]

    thread = site.ask("routine")
    page.goto(site.path("routine", thread))
    page.get_by_label("do not ask again").select_option("scope")
    seen.append(("offered", site.faults(page), wide(page)))
    press(page, "Approve")
    expect(page.get_by_role("status")).to_contain_text("Approved")
    again = site.asked("routine", site.ask("routine"))
    assert (again["status"], again["history"][1]["via"]) == ("resolved", "rule")

    page.goto("/inbox/rules")
    card = page.get_by_role("listitem").filter(has=page.get_by_role("button", name="Revoke"))
    expect(card).to_contain_text("everybody in team")
    expect(card).to_contain_text("Used 1")
    seen.append(("standing", site.faults(page), wide(page)))
    reach(page, "button", "Revoke")
    page.keyboard.press("Enter")

    expect(page.get_by_role("status")).to_contain_text("Revoked: people are asked again.")
    expect(page.get_by_role("button", name="Revoke")).to_have_count(0)
    assert site.asked("routine", site.ask("routine"))["status"] == "open"
    reach(page, "summary", page.locator("summary").last.inner_text())
    page.keyboard.press("Enter")
    expect(page.get_by_text("Revoked by").first).to_be_visible()
    seen.append(("ended", site.faults(page), wide(page)))
    assert [state for state in seen if state[1] or state[2]] == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", ["desk", "phone"])
def test_every_page_in_every_state_has_no_fault(
    site: InboxSite, scheme: Literal["light", "dark"], size: str
) -> None:
    window: dict[str, Any] = {"viewport": PHONE} if size == "phone" else {}
    page = site.person(color_scheme=scheme, **window)
    site.ask("sure")
    threads = [site.ask("ops") for _ in range(2)]
    path = site.path("ops", threads[0])
    seen = []
    for where in (
        "/inbox",
        "/inbox?refresh=1",
        "/inbox?tool=none",
        "/inbox/decided",
        "/inbox/none",
        "/d/none",
        path,
        site.path("ops", threads[0], actor="ann", expires_at=1.0),
    ):
        page.goto(where)
        seen.append((where, site.faults(page), wide(page)))
    page.goto(path)
    page.get_by_text("Change the arguments").click()
    seen.append(("open", site.faults(page), wide(page)))
    page.goto("/inbox?agent=sure")
    page.get_by_role("link", name="Shall I send the newsletter").last.click()
    seen.append(("sure", site.faults(page), wide(page)))
    press(page, "No")
    seen.append(("answered", site.faults(page), wide(page)))
    page.goto("/inbox?agent=ops")
    press(page, "Approve them")
    seen.append(("unticked", site.faults(page), wide(page)))
    for box in page.get_by_role("checkbox", name="delete_rows").all():
        box.check()
    press(page, "Decline them")
    seen.append(("several", site.faults(page), wide(page)))
    nobody = site.person(None, color_scheme=scheme, **window)
    nobody.goto("/inbox")
    seen.append(("nobody", site.faults(nobody), wide(nobody)))

    assert [state for state in seen if state[1] or state[2]] == []


def wide(page: Page) -> bool:
    """Whether a page must be scrolled sideways."""
    return bool(page.evaluate("document.documentElement.scrollWidth > innerWidth"))
