"""docs/a2ui.md does what it says."""

from __future__ import annotations

import json

import pytest

from agui_bridge.testing import talk
from tests.docs.pages import ROOT, run_page

pytestmark = pytest.mark.anyio


async def test_a_function_agent_shows_a_surface_where_the_page_offers_to() -> None:
    names = await run_page(ROOT / "docs" / "a2ui.md")
    async with talk(names["bridge"], "shop") as one:
        assert (await one.say("tea?")).text == "Tea: 3 EUR."
        one.forwarded = {"injectA2UITool": True}
        told = await one.say("show it")
        assert told.text == "Here it is."
    results = [e["content"] for e in told.events if e["type"] == "TOOL_CALL_RESULT"]
    made = json.loads(results[-1])["a2ui_operations"]
    assert made[1]["updateComponents"] == {
        "surfaceId": "tea",
        "components": [{"id": "root", "component": "Text", "text": "Tea"}],
    }
