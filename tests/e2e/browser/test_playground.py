"""The playground of the demo, as a developer uses it: what is asked there can be answered there."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.e2e.browser.conftest import ARTEFACTS


@pytest.fixture
def page(window: BrowserContext, demo: int) -> Iterator[Page]:
    """The playground, on a thread of its own."""
    page = window.new_page()
    broken: list[str] = []
    page.on("pageerror", lambda error: broken.append(str(error)))
    page.on("console", lambda said: broken.append(said.text) if said.type == "error" else None)
    page.goto(f"http://127.0.0.1:{demo}/playground")
    yield page
    ARTEFACTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=ARTEFACTS / "playground.png")
    page.close()
    assert broken == []


def say(page: Page, text: str) -> str:
    """Send a message; gives the thread that it went to."""
    with page.expect_request(lambda request: request.method == "POST") as posted:
        page.get_by_placeholder("Message the agent").fill(text)
        page.get_by_role("button", name="Send message").click()
    body: Any = posted.value.post_data_json
    return str(body["threadId"])


@pytest.mark.feature("playground", "approve", "edit")
def test_a_tool_call_is_approved_with_other_arguments_and_its_events_are_listed(
    page: Page, demo: int
) -> None:
    thread = say(page, "Clean up the users")
    answer = page.get_by_label("Answer for interrupt")
    answer.fill(json.dumps({"approved": True, "editedArgs": {"table": "users", "limit": 5}}))
    page.get_by_role("button", name="Resolve interrupt").click()
    expect(page.get_by_text("Done: 5 rows of users deleted.").first).to_be_visible()
    expect(page.get_by_text("TOOL_CALL_RESULT").first).to_be_visible()
    history = httpx.get(f"http://127.0.0.1:{demo}/agents/ops/threads/{thread}/interrupts").json()
    assert [ask["status"] for ask in history["interrupts"]] == ["resolved"]


@pytest.mark.feature("playground", "cancel")
def test_a_question_is_cancelled_and_nothing_is_deleted(page: Page) -> None:
    say(page, "Clean up the users")
    page.get_by_role("button", name="Cancel interrupt").click()
    expect(page.get_by_text("nothing was deleted").first).to_be_visible()


def test_each_agent_of_the_demo_is_offered(page: Page) -> None:
    page.get_by_role("button", name="Agent ops").click()
    for agent in ("report", "mailer", "database"):
        expect(page.get_by_role("button", name=f"/agents/{agent}").first).to_be_visible()
