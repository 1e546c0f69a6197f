"""docs/mcp-server.md does what it says."""

from __future__ import annotations

from pathlib import Path

import mcp_types as types
import pytest

from agui_bridge.mcp_server.elicitations import MOST_CHARACTERS, MOST_LINES
from tests.docs.pages import ROOT, run_page
from tests.mcp_server.asking import Person, asking
from tests.support.server import serve

PAGE = ROOT / "docs" / "mcp-server.md"


async def test_ten_lines_make_an_agent_a_tool_that_asks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names = await run_page(PAGE)
    person = Person([types.ElicitResult(action="accept", content={"approved": True})])
    async with (
        serve(names["bridge"].app(anonymous=True)) as base,
        asking(f"{base}/mcp", person) as client,
    ):
        done = await client.call_tool("ops", {"message": "clean up"})
        assert done.structured_content["text"] == "the rows of users are deleted"
    async with (
        serve(names["bridge"].app(anonymous=True)) as base,
        asking(f"{base}/mcp") as client,
    ):
        told = await client.call_tool("ops", {"message": "clean up"})
        (text,) = told.content
        assert isinstance(text, types.TextContent)
        assert f"Answer at: {base}/inbox/" in text.text


def test_the_page_names_the_room_of_a_window() -> None:
    assert f"more than {MOST_CHARACTERS} characters or {MOST_LINES} lines" in PAGE.read_text()
