"""docs/claude.md: its agents run, ask and answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.adapters.claude.coder import Coder
from tests.adapters.claude.model import FakeClaude
from tests.docs.pages import ROOT, Conversation, run_page

PAGE = ROOT / "docs" / "claude.md"


@pytest.mark.timeout(240)
async def test_the_agents_of_the_page_ask_and_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with FakeClaude().serving() as model:
        for name, value in Coder(model.base_url, tmp_path).environment.items():
            monkeypatch.setenv(name, value)
        page = await run_page(PAGE)
        async with page["bridge"].lifespan():
            for agent in ("coder", "own"):
                talk = Conversation(page["bridge"], agent)
                await talk.say("refund A7")
                assert [ask["reason"] for ask in talk.asks] == ["tool_call"]
                assert "Done with 1 calls." in await talk.answer({"approved": True})
    assert "refunded 5 of A7" in str(model.requests[-1]["messages"])
