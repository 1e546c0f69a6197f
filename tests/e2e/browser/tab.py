"""A tab with the page, as somebody uses it."""

from __future__ import annotations

import re
from typing import Final, Literal
from urllib.parse import urlencode, urlsplit

from playwright.sync_api import ConsoleMessage, Locator, Page, Request, expect

from tests.e2e.browser.cards import button, fill

__all__ = ["PATIENCE", "VIAS", "Tab", "Via", "seen"]

Via = Literal["rest", "single", "direct"]
VIAS: Final[tuple[Via, ...]] = ("rest", "single", "direct")
"""CopilotKit's runtime routes in both flavours, and the agent's own URL."""

PATIENCE: Final = 45_000.0
"""Milliseconds until something that ought to be seen counts as missing."""

REFUSALS: Final = re.compile(
    r"\[CopilotKit\] (Error \(agent_run_(error_event|failed)\)|Agent error)"
)
"""What CopilotKit writes to the console when a run is refused, which some tests are about."""


class Tab:
    """A tab on one thread of one agent.

    Args:
        page: Playwright's page.
        site: Address of the page's files.
        server: Address of the bridge.
        thread: The thread's id.
        via: How the page reaches the bridge.
        unaware: The cards never learn what others do, or until when a question stands. A tab that
            stops to learn it later has cards that change, lock and unlock at some moment or other,
            and a press that meets a locked button is lost.
        address: Further parameters of the page's address.

    Attributes:
        thread: The thread's id.
        broken: What went wrong in the page that no test is about.
        expected: What a test that breaks something lets the page complain of, up to its last poll.
        complaints: What the page said of that.
        sights: Pictures of every card, form and refusal, in order.
        page: Playwright's page.
    """

    def __init__(
        self,
        page: Page,
        site: str,
        server: str,
        thread: str,
        via: Via = "rest",
        *,
        unaware: bool = False,
        **address: str,
    ) -> None:
        page.set_default_timeout(PATIENCE)
        self.page = page
        self.thread = thread
        self.broken: list[str] = []
        self.expected: re.Pattern[str] | None = None
        self.complaints: list[str] = []
        self.sights: list[bytes] = []
        page.on("pageerror", lambda error: self._complain(str(error)))
        page.on("console", self._hear)
        page.on("request", self._watch)
        if unaware:
            nothing = '{"interrupts": []}'
            page.route("**/interrupts*", lambda route: route.fulfill(body=nothing))
        given = {"server": server, "thread": thread, "via": via, "agent": "target", **address}
        page.goto(f"{site}?{urlencode(given)}")

    def say(self, text: str) -> None:
        """Type a message and send it, once the chat takes one."""
        self.type(text)
        self.send()

    def type(self, text: str) -> None:
        """Type a message, once the chat takes one."""
        expect(self._chat.locator(".chat[aria-busy=false]")).to_be_visible(timeout=PATIENCE)
        self._box.fill(text)

    def send(self) -> None:
        """Send what was typed."""
        self._box.press("Enter")

    def press(self, name: str) -> None:
        """Press a button of the cards or of the dialog, the first of that name."""
        button(self._asks, name).first.click()

    def fill(self, **fields: str) -> None:
        """Fill in fields of the form, by their labels."""
        for label, value in fields.items():
            fill(self._asks, label, value)
        self.look()

    def stop(self) -> None:
        """Press the button that stops what runs."""
        self.page.get_by_test_id("copilot-send-button").click()

    def regenerate(self) -> None:
        """Have the last answer made again."""
        self.page.get_by_test_id("copilot-regenerate-button").last.click()

    def edit(self, text: str) -> None:
        """Press the button that edits a message."""
        message = self.page.get_by_test_id("copilot-user-message").filter(has_text=text)
        message.hover()
        message.get_by_test_id("copilot-edit-button").click()

    def rewrite(self, old: str, new: str) -> None:
        """Say something else in place of a message."""
        self.edit(old)
        self.fill(**{"Say instead": new})
        self.press("Send")

    def reload(self) -> None:
        """Load the page anew."""
        self.page.reload()

    def sees(self, text: str) -> None:
        """Wait until the chat shows a text."""
        expect(self._chat.get_by_text(text).last).to_be_visible(timeout=PATIENCE)

    def sees_no(self, text: str) -> None:
        """Wait until the chat no longer shows a text."""
        expect(self._chat.get_by_text(text)).to_have_count(0, timeout=PATIENCE)

    def is_asked(self, question: str, count: int = 1) -> None:
        """Wait until exactly that many cards wait for an answer, this one among them."""
        expect(self.cards).to_have_count(count, timeout=PATIENCE)
        expect(self.cards.filter(has_text=question).first).to_be_visible(timeout=PATIENCE)
        self.look()

    def is_asked_nothing(self) -> None:
        """Wait until no card waits for an answer."""
        expect(self.cards).to_have_count(0, timeout=PATIENCE)

    def is_told(self, code: str) -> None:
        """Wait until the notice above the chat shows a code."""
        expect(self.page.get_by_role("alert")).to_contain_text(code, timeout=PATIENCE)
        self.look()

    def look(self) -> None:
        """Take a picture of the page."""
        self.sights.append(self.page.screenshot())

    @property
    def cards(self) -> Locator:
        """The cards that wait for an answer."""
        return self.page.locator(".agc").get_by_role("article")

    @property
    def conversation(self) -> list[str]:
        """What was said, as the page shows it."""
        said = '[data-testid="copilot-user-message"], [data-testid="copilot-assistant-message"]'
        return [text.strip() for text in self.page.locator(said).all_inner_texts()]

    def panel(self, name: Literal["Pending", "History", "Conversations"]) -> Locator:
        """One of the lists beside the chat."""
        return self.page.get_by_label(name, exact=True)

    @property
    def _chat(self) -> Locator:
        return self.page.get_by_role("main")

    @property
    def _box(self) -> Locator:
        return self.page.get_by_placeholder("Type a message")

    @property
    def _asks(self) -> Locator:
        return self.page.locator(".agc, dialog")

    def _watch(self, request: Request) -> None:
        if urlsplit(request.url).hostname != "127.0.0.1":
            self.broken.append(f"asked for {request.url}")

    def _hear(self, message: ConsoleMessage) -> None:
        if message.type == "error" and not REFUSALS.match(message.text):
            self._complain(message.text)

    def _complain(self, text: str) -> None:
        expected = self.expected is not None and self.expected.search(text)
        (self.complaints if expected else self.broken).append(text)


def seen(locator: Locator, *texts: str) -> None:
    """Wait until a list beside the chat holds these texts; it is read every two seconds."""
    for text in texts:
        expect(locator).to_contain_text(text, timeout=PATIENCE)
