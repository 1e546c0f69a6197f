"""The CopilotKit page on a phone and a desk, light and dark, with a question open."""

import json

from playwright.sync_api import expect

from tests.e2e.browser.axe import axe_faults
from tests.e2e.browser.conftest import OpenTab
from tests.e2e.browser.pictures import fits
from tests.e2e.browser.tab import PATIENCE, seen


def test_the_page_fits_a_phone_and_the_dark(open_tab: OpenTab, name: str) -> None:
    tab = open_tab()
    page = tab.page
    tab.say(f"send {name}")
    tab.is_asked(f"Send an email to {name}-0@example.com?")
    seen(tab.panel("Pending"), f"{name}-0@example.com")
    fits(page, "copilotkit")

    page.set_viewport_size({"width": 360, "height": 640})
    approve = page.get_by_role("button", name="Approve:")
    approve.scroll_into_view_if_needed()
    box = approve.bounding_box()
    assert box is not None and box["x"] >= 0 and box["x"] + box["width"] <= 360
    expect(tab.panel("Pending")).not_to_be_visible()
    page.get_by_role("button", name="Questions").click()
    expect(tab.panel("Pending")).to_be_visible()
    page.keyboard.press("Escape")
    expect(tab.panel("Pending")).not_to_be_visible()
    approve.click()
    tab.sees("Outcome: sent")


def test_what_a_button_opens_is_in_sight_on_a_small_phone(open_tab: OpenTab, demo: int) -> None:
    tab = open_tab(port=demo, agent="mailer")
    page = tab.page
    page.set_viewport_size({"width": 360, "height": 640})
    tab.say("Write to both")
    expect(page.get_by_role("article")).to_have_count(2)
    tab.press("Approve")
    page.get_by_role("button", name="Deny:").last.click()
    reason = page.get_by_label("Reason")
    expect(reason).to_be_focused()
    # Not below the box for messages, which lies above the end of the conversation.
    message = page.get_by_placeholder("Type a message")
    for _ in range(int(PATIENCE / 100)):
        above, below = reason.bounding_box(), message.bounding_box()
        assert above is not None and below is not None
        if above["y"] > 0 and above["y"] + above["height"] <= below["y"]:
            return
        page.wait_for_timeout(100)
    raise AssertionError(f"the reason is at {above}, the box for messages at {below}")


def test_at_four_times_the_size_nothing_lies_above_the_buttons(
    open_tab: OpenTab, name: str
) -> None:
    tab = open_tab()
    page = tab.page
    page.set_viewport_size({"width": 320, "height": 256})
    tab.say(f"send {name}")
    tab.is_asked("Send an email")
    approve = page.get_by_role("button", name="Approve:")
    approve.scroll_into_view_if_needed()
    hit = approve.evaluate(
        """it => {
          const { x, y, width, height } = it.getBoundingClientRect();
          return document.elementFromPoint(x + width / 2, y + height / 2) === it;
        }"""
    )
    assert hit
    assert axe_faults(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    approve.click()
    tab.sees("Outcome: sent")


def test_what_went_wrong_and_its_buttons_fit_a_small_phone(open_tab: OpenTab) -> None:
    tab = open_tab()
    page = tab.page
    page.set_viewport_size({"width": 360, "height": 640})
    tab.say("hello")
    tab.sees("You said: hello")
    long = f"{'x' * 200} is too long"
    headers = {"access-control-allow-origin": "*", "content-type": "application/json"}
    body = json.dumps({"error": {"code": "TOO_LONG", "message": long}})
    page.route("**/run", lambda it: it.fulfill(status=413, headers=headers, body=body))
    tab.say("hello again")
    expect(page.get_by_role("alert")).to_contain_text(long, timeout=PATIENCE)
    for button in page.get_by_role("alert").get_by_role("button").all():
        box = button.bounding_box()
        assert box is not None and box["x"] >= 0 and box["x"] + box["width"] <= 360
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert axe_faults(page) == []
    tab.broken.clear()
