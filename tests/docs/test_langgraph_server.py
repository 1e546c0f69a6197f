"""docs/langgraph-server.md: its bridge can be made, by its code and by its file."""

from __future__ import annotations

from pathlib import Path

import pytest

from agui_bridge.config import bridge_from
from tests.docs.pages import ROOT, run_page, snippets_of

pytest.importorskip("langgraph_sdk")

from agui_bridge_langgraph_server import LangGraphServerAdapter

PAGE = ROOT / "docs" / "langgraph-server.md"


async def test_its_code_and_its_file_name_a_graph_on_a_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LANGGRAPH_KEY", "k1")
    page = await run_page(PAGE)
    ((_, file),) = snippets_of(PAGE, "yaml")
    (tmp_path / "bridge.yaml").write_text(file, encoding="utf-8")
    for bridge in (page["bridge"], bridge_from(tmp_path / "bridge.yaml")):
        assert isinstance(bridge.agents["ops"].adapter, LangGraphServerAdapter)
