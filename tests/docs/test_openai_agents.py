"""docs/openai-agents.md: its agents run, ask and answer."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from agents import Tool, set_tracing_disabled

from examples.openai_agents.offline import Call, Item, OfflineModel
from tests.docs.pages import ROOT, Conversation, run_page

PAGE = ROOT / "docs" / "openai-agents.md"


async def writing(items: list[Item], tools: list[Tool]) -> AsyncIterator[Any]:
    if items[-1].get("type") == "function_call_output":
        yield f"Outcome: {items[-1]['output']}"
    else:
        yield Call("send_email", {"to": "bob", "body": "Hi"})


@pytest.mark.parametrize("agent", ["support", "secretary"])
async def test_the_agents_of_the_page_ask_and_go_on(
    agent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    set_tracing_disabled(True)
    page = await run_page(PAGE)
    page["support"].model = OfflineModel(writing)
    async with page["bridge"].lifespan():
        talk = Conversation(page["bridge"], agent)
        await talk.say("write to bob")
        assert [ask["reason"] for ask in talk.asks] == ["tool_call"]
        assert await talk.answer({"approved": True}) == "Outcome: sent to bob"
