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


def choose(page: Page, agent: str) -> None:
    """Talk to another agent than the first one."""
    page.get_by_role("button", name="Agent ops").click()
    page.get_by_role("button", name=f"/agents/{agent}").first.click()


def answer(page: Page, payload: dict[str, Any]) -> None:
    """Answer the first of the questions, in JSON."""
    page.get_by_label("Answer for interrupt").first.fill(json.dumps(payload))
    page.get_by_role("button", name="Resolve interrupt").first.click()


def asked(demo: int, agent: str, thread: str) -> list[dict[str, Any]]:
    """What a thread has asked, and what has become of it."""
    url = f"http://127.0.0.1:{demo}/agents/{agent}/threads/{thread}/interrupts"
    return list(httpx.get(url).json()["interrupts"])


@pytest.mark.feature("playground", "approve", "edit")
def test_a_tool_call_is_approved_with_other_arguments_and_its_events_are_listed(
    page: Page, demo: int
) -> None:
    thread = say(page, "Clean up the users")
    answer(page, {"approved": True, "editedArgs": {"table": "users", "limit": 5}})
    expect(page.get_by_text("Done: 5 rows of users deleted.").first).to_be_visible()
    expect(page.get_by_text("TOOL_CALL_RESULT").first).to_be_visible()
    assert [ask["status"] for ask in asked(demo, "ops", thread)] == ["resolved"]


@pytest.mark.feature("playground", "cancel")
def test_a_question_is_cancelled_and_nothing_is_deleted(page: Page) -> None:
    say(page, "Clean up the users")
    page.get_by_role("button", name="Cancel interrupt").click()
    expect(page.get_by_text("nothing was deleted").first).to_be_visible()


@pytest.mark.feature("playground", "deny")
def test_a_call_is_denied_with_a_reason_and_the_chat_goes_on(page: Page, demo: int) -> None:
    thread = say(page, "Clean up the users")
    answer(page, {"approved": False, "reason": "not today"})
    expect(page.get_by_text("nothing was deleted").first).to_be_visible()
    [ask] = asked(demo, "ops", thread)
    assert ask["answer"]["payload"] == {"approved": False, "reason": "not today"}


@pytest.mark.feature("playground", "form", "refused")
def test_a_form_that_is_filled_in_wrongly_can_be_corrected(page: Page, demo: int) -> None:
    choose(page, "report")
    thread = say(page, "Write the report")
    answer(page, {"quarter": "Q7", "year": 2026})
    expect(page.get_by_text("INVALID_RESUME_PAYLOAD").first).to_be_visible()
    answer(page, {"quarter": "Q3", "year": 2026})
    expect(page.get_by_text("The report for Q3 2026 is on its way.").first).to_be_visible()
    assert [ask["status"] for ask in asked(demo, "report", thread)] == ["resolved"]


@pytest.mark.feature("playground", "several")
def test_two_calls_at_once_are_answered_each_by_itself(page: Page, demo: int) -> None:
    choose(page, "mailer")
    thread = say(page, "Write to both")
    waiting = page.get_by_label("Answer for interrupt")
    expect(waiting).to_have_count(2)
    answer(page, {"approved": True})
    expect(waiting).to_have_count(1)
    answer(page, {"approved": False})
    told = "sent to ann@example.com; not sent to bob@example.com."
    expect(page.get_by_text(told).first).to_be_visible()
    assert [ask["status"] for ask in asked(demo, "mailer", thread)] == ["resolved"] * 2


def test_each_agent_of_the_demo_is_offered(page: Page) -> None:
    page.get_by_role("button", name="Agent ops").click()
    for agent in ("report", "mailer", "database"):
        expect(page.get_by_role("button", name=f"/agents/{agent}").first).to_be_visible()
