"""docs/mcp.md does what it says."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from agui_bridge.agent_file.models import McpPart
from agui_bridge.mcp import MCPServers
from tests.docs.pages import ROOT, Conversation, run_page, snippets_of
from tests.mcp.conftest import Shop

pytestmark = [pytest.mark.soak, pytest.mark.timeout(180)]

PAGE = ROOT / "docs" / "mcp.md"


async def test_its_agent_counts_and_has_an_order_approved_and_asked_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    served = Shop(tmp_path, module="tests.mcp.servers.shop")
    try:
        page = await run_page(PAGE)
        # The page's server, where this one listens.
        shop: MCPServers = page["shop"]
        served_there = MCPServers({"shop": served.url}, trusted=["shop"])
        monkeypatch.setattr(shop, "_servers", served_there._servers)
        async with page["bridge"].lifespan():
            talk = Conversation(page["bridge"], "buyer")
            assert await talk.say("go") == "0 orders. "
            assert talk.asks[0]["reason"] == "tool_call"
            await talk.answer({"approved": True})
            assert talk.asks[0]["reason"] == "mcp:elicitation"
            assert await talk.answer({"size": "M"}) == "ordered hat in M"
    finally:
        served.kill()
    assert served.effects == ["ordered hat M False"]


def test_its_yaml_is_what_agent_files_take() -> None:
    ((_, text),) = snippets_of(PAGE, "yaml")
    parts = [McpPart.model_validate(part) for part in yaml.safe_load(text)["spec"]["mcp"]]
    assert [(part.name, part.trusted) for part in parts] == [("shop", True), ("files", False)]
