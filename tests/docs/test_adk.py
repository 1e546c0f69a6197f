"""docs/adk.md: its agents run, ask and answer."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from google.adk.models.llm_request import LlmRequest

from examples.adk.model import Call, OfflineModel
from tests.docs.pages import ROOT, Conversation, run_page

PAGE = ROOT / "docs" / "adk.md"


async def writing(request: LlmRequest) -> AsyncIterator[str | Call]:
    parts = [part.function_response for part in request.contents[-1].parts or ()]
    if parts[0] is not None:
        yield f"Outcome: {parts[0].response}"
    else:
        yield Call("send_email", {"to": "bob", "body": "Hi"})
        yield Call("book", {"day": "friday"})


@pytest.mark.parametrize("agent", ["mailer", "secretary"])
async def test_the_agents_of_the_page_ask_and_go_on(
    agent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    page = await run_page(PAGE)
    page["mailer"].model = OfflineModel(reply=writing)
    async with page["bridge"].lifespan():
        talk = Conversation(page["bridge"], agent)
        await talk.say("write to bob")
        assert [ask["reason"] for ask in talk.asks] == ["tool_call", "adk:confirmation"]
        assert "sent to bob" in await talk.answer({"approved": True}, {"hour": 5})
