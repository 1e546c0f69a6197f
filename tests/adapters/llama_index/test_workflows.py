"""Workflows that are no agents: how their steps end, and what they ask and are answered with."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from ag_ui.core import StateSnapshotEvent
from workflows import Context, Workflow, step
from workflows.events import HumanResponseEvent, InputRequiredEvent, StartEvent, StopEvent

from agui_bridge import Bridge, emit
from agui_bridge.testing import talk
from agui_bridge_llama_index import LlamaIndexAdapter


class Empty(Workflow):
    """Its step is a function beside it."""


@step(workflow=Empty)
async def cut_off(ev: StartEvent) -> StopEvent:
    """Wait for what somebody else has cancelled."""
    future = asyncio.get_running_loop().create_future()
    future.cancel()
    await future
    return StopEvent()


class CutOff(Workflow):
    @step
    async def begin(self, ev: StartEvent) -> StopEvent:
        """Be cut off."""
        return await cut_off(ev)


class Place(InputRequiredEvent):
    """Where it is to be."""

    question: str
    place: str


class Colour(HumanResponseEvent):
    """Which colour it is to be."""

    name: str
    depth: int = 1


class Painter(Workflow):
    @step
    async def begin(self, ctx: Context, ev: StartEvent) -> StopEvent:
        """Ask twice, one after the other."""
        painted = []
        for place in ("wall", "door"):
            asked = Place(question=f"The {place}?", place=place)
            colour = await ctx.wait_for_event(Colour, waiter_event=asked, timeout=60)
            painted.append(f"{place} {colour.name} {colour.depth}")
        return StopEvent(result={"painted": painted})


@pytest.mark.parametrize("kind", [CutOff, Empty], ids=["a method", "a function"])
async def test_a_step_that_is_cut_off_ends_the_run(kind: type[Workflow]) -> None:
    bridge = Bridge("memory:")
    bridge.add("one", kind(timeout=None))
    async with talk(bridge, "one") as one:
        assert (await one.say("hello")).ending == "AGENT_ERROR"


async def test_answers_fit_the_event_that_the_step_waits_for_and_each_question_has_its_own() -> (
    None
):
    bridge = Bridge("memory:")
    bridge.add("painter", Painter(timeout=None))
    async with talk(bridge, "painter") as one:
        wall = await one.say("paint")
        assert set(wall.asks[0]["responseSchema"]["properties"]) == {"name", "depth"}
        assert wall.asks[0]["expiresAt"]
        assert wall.asks[0]["metadata"]["place"] == "wall"
        assert (await one.answer(wall, {"depth": 2})).ending == "INVALID_RESUME_PAYLOAD"
        door = await one.answer(wall, {"name": "red", "depth": 2})
        assert [ask["message"] for ask in door.asks] == ["The door?"]
        ended = await one.answer(door, {"name": "blue"})
    assert ended.events[-1]["result"] == {"painted": ["wall red 2", "door blue 1"]}


async def test_a_workflow_begins_with_what_its_author_makes_of_the_run() -> None:
    class Begun(StartEvent):
        topic: str

    class Talker(Workflow):
        @step
        async def begin(self, ev: Begun) -> StopEvent:
            """Say what about."""
            emit(StateSnapshotEvent(snapshot={"topic": ev.topic}))
            return StopEvent(result=f"About {ev.topic}.")

    options: Any = [lambda run: {"topic": run.text}, lambda run: Begun(topic=run.text)]
    for start in options:
        bridge = Bridge("memory:")
        bridge.add("talker", LlamaIndexAdapter(Talker(timeout=None), start=start))
        async with talk(bridge, "talker") as one:
            assert (await one.say("trees")).text == "About trees."
            assert await one.state() == {"topic": "trees"}
