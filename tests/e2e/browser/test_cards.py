"""The package of cards: every state of its gallery, for eyes, screen readers and keyboards."""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from typing import Any, Final

import pytest
from playwright.sync_api import expect

from tests.e2e.browser.axe import axe_faults
from tests.e2e.browser.cards import button, field, focused, has_focus, payload, sent
from tests.e2e.browser.conftest import ARTEFACTS, OpenCase
from tests.e2e.browser.site import CARDS, run_script

LARGEST: Final = 17 * 1024
"""Bytes of the package's script and style sheet, gzipped, without React."""

CASES: Final = (
    *("preview", "command", "cut", "later"),
    *("approval", "respond", "remember", "confirmation", "told", "boolean", "text", "form"),
    "everything",
    *("several", "expiring", "expired", "rule", "forbidden", "decided", "refused"),
    # What no page foresees.
    *("circle", "lists", "broken", "optional", "choices", "declinable", "unsure", "code", "long"),
    *("deep", "unfit", "nested", "twins", "together", "patient", "strange", "agreed", "unknown"),
)
SIZES: Final = {"phone": (390, 780), "desktop": (1280, 800), "narrow": (320, 640)}


def test_the_package_is_small(tmp_path: Path) -> None:
    run_script(CARDS, "build", "--", "--outDir", str(tmp_path))
    sizes = {
        path.name: len(gzip.compress(path.read_bytes(), 9))
        for path in tmp_path.iterdir()
        if path.suffix in (".js", ".css")
    }
    assert set(sizes) == {"cards.js", "cards.css"}
    assert sum(sizes.values()) <= LARGEST, sizes


@pytest.mark.parametrize("case", CASES)
def test_axe_finds_nothing_and_nothing_is_cut_off(open_case: OpenCase, case: str) -> None:
    page = open_case(case)
    ARTEFACTS.mkdir(parents=True, exist_ok=True)
    expect(page.locator(".agc-card").first).to_be_visible()
    expect(page.locator(".agc-card").first).to_have_css("border-radius", "12px")
    page.emulate_media(reduced_motion="reduce")
    for size, (width, height) in SIZES.items():
        page.set_viewport_size({"width": width, "height": height})
        assert page.evaluate("document.documentElement.scrollWidth") <= width, size
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            # Each size and each scheme once: colours do not depend on the width.
            if (size, scheme) in {("phone", "light"), ("desktop", "dark")}:
                assert axe_faults(page) == [], (size, scheme)
            if size != "narrow":
                page.screenshot(
                    path=ARTEFACTS / f"cards-{case}-{size}-{scheme}.png", full_page=True
                )
    page.emulate_media(color_scheme=None, reduced_motion=None)


def test_cards_heed_the_scheme_and_whoever_wants_no_motion(open_case: OpenCase) -> None:
    page = open_case("approval")
    shown = page.get_by_role("article")
    page.emulate_media(color_scheme="light", reduced_motion="no-preference")
    expect(shown).to_have_css("background-color", "rgb(255, 255, 255)")
    expect(shown).to_have_css("animation-name", "agc-in")
    page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    expect(shown).to_have_css("background-color", "rgb(29, 34, 40)")
    expect(shown).to_have_css("animation-name", "none")
    assert page.evaluate("document.getAnimations().length") == 0


def test_letters_of_twice_the_size_fit_a_narrow_phone(open_case: OpenCase) -> None:
    page = open_case("approval")
    page.set_viewport_size({"width": 320, "height": 640})
    shown = page.get_by_role("article")
    page.add_style_tag(content="html { font-size: 200% }")
    expect(shown.get_by_role("heading")).to_have_css("font-size", "34px")
    for press in ("Edit", "Back", "Deny"):
        button(page, press).click()
        assert shown.evaluate("it => it.scrollWidth <= it.clientWidth"), press


