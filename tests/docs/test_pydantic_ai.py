"""docs/pydantic-ai.md: its agents run, ask and answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.pages import ROOT, Conversation, run_page

PAGE = ROOT / "docs" / "pydantic-ai.md"


@pytest.mark.parametrize("agent", ["mailer", "secretary"])
async def test_the_agents_of_the_page_ask_and_go_on(
    agent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    page = await run_page(PAGE)
    async with page["bridge"].lifespan():
        talk = Conversation(page["bridge"], agent)
        await talk.say("write to bob")
        reasons = {ask["reason"] for ask in talk.asks}
        assert reasons == {"tool_call", "input_required"}
        answers = [
            {"approved": True} if ask["reason"] == "tool_call" else "today" for ask in talk.asks
        ]
        assert "sent to" in await talk.answer(*answers)
