"""AG-UI's own A2UI middleware before agents behind the bridge: the surface is shown, and stays."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Final

import pytest
from ag_ui.core import ActivitySnapshotEvent

from agui_bridge import Bridge
from agui_bridge.agents.chat import ChatAgent, tool
from agui_bridge.emitting import emit
from tests.servers.model.script import Reply, ToolUse
from tests.servers.model.server import ScriptedModel
from tests.support import unavailable
from tests.support.server import serve

pytestmark = pytest.mark.anyio

HERE: Final = Path(__file__).parent
CARD: Final = {"id": "root", "component": "Card", "title": {"path": "/title"}}
VALID: Final = {"surfaceId": "offer", "components": [CARD], "data": {"title": "Tea"}}
NO_ROOT: Final = {"surfaceId": "offer", "components": [{"id": "a", "component": "Card"}]}
CALL: Final = Reply(calls=[ToolUse("generate_a2ui", {}, id="call_gen")])
PLAN: Final = Reply(calls=[ToolUse("plan", {}, id="call_plan")])
DONE: Final = Reply("Here it is.")


def drawing(args: Any, number: int = 1) -> Reply:
    return Reply(calls=[ToolUse("render_a2ui", args, id=f"call_draw_{number}")], fragment=12)


@tool
async def plan() -> str:
    """Show a plan."""
    emit(ActivitySnapshotEvent(message_id="plan-1", activity_type="plan", content={"steps": []}))
    return "shown"


async def seen(*replies: Reply, clicks: Sequence[Any] = ()) -> dict[str, Any]:
    """What a page has that talks to an agent whose model says these replies."""
    if not (HERE / "node_modules/@ag-ui/a2ui-middleware").exists():
        unavailable("@ag-ui/a2ui-middleware", "`make e2e` installs it, or npm ci does")
    async with AsyncExitStack() as used:
        model = await used.enter_async_context(ScriptedModel(*replies))
        agent = ChatAgent("m", tools=[plan], base_url=model.base_url, api_key="k", retries=0)
        bridge = Bridge("memory:")
        bridge.add("painter", agent)
        base = await used.enter_async_context(serve(bridge.app(anonymous=True)))
        node = await asyncio.create_subprocess_exec(
            *("node", "a2ui.mjs", f"{base}/agents/painter", "show tea"),
            *map(json.dumps, clicks),
            cwd=HERE,
            stdout=asyncio.subprocess.PIPE,
        )
        out, _ = await asyncio.wait_for(node.communicate(), 60)
        found: dict[str, Any] = json.loads(out)
        found["heard"] = [json.dumps(one.body, ensure_ascii=False) for one in model.requests]
        return found


def surfaces(messages: list[Any]) -> list[Any]:
    return [m for m in messages if m.get("activityType") == "a2ui-surface"]


async def test_the_surface_grows_in_one_place_while_it_is_drawn() -> None:
    page = await seen(CALL, drawing(VALID), DONE)
    told = page["told"]
    assert len({one["messageId"] for one in told}) == 1
    assert told[0]["content"] == {"status": "building"}
    (surface,) = surfaces(page["view"][-1])
    made = surface["content"]["a2ui_operations"]
    assert made[0]["createSurface"]["catalogId"] == "https://shop.example/catalog.json"
    assert made[1]["updateComponents"]["components"] == [CARD]
    assert made[-1]["updateDataModel"]["value"] == {"title": "Tea"}
    # Before the data was there the components were.
    assert any(len(one["content"].get("a2ui_operations", ())) == 2 for one in told)


async def test_an_invalid_surface_is_never_shown_and_the_page_says_that_it_is_drawn_anew() -> None:
    page = await seen(CALL, drawing(NO_ROOT), drawing(VALID, 2), DONE)
    states = [one["content"].get("status", "shown") for one in page["told"]]
    assert list(dict.fromkeys(states)) == ["building", "retrying", "shown"]
    assert len({one["messageId"] for one in page["told"]}) == 1
    assert len(surfaces(page["view"][-1])) == 1


async def test_a_page_says_so_where_no_try_was_valid() -> None:
    page = await seen(CALL, *(drawing(NO_ROOT, number) for number in (1, 2, 3)), DONE)
    (surface,) = surfaces(page["view"][-1])
    assert surface["content"]["status"] == "failed"
    assert len(surface["content"]["attempts"]) == 3


async def test_activities_of_an_agent_leave_the_surface_and_a_click_reaches_it() -> None:
    click = {"name": "buy", "surfaceId": "offer", "context": {"tea": "oolong"}}
    script = [CALL, drawing(VALID), DONE, PLAN, Reply("Planned."), Reply("Bought.")]
    page = await seen(*script, clicks=[click, click])
    before, _, after = page["view"]
    assert surfaces(after) == surfaces(before) != []
    assert [m["activityType"] for m in after if m["role"] == "activity"] == ["a2ui-surface", "plan"]
    assert 'User performed action \\"buy\\"' in page["heard"][3]
