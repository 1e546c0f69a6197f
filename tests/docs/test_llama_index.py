"""docs/llama-index.md: its agent and its workflow run, ask and answer."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from pathlib import Path
from typing import Any

import pytest

from examples.llama_index.model import Call, OfflineModel
from tests.docs.pages import ROOT, Conversation, run_page

PAGE = ROOT / "docs" / "llama-index.md"


async def writing(messages: list[Any], _: Collection[str]) -> AsyncIterator[str | Call]:
    if messages[-1].role.value == "tool":
        yield f"Outcome: {[str(m.content) for m in messages if m.role.value == 'tool']}"
    else:
        yield Call("send_email", {"to": "bob", "body": "Hi"})
        yield Call("book", {"day": "friday"})


async def test_the_agent_of_the_page_asks_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    page = await run_page(PAGE)
    page["mailer"].llm = OfflineModel(writing)
    async with page["bridge"].lifespan():
        talk = Conversation(page["bridge"], "mailer")
        await talk.say("write to bob")
        asks = {ask["reason"]: ask.get("message") for ask in talk.asks}
        assert asks == {"tool_call": None, "input_required": "When on friday?"}
        payloads = [{"approved": True} if a["reason"] == "tool_call" else 5 for a in talk.asks]
        told = await talk.answer(*payloads)
    assert "sent to bob" in told
    assert "booked at 5" in told


async def test_the_workflow_of_the_page_asks_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    page = await run_page(PAGE)
    async with page["bridge"].lifespan():
        talk = Conversation(page["bridge"], "survey")
        await talk.say("the walk")
        assert [ask["message"] for ask in talk.asks] == ["Which way?"]
        assert await talk.answer("left") == "the walk: you went left."
