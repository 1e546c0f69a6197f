"""Claude Code as an example: its question outlives the server, and what was approved runs once."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.examples.conftest import Serving

pytestmark = pytest.mark.timeout(240)


async def test_what_was_approved_runs_once_over_a_restart(
    example: Serving, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "coder"
    folder.mkdir()
    monkeypatch.setenv("CODER_FOLDER", str(folder))
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    async with example("claude_agent.agent", "coder") as served:
        await served.say("Buy a hat.")
        assert (served.asks[0]["reason"], len(served.asks)) == ("tool_call", 1)
        await served.restart()
        assert "It is noted." in await served.answer({"approved": True})
        await served.send_again()
        await served.say("Sell it.")
        assert "I leave it, then." in await served.answer({"approved": False})
    assert await asyncio.to_thread((folder / "notes.txt").read_text) == "Buy a hat.\n"
