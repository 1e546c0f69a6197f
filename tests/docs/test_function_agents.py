"""docs/function-agents.md does what it says."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.docs.pages import ROOT, Conversation, run_page

Page = dict[str, Any]


@pytest.fixture
async def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Page]:
    monkeypatch.chdir(tmp_path)
    names = await run_page(ROOT / "docs" / "function-agents.md")
    async with names["bridge"].lifespan():
        yield names


async def test_text_is_said_back(page: Page) -> None:
    assert await Conversation(page["bridge"], "hello").say("hi") == "You said: hi"


async def test_steps_are_taken_once(page: Page) -> None:
    talk = Conversation(page["bridge"], "report")
    assert await talk.say("go") == "There are 1234 rows. "
    assert await talk.answer({"confirm": True}) == "It is written."
    assert page["effects"] == ["counted", "wrote 1234"]


async def test_an_approval_is_spent_with_edited_arguments_refused_or_cancelled(page: Page) -> None:
    talk = Conversation(page["bridge"], "ops")
    await talk.say("clean up")
    await talk.answer({"approved": True, "editedArgs": {"table": "users", "limit": "many"}})
    assert talk.events[-1]["code"] == "INVALID_RESUME_PAYLOAD"
    await talk.say("and now?")
    assert talk.events[-1]["code"] == "INTERRUPT_PENDING"


async def test_an_approved_tool_runs(page: Page) -> None:
    talk = Conversation(page["bridge"], "ops")
    await talk.say("clean up")
    edited = {"approved": True, "editedArgs": {"table": "users", "limit": 3}}
    assert await talk.answer(edited) == "Deleted 3 rows of users."
    await talk.say("again")
    assert await talk.answer({"approved": False, "reason": "not today"}) == "Refused: not today."
    await talk.say("again")
    assert await talk.answer(None) == "Nobody decided (cancelled)."
    assert page["effects"] == ["deleted 3 of users"]


async def test_a_form_comes_back_as_a_model(page: Page) -> None:
    talk = Conversation(page["bridge"], "travel")
    await talk.say("go")
    assert await talk.answer({"city": "Oslo", "nights": 2}) == "2 nights in Oslo."


async def test_questions_asked_together_are_answered_together(page: Page) -> None:
    talk = Conversation(page["bridge"], "both")
    await talk.say("go")
    assert await talk.answer({"approved": True}, {"approved": False}) == "True False"


async def test_the_model_is_called_once(page: Page) -> None:
    talk = Conversation(page["bridge"], "chat")
    assert await talk.say("tea") == "You want tea"
    assert await talk.answer({"confirm": True}) == ""
    assert page["effects"] == ["You ", "want ", "tea", "You want tea"]


async def test_a_tool_asks_in_its_middle(page: Page) -> None:
    talk = Conversation(page["bridge"], "transfer")
    await talk.say("go")
    assert talk.asks[0]["message"] == "The code that your bank has sent?"
    assert await talk.answer({"code": "4711"}) == "Transferred 20."
    assert page["effects"] == ["begun 20", "payment 7 with 4711"]
    await talk.say("again")
    assert await talk.answer(None) == "Nothing was transferred."


async def test_the_policy_judges_whatever_the_agent_says(page: Page) -> None:
    talk = Conversation(page["bridge"], "payer")
    assert await talk.say("5000") == "Not paid: Payments end at 1000."
    await talk.say("50")
    assert talk.asks[0]["message"] == "Pay 50?"
    assert await talk.answer({"approved": True}) == "Paid 50."
    assert page["effects"] == ["paid 50"]


async def test_state_and_a_frontend_tool(page: Page) -> None:
    talk = Conversation(page["bridge"], "painter")
    await talk.say("paint")
    assert await talk.hand_back("blue") == "Painting it blue."


async def test_a_failed_call_is_tried_again_only_when_asked_for(page: Page) -> None:
    talk = Conversation(page["bridge"], "fetcher")
    await talk.say("go")
    assert talk.asks[0]["message"] == "TimeoutError. Try again?"
    assert await talk.answer({"confirm": True}) == "fetched"
    assert page["effects"] == ["fetch", "fetch"]


async def test_a_sleep_is_ended_early_or_cancelled(page: Page) -> None:
    talk = Conversation(page["bridge"], "reminder")
    assert await talk.say("go") == "I will ask again in three days."
    assert await talk.answer({}) == "Three days are over (early). Is it done?"
    await talk.say("go")
    assert await talk.answer(None) == ""