def test_whoever_hears_the_card_hears_who_may_answer_and_why_not(open_case: OpenCase) -> None:
    page = open_case("forbidden")
    expect(page.get_by_role("article")).to_have_accessible_description(
        "2 of these must agree: any dba, bob. Not ann. "
        "You have asked for this: somebody else must answer."
    )
    page = open_case("refused")
    expect(page.get_by_role("article")).to_have_accessible_description(
        "INVALID_RESUME_PAYLOAD year: is missing."
    )


def test_whoever_sees_only_colours_of_their_own_sees_the_edges(open_case: OpenCase) -> None:
    page = open_case("approval")
    page.emulate_media(forced_colors="active", color_scheme="dark")
    for shown in (page.get_by_role("article"), button(page, "Approve"), button(page, "Cancel")):
        expect(shown).to_have_css("border-top-style", "solid")
        expect(shown).to_have_css("border-top-color", "rgb(255, 255, 255)")
    page.emulate_media(forced_colors="none", color_scheme=None)


def test_what_is_printed_has_all_arguments(open_case: OpenCase) -> None:
    page = open_case("long")
    page.emulate_media(media="print")
    shown = page.locator(".agc-args")
    assert shown.evaluate("it => it.scrollHeight <= it.clientHeight")
    page.emulate_media(media=None)


def test_the_focus_goes_to_the_card_and_back_and_the_card_is_announced(open_case: OpenCase) -> None:
    page = open_case("approval", "later")
    page.get_by_label("Message").press("Enter")
    has_focus(page, "Send an email to ann@example.com?")
    said = page.locator("[data-agc-live]")
    expect(said).to_have_text("Send an email to ann@example.com?")
    expect(said).to_have_attribute("role", "status")
    button(page, "Edit").click()
    has_focus(page, "To")
    button(page, "Back").click()
    has_focus(page, "Edit: Send an email to ann@example.com?")
    button(page, "Deny").click()
    has_focus(page, "Reason (optional)")
    button(page, "Back").click()
    has_focus(page, "Deny: Send an email to ann@example.com?")
    button(page, "Approve").click()
    has_focus(page, "Message")
    assert payload(page) == {"approved": True}


def test_who_is_writing_keeps_the_focus(open_case: OpenCase) -> None:
    page = open_case("approval", "later=500")
    page.get_by_label("Message").press("Enter")
    page.get_by_label("Message").fill("and hurry")
    expect(page.get_by_role("article")).to_be_visible()
    expect(page.locator("[data-agc-live]")).to_have_text("Send an email to ann@example.com?")
    assert focused(page) == "Message"


def test_the_keyboard_alone_edits_arguments_and_approves(open_case: OpenCase) -> None:
    page = open_case("approval", "later")
    keys = page.keyboard
    page.get_by_label("Message").press("Enter")
    has_focus(page, "Send an email to ann@example.com?")
    keys.press("Tab")
    has_focus(page, "Approve: Send an email to ann@example.com?")
    keys.press("Tab")
    keys.press("Enter")
    has_focus(page, "To")
    keys.press("ControlOrMeta+a")
    keys.type("nobody")
    for _ in ("Body", "Urgent", "Approve with changes"):
        keys.press("Tab")
    keys.press("Enter")
    expect(page.get_by_text("To must be an e-mail address.")).to_be_visible()
    has_focus(page, "To")
    assert field(page, "To").get_attribute("aria-invalid") == "true"
    keys.press("ControlOrMeta+a")
    keys.type("bob@example.com")
    keys.press("Tab")
    keys.press("Tab")
    has_focus(page, "Urgent")
    keys.press("Space")
    keys.press("Tab")
    keys.press("Enter")
    assert payload(page) == {
        "approved": True,
        "editedArgs": {"to": "bob@example.com", "body": "The report is ready.", "urgent": True},
    }


