"""The buyer at its shop: approved, asked, answered twice, ordered once."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.examples.conftest import Serving

pytestmark = [pytest.mark.soak, pytest.mark.timeout(180)]


async def test_an_order_is_approved_asked_about_and_made_once_over_a_restart(
    example: Serving, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = tmp_path / "shop.txt"
    monkeypatch.setenv("SHOP_FILE", str(done))
    async with example("mcp_tools.agent", "buyer") as served:
        await served.say("hat")
        assert (served.asks[0]["reason"], len(served.asks)) == ("tool_call", 1)
        await served.answer({"approved": True})
        assert served.asks[0]["message"].startswith("Which size?")
        await served.restart()
        await served.answer({"size": "XL"})
        assert served.error == "INVALID_RESUME_PAYLOAD"
        text = await served.answer({"size": "M", "gift": True})
        assert "Ordered a hat in M, as a gift." in text
        await served.send_again()
    assert await asyncio.to_thread(done.read_text) == "hat M\n"
