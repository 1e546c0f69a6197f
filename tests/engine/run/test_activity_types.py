"""Snapshots speak for the thread's activities alone: a page has others, such as A2UI surfaces."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from ag_ui.core import ActivitySnapshotEvent, BaseEvent

from agui_bridge import Bridge
from agui_bridge.agents.function.adapter import FunctionAdapter
from agui_bridge.agents.function.run import FunctionRun
from agui_bridge.testing import talk
from agui_bridge.testing.conversation import Stream

pytestmark = pytest.mark.anyio


async def agent(run: FunctionRun) -> AsyncIterator[str | BaseEvent]:
    for kind in run.text.split():
        if kind == "ask":
            await run.confirm("Go on?")
            return
        yield ActivitySnapshotEvent(
            message_id=f"{run.run_id}-{kind}", activity_type=kind, content={"kind": kind}
        )
    yield "Done."


def spoken_of(told: Stream) -> list[Any]:
    """The types that each snapshot of a stream speaks of; None where it says nothing."""
    return [
        event.get("metadata", {}).get("@ag-ui/client", {}).get("authoritativeActivityTypes")
        for event in told.events
        if event["type"] == "MESSAGES_SNAPSHOT"
    ]


@pytest.mark.parametrize(
    ("said", "types"),
    [
        ("plan ask", ["plan"]),
        ("plan chart plan ask", ["chart", "plan"]),
        # What looks like a surface of AG-UI's middleware is the page's, whoever told it.
        ("a2ui-surface plan ask", ["plan"]),
        ("a2ui-surface ask", None),
        ("ask", None),
    ],
)
async def test_a_snapshot_says_of_which_activities_it_speaks(
    said: str, types: list[str] | None
) -> None:
    bridge = Bridge("memory:")
    bridge.add("agent", FunctionAdapter(agent))
    async with talk(bridge, "agent") as one:
        asked = await one.say(said)
        assert spoken_of(asked)[-1] == types
        assert spoken_of(await one.answer(asked, {"confirm": True}))[-1] == types


async def test_what_was_taken_back_leaves_the_page() -> None:
    bridge = Bridge("memory:")
    bridge.add("agent", FunctionAdapter(agent))
    async with talk(bridge, "agent") as one:
        await one.say("plan")
        await one.say("chart")
        said = [m for m in await one.messages() if m["role"] != "activity"]
        edited = {"id": "edited", "role": "user", "content": "note ask"}
        told = await one.send([*said[:2], edited], newest=said[-1]["id"])
        assert told.ending == "interrupt"
        assert spoken_of(told)[-1] == ["chart", "note", "plan"]
        shown = [m["activityType"] for m in await one.messages() if m["role"] == "activity"]
        assert shown == ["plan", "note"]
