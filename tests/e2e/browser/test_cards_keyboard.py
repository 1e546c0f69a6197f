"""Whatever a card asks, real keys alone answer it; the focus goes to the card and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.browser.cards import all_sent, button, field, fill, focused, has_focus, payload, sent
from tests.e2e.browser.conftest import OpenCase

ASKED: Final = "Send an email to ann@example.com?"
BOB: Final = "Send an email to bob@example.com?"
QUARTER: Final = "Which quarter shall the report cover?"
REPORT: Final = "What shall the report cover?"
KEYS: Final = {"Enter", "Space", "ControlOrMeta+a"}
MOST: Final = 40
"""Presses of Tab that lead through any card."""

EDITED: Final = {"to": "bob@example.com", "body": "The report is ready.", "urgent": True}
WHOLE: Final = {
    "title": "Growth",
    "quarter": "Q4",
    "year": 2026,
    "share": 0.5,
    "urgent": True,
    "due": "2026-11-11",
    "owner": {"name": "Ann"},
    "readers": ["board@example.com", "bob@example.com"],
    "parts": ["costs"],
    "mode": "draft",
    "limit": "as many as fit",
    "note": None,
    "extra": [1],
}

Way = tuple[tuple[str, ...], ...]
"""What has the focus in turn, each with the keys that are pressed or typed there."""

WAYS: Final[dict[str, tuple[str, str, Way, Any]]] = {
    "approve": ("approval", ASKED, ((f"Approve: {ASKED}", "Enter"),), {"approved": True}),
    "approve with Space": (
        "approval",
        ASKED,
        ((f"Approve: {ASKED}", "Space"),),
        {"approved": True},
    ),
    "edit": (
        "approval",
        ASKED,
        (
            (f"Edit: {ASKED}", "Enter"),
            ("To", "ControlOrMeta+a", "bob@example.com"),
            ("Urgent", "Space"),
            (f"Approve with changes: {ASKED}", "Enter"),
        ),
        {"approved": True, "editedArgs": EDITED},
    ),
    "deny with a reason": (
        "approval",
        ASKED,
        (
            (f"Deny: {ASKED}", "Enter"),
            ("Reason", "not today"),
            (f"Deny: {ASKED}", "Enter"),
        ),
        {"approved": False, "reason": "not today"},
    ),
    "deny after a look at the arguments": (
        "approval",
        ASKED,
        (
            (f"Edit: {ASKED}", "Enter"),
            (f"Back: {ASKED}", "Enter"),
            (f"Deny: {ASKED}", "Enter"),
            (f"Deny: {ASKED}", "Enter"),
        ),
        {"approved": False},
    ),
    "cancel": ("approval", ASKED, ((f"Cancel: {ASKED}", "Enter"),), None),
    "respond": (
        "respond",
        ASKED,
        (
            (f"Respond: {ASKED}", "Enter"),
            ("Result", "Sent by hand."),
            (f"Give the result: {ASKED}", "Enter"),
        ),
        {"approved": False, "respond": "Sent by hand."},
    ),
    "remember": (
        "remember",
        ASKED,
        (
            (f"Approve and…: {ASKED}", "Enter"),
            ("Remember", "thread"),
            (f"Approve: {ASKED}", "Enter"),
        ),
        {"approved": True, "remember": "thread"},
    ),
    "say yes": (
        "confirmation",
        "Send the newsletter to all 4,200 readers?",
        (("Yes: Send the newsletter to all 4,200 readers?", "Enter"),),
        {"confirm": True},
    ),
    "say no": ("boolean", "Is Ann here?", (("No: Is Ann here?", "Enter"),), False),
    "say a word": (
        "text",
        "What shall I call it?",
        (("Your answer", "Growth", "Enter"),),
        "Growth",
    ),
    "fill in": (
        "form",
        QUARTER,
        (("Quarter", "Q3"), ("Year", "2026"), (f"Send: {QUARTER}", "Enter")),
        {"quarter": "Q3", "year": 2026},
    ),
    "fill in anew what was refused": (
        "refused",
        QUARTER,
        (("Quarter", "Q2"), ("Year", "2026", "Enter")),
        {"quarter": "Q2", "year": 2026},
    ),
    "fill in fields of every kind": (
        "everything",
        REPORT,
        (
            ("Title", "Growth"),
            ("Quarter", "Q4"),
            ("Year", "2026"),
            ("Share", "0.5"),
            ("Urgent", "Space"),
            ("Due", "11112026"),
            ("Name", "Ann"),
            ("Add to Readers", "Enter"),
            ("Readers 2", "bob@example.com"),
            ("costs", "Space"),
            ("Kind of limit", "words"),
            ("Limit", "as many as fit"),
            ("Extra", "[1]"),
            (f"Send: {REPORT}", "Enter"),
        ),
        WHOLE,
    ),
    "dismiss what is over": ("expired", ASKED, ((f"Dismiss: {ASKED}", "Enter"),), None),
    "withdraw what others decide": ("forbidden", ASKED, ((f"Withdraw: {ASKED}", "Enter"),), None),
    "vote": ("rule", ASKED, ((f"Approve: {ASKED}", "Enter"),), {"approved": True}),
}
"""What is done: the case, what it asks, how, and the payload that is sent; None is a cancel."""


def name_of(page: Page) -> str:
    """What has the focus, as people read it."""
    return focused(page).removesuffix(" (optional)")


def go(page: Page, way: Way) -> None:
    """Press Tab until each has the focus in turn, and press or type its keys."""
    for name, *keys in way:
        passed = []
        for _ in range(MOST):
            if name_of(page) == name:
                break
            passed.append(name_of(page))
            page.keyboard.press("Tab")
        assert name_of(page) == name, passed
        for key in keys:
            if key in KEYS:
                page.keyboard.press(key)
            else:
                page.keyboard.type(key)


def begin(page: Page) -> None:
    """Have it asked, once the page is there."""
    expect(page.get_by_label("Message")).to_be_visible()
    page.keyboard.press("Tab")
    has_focus(page, "Message")
    page.keyboard.press("Enter")


def ask(page: Page, asked: str) -> None:
    """Have it asked, after which the card has the focus."""
    begin(page)
    has_focus(page, asked)


@pytest.mark.parametrize("done", WAYS)
def test_the_keyboard_alone_answers_and_the_focus_comes_and_goes(
    open_case: OpenCase, done: str
) -> None:
    case, asked, way, payload = WAYS[done]
    page = open_case(case, "later")
    ask(page, asked)
    go(page, way)
    answer: dict[str, Any] = {"interruptId": "one", "status": "cancelled"}
    if payload is not None:
        answer = {"interruptId": "one", "status": "resolved", "payload": payload}
    assert sent(page) == [answer]
    has_focus(page, "Message")
    expect(page.get_by_role("article")).to_have_count(0)


def test_the_keyboard_alone_answers_several_and_changes_an_answer(open_case: OpenCase) -> None:
    page = open_case("several", "later")
    ask(page, ASKED)
    go(page, ((f"Approve: {ASKED}", "Enter"),))
    has_focus(page, BOB)
    page.keyboard.press("Shift+Tab")
    go(page, ((f"Change: {ASKED}", "Enter"),))
    has_focus(page, ASKED)
    go(page, ((f"Deny: {ASKED}", "Enter"), (f"Deny: {ASKED}", "Enter")))
    has_focus(page, BOB)
    go(page, ((f"Approve: {BOB}", "Enter"),))
    has_focus(page, QUARTER)
    go(page, (("Quarter", "Q1"), ("Year", "2026", "Enter")))
    payloads = [answer["payload"] for answer in sent(page)]
    assert payloads == [{"approved": False}, {"approved": True}, {"quarter": "Q1", "year": 2026}]
    has_focus(page, "Message")


def test_the_keyboard_alone_puts_away_what_was_decided_elsewhere(open_case: OpenCase) -> None:
    page = open_case("decided", "later")
    begin(page)
    expect(page.get_by_text("Approved by bob elsewhere.", exact=True)).to_be_visible()
    go(page, ((f"Dismiss: {ASKED}", "Enter"),))
    assert sent(page) == [{"interruptId": "one", "status": "cancelled"}]
    has_focus(page, "Message")


def hold(page: Page, key: str) -> None:
    """Press a key for so long that it repeats, whatever has the focus by then."""
    for _ in range(4):
        page.keyboard.down(key)
        drawn(page)
    page.keyboard.up(key)


def drawn(page: Page) -> None:
    """Wait until what was done is to be seen, and the focus where it goes."""
    page.evaluate(
        "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
    )


def press_twice(page: Page, key: str) -> None:
    for _ in range(2):
        page.keyboard.press(key)
        drawn(page)


@pytest.mark.parametrize("pressed", [hold, press_twice])
@pytest.mark.parametrize(
    ("case", "name", "form"),
    [
        ("approval", "Edit", "To"),
        ("flag", "Approve and…", "Always"),
        ("respond", "Respond", "Result"),
        ("approval", "Deny", "Reason"),
    ],
)
def test_enter_held_or_pressed_twice_opens_a_form_and_decides_nothing(
    open_case: OpenCase, pressed: Callable[[Page, str], None], case: str, name: str, form: str
) -> None:
    page = open_case(case)
    button(page, name).focus()
    pressed(page, "Enter")
    assert name_of(page) == form
    assert all_sent(page) == []


def test_enter_in_the_field_of_an_approval_approves_nothing_and_its_button_does(
    open_case: OpenCase,
) -> None:
    page = open_case("approval")
    button(page, "Edit").click()
    field(page, "To").press("Enter")
    field(page, "Urgent").press("Enter")
    drawn(page)
    assert all_sent(page) == []
    button(page, "Approve with changes").press("Enter")
    assert payload(page)["approved"] is True


@pytest.mark.parametrize("pressed", [hold, press_twice])
def test_enter_held_or_pressed_twice_on_a_button_of_a_question_adds_one_and_sends_nothing(
    open_case: OpenCase, pressed: Callable[[Page, str], None]
) -> None:
    page = open_case("optional")
    fill(page, "Title", "Growth")
    button(page, "Add to Files").focus()
    pressed(page, "Enter")
    assert name_of(page) == "Files 1"
    button(page, "Remove Files 1").focus()
    pressed(page, "Enter")
    expect(page.get_by_label("Files 1", exact=True)).to_have_count(0)
    assert all_sent(page) == []


def test_enter_in_a_field_that_was_added_sends_once_it_is_meant(open_case: OpenCase) -> None:
    page = open_case("optional")
    fill(page, "Title", "Growth")
    button(page, "Add to Files").press("Enter")
    expect(page.get_by_label("Files 1", exact=True)).to_be_focused()
    page.keyboard.type("a.csv")
    page.wait_for_timeout(500)
    page.keyboard.press("Enter")
    assert payload(page) == {"title": "Growth", "files": ["a.csv"]}
