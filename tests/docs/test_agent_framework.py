"""docs/agent-framework.md: its agents and its workflow run, ask and answer."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from agent_framework import Message

from examples.agent_framework.model import Call, OfflineClient
from tests.docs.pages import ROOT, Conversation, run_page

PAGE = ROOT / "docs" / "agent-framework.md"


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the page is tried, with a key that nobody takes."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "none")


async def writing(
    messages: Sequence[Message], options: Mapping[str, Any]
) -> AsyncIterator[str | Call]:
    results = [str(c.result) for c in messages[-1].contents if c.type == "function_result"]
    if results:
        yield f"Outcome: {results}"
    else:
        yield Call("send_email", {"to": "bob", "body": "Hi"})
        yield Call("ask_hour", {"question": "When?"})


@pytest.mark.parametrize("agent", ["mailer", "secretary"])
async def test_the_agents_of_the_page_ask_and_go_on(agent: str) -> None:
    page = await run_page(PAGE)
    page["mailer"].client = OfflineClient(writing)
    async with page["bridge"].lifespan():
        talk = Conversation(page["bridge"], agent)
        await talk.say("write to bob")
        found = {ask["reason"]: ask for ask in talk.asks}
        assert set(found) == {"tool_call", "agent_framework:call"}
        assert found["agent_framework:call"]["message"] == "When?"
        answers = [{"approved": True} if ask["reason"] == "tool_call" else 5 for ask in talk.asks]
        assert "sent to bob" in await talk.answer(*answers)


async def test_the_workflow_of_the_page_asks_and_goes_on() -> None:
    page = await run_page(PAGE)
    async with page["bridge"].lifespan():
        talk = Conversation(page["bridge"], "orders")
        await talk.say("tea")
        assert [ask["message"] for ask in talk.asks] == ["Where does it go?"]
        assert await talk.answer({"street": "Elm Street"}) == "Sent tea to Elm Street."
