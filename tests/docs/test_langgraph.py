"""docs/langgraph.md: its graphs run, ask and answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.pages import ROOT, Conversation, run_page

PAGE = ROOT / "docs" / "langgraph.md"


@pytest.mark.parametrize("agent", ["support", "office"])
async def test_the_graphs_of_the_page_ask_and_go_on(
    agent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    page = await run_page(PAGE)
    async with page["bridge"].lifespan():
        talk = Conversation(page["bridge"], agent)
        await talk.say("send bob")
        assert [ask["reason"] for ask in talk.asks] == ["tool_call"]
        assert "sent to bob" in await talk.answer({"approved": True})
        await talk.say("form bob")
        assert [ask["message"] for ask in talk.asks] == ["Which quarter for bob?"]
        assert "Q1" in await talk.answer("Q1")