def test_several_questions_are_answered_together_and_an_answer_can_be_changed(
    open_case: OpenCase,
) -> None:
    page = open_case("several")
    names = [it.get_attribute("aria-label") for it in page.locator("article button").all()]
    assert len(names) == len(set(names))
    button(page, "Approve").first.click()
    has_focus(page, "Send an email to bob@example.com?")
    button(page, "Change").click()
    button(page, "Deny").first.click()
    field(page, "Reason").fill(" not today ")
    button(page, "Deny").first.click()
    button(page, "Approve").first.click()
    field(page, "Quarter").select_option("Q3")
    field(page, "Year").fill("soon")
    button(page, "Send").click()
    expect(page.get_by_text("Year must be a number.")).to_be_visible()
    field(page, "Year").fill("2026")
    button(page, "Send").click()
    one, two, three = sent(page)
    assert one["payload"] == {"approved": False, "reason": "not today"}
    assert two["payload"] == {"approved": True}
    assert three == {
        "interruptId": "three",
        "status": "resolved",
        "payload": {"quarter": "Q3", "year": 2026},
    }


def test_a_failed_answer_leaves_its_card_with_the_error_and_what_was_typed(
    open_case: OpenCase,
) -> None:
    page = open_case("form", "fail=1")
    field(page, "Quarter").select_option("Q2")
    field(page, "Year").fill("2026")
    button(page, "Send").click()
    expect(page.get_by_role("alert")).to_have_text("The server can't be reached. Try again.")
    expect(field(page, "Year")).to_have_value("2026")
    button(page, "Send").click()
    assert payload(page, times=2) == {"quarter": "Q2", "year": 2026}


def test_a_form_has_a_field_for_whatever_a_schema_says(open_case: OpenCase) -> None:
    page = open_case("everything")
    button(page, "Send").click()
    for fault in ("Title is missing.", "Quarter is missing.", "Year is missing."):
        expect(page.get_by_text(fault)).to_be_visible()
    has_focus(page, "Title")
    field(page, "Title").fill("Growth")
    field(page, "Quarter").select_option("Q4")
    field(page, "Year").fill("1999")
    field(page, "Share").fill("0.3")
    field(page, "Due").fill("2026-12-24")
    field(page, "Name").fill("Ann")
    button(page, "Add to Readers").click()
    has_focus(page, "Readers 2")
    page.keyboard.type("bob@example.com")
    page.get_by_role("button", name="Remove Readers 1").click()
    field(page, "costs").check()
    field(page, "Kind of limit").select_option("words")
    field(page, "Limit").fill("as many as fit")
    field(page, "Extra").fill('{"a": [1')
    button(page, "Send").click()
    expect(page.get_by_text("Year must be 2000 or more.")).to_be_visible()
    expect(page.get_by_text("Extra must be JSON")).to_be_visible()
    expect(page.get_by_text("Share must be a multiple of 0.25.")).to_be_visible()
    field(page, "Year").fill("2026")
    field(page, "Share").fill("0.5")
    field(page, "Extra").fill('{"a": [1]}')
    button(page, "Send").click()
    assert payload(page) == {
        "title": "Growth",
        "quarter": "Q4",
        "year": 2026,
        "share": 0.5,
        "urgent": False,
        "due": "2026-12-24",
        "owner": {"name": "Ann"},
        "readers": ["bob@example.com"],
        "parts": ["costs"],
        "mode": "draft",
        "limit": "as many as fit",
        "note": None,
        "extra": {"a": [1]},
    }


@pytest.mark.parametrize(
    ("case", "press", "said"),
    [
        ("confirmation", "No", {"confirm": False}),
        ("boolean", "Yes", True),
        ("approval", "Deny", {"approved": False}),
    ],
)
def test_a_decision_is_what_the_schema_wants(
    open_case: OpenCase, case: str, press: str, said: Any
) -> None:
    page = open_case(case)
    button(page, press).click()
    if case == "approval":
        button(page, press).click()
    assert payload(page) == said


