"""Two teams over A2A: what one asks is answered at the other, and shipped once over restarts."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.examples.served import serving

pytestmark = pytest.mark.timeout(180)


async def test_an_order_is_shipped_once_though_both_sides_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "warehouse").mkdir()
    async with serving(
        "examples.a2a_teams.warehouse", "warehouse", tmp_path / "warehouse"
    ) as there:
        monkeypatch.setenv("WAREHOUSE", f"{there.base}/a2a/warehouse")
        async with serving("examples.a2a_teams.desk", "desk", tmp_path) as desk:
            await desk.say("hats")
            assert desk.asks[0]["responseSchema"]["required"] == ["pieces"]
            await desk.answer({"pieces": 500})
            assert desk.error == "INVALID_RESUME_PAYLOAD"
            await desk.restart()
            await desk.answer({"pieces": 12})
            (ask,) = desk.asks
            assert ask["metadata"]["a2a"] == {"reason": "tool_call"}
            assert there.counts("shipped") == {}
            assert "12 hats are on their way." in await desk.answer({"approved": True})
            await desk.send_again()
        assert there.counts("shipped") == {"hats": 12}
