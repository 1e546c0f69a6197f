"""A delta that does not fit what it is for: it is left out, and the run goes on."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from ag_ui.core import (
    ActivityDeltaEvent,
    ActivitySnapshotEvent,
    StateDeltaEvent,
    StateSnapshotEvent,
)

from tests.support.agents import Bench, Scripted, outcome

GOOD = {"op": "add", "path": "/colour", "value": "red"}


@pytest.mark.parametrize("kind", ["STATE_DELTA", "ACTIVITY_DELTA"])
@pytest.mark.parametrize(
    ("broken", "fault"),
    [
        ([{"op": "remove", "path": "/nope"}], "operation 0: there is no member 'nope'"),
        ([GOOD, {"op": "replace", "path": "/a/b", "value": 1}], "operation 1: there is no member"),
        ([{"op": "add", "path": "/list/7", "value": 1}], "operation 0: there is no item 7"),
        ([{"op": "test", "path": "/list", "value": []}], "operation 0: the value at '/list'"),
        ([{"op": "move", "path": "/list/0", "from": "/list"}], "operation 0: a value can't be"),
    ],
    ids=["member", "half", "item", "test", "move"],
)
async def test_a_delta_that_does_not_fit_is_left_out_with_a_warning_and_the_run_goes_on(
    kind: str, broken: list[Any], fault: str, caplog: pytest.LogCaptureFixture
) -> None:
    def delta(patch: list[Any]) -> Any:
        if kind == "STATE_DELTA":
            return StateDeltaEvent(delta=patch)
        return ActivityDeltaEvent(message_id="a", activity_type="plan", patch=patch)

    before = {"list": [1]}
    bench = Bench(
        Scripted(
            [
                StateSnapshotEvent(snapshot=before),
                ActivitySnapshotEvent(message_id="a", activity_type="plan", content=before),
                delta(broken),
                delta([GOOD]),
                "Done.",
            ]
        )
    )
    with caplog.at_level(logging.WARNING, "agui_bridge"):
        events = await bench.say("hi")

    assert outcome(events) == "success"
    patches = [e.get("delta") or e.get("patch") for e in events if e["type"] == kind]
    assert patches == [[GOOD]]
    assert await held(bench, kind) == {"list": [1], "colour": "red"}
    said = [record.getMessage() for record in caplog.records if kind in record.getMessage()]
    assert len(said) == 1 and f"{kind} can't be applied, and is left out: {fault}" in said[0]


async def held(bench: Bench, kind: str) -> Any:
    loaded = await bench.load()
    if kind == "STATE_DELTA":
        assert loaded.record is not None
        return loaded.record.state
    messages = [stored.message for stored in loaded.messages]
    return next(message["content"] for message in messages if message["role"] == "activity")


async def test_a_delta_that_is_left_out_tells_nobody_a_state_either() -> None:
    events = await Bench(Scripted([StateDeltaEvent(delta=[{"op": "remove", "path": "/x"}])])).say(
        "hi"
    )
    assert [event["type"] for event in events] == ["RUN_STARTED", "RUN_FINISHED"]
