"""docs/a2a-server.md does what it says."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from agui_bridge.a2a.wire import INTERRUPTS
from agui_bridge_a2a.card import Binding
from tests.a2a.asking import Client, asked, said, state
from tests.docs.pages import ROOT, run_page
from tests.support.server import client, serve

PAGE = ROOT / "docs" / "a2a-server.md"


async def test_ten_lines_make_an_agent_one_that_other_agents_reach(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names = await run_page(PAGE)
    async with (
        serve(names["bridge"].app(anonymous=True)) as base,
        client(base) as session,
    ):
        for number, binding in enumerate(get_args(Binding)):
            ops = Client(session, binding, "ops")
            task = await ops.say("clean up", f"m{number}")
            (ask,) = asked(task)
            assert ask["toolCall"]["name"] == "delete_rows"
            done = await ops.answer(task, {"approved": True})
            assert (state(done), said(done)) == ("COMPLETED", "the rows of users are deleted")


def test_the_page_names_the_extension() -> None:
    assert f"`{INTERRUPTS}`" in PAGE.read_text()
