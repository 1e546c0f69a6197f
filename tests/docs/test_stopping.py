"""docs/stopping.md does what it says."""

from __future__ import annotations

import asyncio

from agui_bridge import EndReason
from tests.docs.pages import ROOT, Conversation, run_page
from tests.support.agents import eventually

PAGE = ROOT / "docs" / "stopping.md"


async def test_a_run_is_stopped_and_the_hook_is_told() -> None:
    page = await run_page(PAGE)
    bridge = page["bridge"]
    assert sorted(bridge.agents) == ["counter"]
    async with bridge.lifespan():
        engine = await bridge.open()
        talk = Conversation(bridge, "counter")
        saying = asyncio.create_task(talk.say("go"))
        await eventually(lambda: any(r.run.iteration for r in engine.running.values()))
        partial = await page["stop"]("t")
        assert await saying == partial
        assert talk.events[-1]["outcome"] == {"type": "cancelled"}
        await eventually(lambda: page["ended"] == [("t", EndReason.USER_INTERRUPTED)])


def test_the_page_names_every_reason() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert [reason for reason in EndReason if f"`{reason}`" not in text] == []
