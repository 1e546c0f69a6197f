"""docs/dbos.md: its workflow, in this process, asks and goes on."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from dbos import DBOS

from tests.docs.pages import ROOT, Conversation, run_page

PAGE = ROOT / "docs" / "dbos.md"


async def test_the_workflow_of_the_page_asks_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    try:
        page = await run_page(PAGE)
        async with page["bridge"].lifespan():
            talk = Conversation(page["bridge"], "orders")
            assert await talk.say("tea") == "I will order tea. "
            edited = {"approved": True, "editedArgs": {"item": "tea", "count": 3}}
            assert await talk.answer(edited) == "Done."
        results = [e["content"] for e in talk.events if e["type"] == "TOOL_CALL_RESULT"]
        assert results == ["bought 3 of tea"]
    finally:
        await asyncio.to_thread(DBOS.destroy)
