"""docs/superagent.md does what it says."""

from __future__ import annotations

from pathlib import Path

import pytest

from agui_bridge.errors import CODES
from agui_bridge.http.chat.operations import STATUSES
from tests.docs.pages import ROOT, run_page, snippets_of
from tests.support.chat import Chat
from tests.support.server import client, serve

PAGE = ROOT / "docs" / "superagent.md"


async def test_the_page_runs_and_its_agent_asks_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ((_, agent),) = snippets_of(PAGE, "yaml")
    (tmp_path / "agent.yaml").write_text(agent)
    monkeypatch.chdir(tmp_path)
    page = await run_page(PAGE)
    assert set(page["bridge"].agents) == {"approval-agent", "helper", "remote"}
    assert page["file"].backend == "redis"
    async with serve(page["app"]) as base, client(base) as http:
        chat = Chat(http, "approval-agent", "s", a2ui=False)
        asked = await chat.say("clean up")
        assert asked.text == "I found 1,234 expired users. "
        assert asked.interrupt is not None
        assert asked.interrupt["reason"] == "Please confirm: delete them."
        assert (await chat.answer(confirm=True)).text == "Deleted."


def test_the_table_of_statuses_is_the_codes() -> None:
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith(("| 4", "| 5"))]
    told = [
        (code.strip("` "), int(row.split("|")[1]))
        for row in rows
        for code in row.split("|")[2].split(",")
    ]
    assert len(told) == 9
    for code, status in told:
        assert STATUSES.get(code, CODES[code].status) == status
