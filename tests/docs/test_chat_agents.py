"""docs/chat-agents.md and docs/testing.md do what they say."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from agui_bridge.testing import talk
from tests.docs.pages import ROOT, run_page
from tests.servers.model.script import Reply, ToolUse
from tests.servers.model.server import ScriptedModel

MAIL = {"to": "ann@example.com", "subject": "Hours", "body": "09:00"}

AGENTS = """
from agui_bridge import Bridge

bridge = Bridge(telemetry=False)
deleted = []


@bridge.agent
async def ops(run):
    approval = await run.approve("delete", {"table": "users"}, message="Delete the users?")
    if approval:
        await run.tool(approval, lambda table: deleted.append(table))
        return "Deleted."
"""


async def test_the_pages_agent_asks_and_sends_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    look, send = ToolUse("free_hours", {"day": "monday"}), ToolUse("send_email", MAIL, id="c2")
    async with ScriptedModel(Reply(calls=[look, send]), Reply("Sent.")) as model:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("OPENAI_BASE_URL", model.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        page = await run_page(ROOT / "docs" / "chat-agents.md")
        async with talk(page["bridge"], "secretary") as secretary:
            asked = await secretary.say("write to ann")
            assert (len(asked.asks), page["sent"]) == (1, [])
            done = await secretary.answer(asked, {"approved": True})
            assert (done.text, page["sent"]) == ("Sent.", ["ann@example.com"])


async def test_the_test_of_the_page_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "agents.py").write_text(AGENTS)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "agents", raising=False)
    page = await run_page(ROOT / "docs" / "testing.md")
    await page["test_nothing_is_deleted_unasked"]()
    monkeypatch.delitem(sys.modules, "agents")
    with TestClient(page["bridge"].app(anonymous=True)) as http:
        assert http.get("/agents").status_code == 200
