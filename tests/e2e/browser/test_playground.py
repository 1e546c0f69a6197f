"""The playground, as a developer uses it: what is asked there can be answered there."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.e2e.browser.conftest import ARTEFACTS
from tests.e2e.target import Target
from tests.support.waiting import wait_until


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    """A server with a playground that counts what is executed."""
    folder = tmp_path_factory.mktemp("target")
    with Target(folder, module="tests.e2e.browser.playground_target") as target:
        yield target


@pytest.fixture
def open_playground(window: BrowserContext) -> Iterator[Callable[[int], Page]]:
    """Opens the playground at a port, on a thread of its own; nothing may break in it."""
    broken: list[str] = []
    pages: list[Page] = []

    def open_playground(port: int) -> Page:
        page = window.new_page()
        pages.append(page)
        page.on("pageerror", lambda error: broken.append(str(error)))
        page.on("console", lambda said: broken.append(said.text) if said.type == "error" else None)
        page.goto(f"http://127.0.0.1:{port}/playground")
        return page

    yield open_playground
    ARTEFACTS.mkdir(parents=True, exist_ok=True)
    for page in pages:
        page.screenshot(path=ARTEFACTS / "playground.png")
        page.close()
    assert broken == []


@pytest.fixture
def page(open_playground: Callable[[int], Page], demo: int) -> Page:
    """The playground of the demo."""
    return open_playground(demo)


@pytest.fixture
def counted(open_playground: Callable[[int], Page], target: Target) -> Page:
    """The playground of the server that counts."""
    return open_playground(target.port)


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
    """What a thread has asked, and what has become of it once nothing runs."""
    url = f"http://127.0.0.1:{demo}/agents/{agent}/threads/{thread}"
    wait_until(lambda: httpx.get(url).json()["status"] != "running")
    return list(httpx.get(f"{url}/interrupts").json()["interrupts"])


@pytest.mark.feature("playground", "approve")
def test_an_approved_call_runs_once_and_its_events_are_listed(
    counted: Page, target: Target, name: str
) -> None:
    thread = say(counted, f"send {name}")
    expect(counted.get_by_label("Answer for interrupt")).to_have_count(1)
    assert target.executed(name) == []
    answer(counted, {"approved": True})
    expect(counted.get_by_text(f"Outcome: sent to {name}-0@example.com.").first).to_be_visible()
    expect(counted.get_by_text("TOOL_CALL_RESULT").first).to_be_visible()
    say(counted, "hello")
    expect(counted.get_by_text("You said: hello").first).to_be_visible()
    assert [line["body"] for line in target.executed(name)] == ["original"]
    assert target.statuses(thread) == ["resolved"]


@pytest.mark.feature("playground", "edit")
def test_edited_arguments_are_those_that_run(counted: Page, target: Target, name: str) -> None:
    say(counted, f"send {name}")
    edited = {"to": f"{name}-1@example.com", "body": "shorter"}
    answer(counted, {"approved": True, "editedArgs": edited})
    expect(counted.get_by_text(f"Outcome: sent to {edited['to']}.").first).to_be_visible()
    assert target.executed(name) == [{"tool": "send_email", **edited}]


def test_a_number_that_the_page_rounds_is_refused_and_asked_again(
    counted: Page, target: Target, name: str
) -> None:
    thread = say(counted, f"send {name}")
    edited = {"to": f"{name}-1@example.com", "body": "shorter", "amount": 2**53 + 1}
    answer(counted, {"approved": True, "editedArgs": edited})
    expect(counted.get_by_text("which a browser rounds").first).to_be_visible()
    assert target.executed(name) == []
    answer(counted, {"approved": True})
    expect(counted.get_by_text(f"Outcome: sent to {name}-0@example.com.").first).to_be_visible()
    assert target.statuses(thread) == ["resolved"]
    assert len(target.executed(name)) == 1


@pytest.mark.feature("playground", "cancel")
def test_a_cancelled_call_does_not_run(counted: Page, target: Target, name: str) -> None:
    thread = say(counted, f"send {name}")
    counted.get_by_role("button", name="Cancel interrupt").click()
    expect(counted.get_by_text("Outcome: not sent.").first).to_be_visible()
    assert target.executed(name) == []
    assert target.statuses(thread) == ["cancelled"]


@pytest.mark.feature("playground", "deny")
def test_a_denied_call_does_not_run_and_the_reason_is_kept(
    counted: Page, target: Target, name: str
) -> None:
    thread = say(counted, f"send {name}")
    answer(counted, {"approved": False, "reason": "not today"})
    expect(counted.get_by_text("Outcome: not sent.").first).to_be_visible()
    assert target.executed(name) == []
    [ask] = target.audit(thread)
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


@pytest.mark.feature("playground", "confirm")
@pytest.mark.parametrize("yes, told", [(True, "Confirmed."), (False, "Not confirmed.")])
def test_a_confirmation_is_a_yes_or_a_no(
    counted: Page, target: Target, name: str, yes: bool, told: str
) -> None:
    thread = say(counted, f"confirm {name}")
    answer(counted, {"confirm": yes})
    expect(counted.get_by_text(told, exact=True).first).to_be_visible()
    assert target.statuses(thread) == ["resolved"]


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