def test_a_result_is_given_in_place_of_the_tools_and_a_decision_remembered(
    open_case: OpenCase,
) -> None:
    page = open_case("respond")
    button(page, "Respond").click()
    button(page, "Give the result").click()
    expect(page.get_by_text("Result is missing.")).to_be_visible()
    field(page, "Result").fill("Sent by hand.")
    button(page, "Give the result").click()
    assert payload(page) == {"approved": False, "respond": "Sent by hand."}
    page = open_case("remember")
    button(page, "Approve and…").click()
    field(page, "Remember").select_option("thread")
    button(page, "Approve").click()
    assert payload(page) == {"approved": True, "remember": "thread"}


def test_the_time_runs_out_before_ones_eyes(open_case: OpenCase) -> None:
    page = open_case("expiring")
    expect(page.get_by_role("timer")).to_have_text(re.compile(r"^1 min \d s left$"))
    page = open_case("brief")
    expect(button(page, "Approve")).to_be_enabled()
    expect(page.get_by_role("timer")).to_have_text("Time is over")
    expect(button(page, "Approve")).to_be_disabled()
    expect(page.locator("[data-agc-live]")).to_contain_text("The time to answer is over.")
    button(page, "Dismiss").click()
    assert sent(page) == [{"interruptId": "one", "status": "cancelled"}]


def test_whoever_may_not_answer_reads_why_and_may_withdraw(open_case: OpenCase) -> None:
    page = open_case("forbidden")
    expect(page.get_by_role("article")).to_contain_text("2 of these must agree: any dba, bob.")
    expect(page.get_by_role("article")).to_contain_text("somebody else must answer")
    expect(button(page, "Approve")).to_be_disabled()
    button(page, "Withdraw").click()
    assert sent(page) == [{"interruptId": "one", "status": "cancelled"}]


def test_what_was_decided_elsewhere_says_by_whom(open_case: OpenCase) -> None:
    page = open_case("decided")
    expect(page.get_by_text("Approved by bob elsewhere.", exact=True)).to_be_visible()
    expect(button(page, "Approve")).to_have_count(0)


def test_what_the_agent_tells_besides_is_shown_and_nobody_is_told_of_a_tool_that_is_none(
    open_case: OpenCase,
) -> None:
    page = open_case("told")
    shown = page.get_by_role("article")
    expect(shown).to_have_count(3)
    change, form, yes = shown.all()
    told = change.get_by_role("definition")
    expect(told).to_have_text(["DELETE FROM users\nWHERE last_login < '2023-01-01'", "42"])
    expect(change).not_to_contain_text("Tool")
    expect(change).not_to_contain_text("tanstack")
    expect(form).to_contain_text("workflowstepreporttries2")
    expect(yes.get_by_role("definition")).to_have_text("4,200 readers")
    button(change, "Approve").click()
    expect(page.get_by_text("1 of 3 done")).to_be_visible()


def test_a_refusal_is_told_apart_from_the_question(open_case: OpenCase) -> None:
    page = open_case("refused")
    expect(page.get_by_role("heading", level=2)).to_have_text(
        "Which quarter shall the report cover?"
    )
    expect(page.get_by_role("alert")).to_have_text("INVALID_RESUME_PAYLOAD year: is missing.")


@pytest.mark.parametrize(
    ("case", "approves"), [("preview", True), ("command", True), ("cut", False), ("later", False)]
)
def test_a_call_is_approved_only_beside_all_of_its_preview(
    open_case: OpenCase, case: str, approves: bool
) -> None:
    card = open_case(case).get_by_role("article")
    expect(button(card, "Deny")).to_be_visible()
    assert (button(card, "Approve").count() == 1) is approves
    if case == "preview":
        lines = card.get_by_role("group", name=re.compile("What it would do")).locator("span")
        assert [line.text_content() for line in lines.all()][4:6] == [
            " def send(to):\n",
            "-→   return post(to)\n",
        ]
        assert lines.last.text_content() == " →   # <b>\\u202e\n"
        button(card, "Edit").click()
        expect(card).to_contain_text("Nobody has previewed it with other arguments.")
