"""The coder: its question outlives it and its server, and what was approved is written once."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.examples.conftest import Serving

pytestmark = pytest.mark.timeout(180)


async def test_what_was_approved_is_written_once_over_a_restart(
    example: Serving, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "coder"
    folder.mkdir()
    monkeypatch.setenv("CODER_FOLDER", str(folder))
    async with example("acp_agent.agent", "coder") as served:
        await served.say("Buy a hat.")
        assert (served.asks[0]["reason"], len(served.asks)) == ("tool_call", 1)
        await served.restart()
        assert "It is written." in await served.answer({"approved": True})
        await served.send_again()
        await served.say("Sell it.")
        assert "I leave it, then." in await served.answer({"approved": False})
    assert await asyncio.to_thread((folder / "notes.txt").read_text) == "Buy a hat.\n"
