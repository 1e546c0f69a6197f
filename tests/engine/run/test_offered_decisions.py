"""Arguments may be edited only where something says what they must be."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any

import pytest

from agui_bridge.adapters import Ask, Pause
from agui_bridge.agents.function.adapter import FunctionAdapter
from agui_bridge.agents.function.run import FunctionRun
from agui_bridge.protocol.threads.records import ToolCall
from tests.support.agents import Bench, Scripted, outcome

PARAMETERS = {
    "type": "object",
    "properties": {"limit": {"type": "integer"}},
    "required": ["limit"],
    "additionalProperties": False,
}
BOTH = ["approve", "decline"]


def pausing(allowed: Sequence[str] | None, parameters: Mapping[str, Any] | None) -> Pause:
    call = ToolCall("c", "delete", {"limit": 1})
    return Pause([Ask("n", "tool_call", tool_call=call, parameters=parameters, allowed=allowed)])


async def offered(bench: Bench, text: str = "go") -> tuple[list[str], bool]:
    """The decisions of the open question as they are stored, and whether it shows edits."""
    (shown,) = (await bench.say(text))[-1]["outcome"]["interrupts"]
    stored = (await bench.load(shown["id"])).interrupts[shown["id"]]
    return list(stored.allowed), "editedArgs" in shown["responseSchema"]["properties"]


@pytest.mark.parametrize(
    ("capabilities", "allowed", "parameters", "expected"),
    [
        ({"edit": True}, None, PARAMETERS, [*BOTH, "edit"]),
        ({"edit": True}, None, None, BOTH),
        ({"edit": False}, None, PARAMETERS, BOTH),
        ({"edit": True, "decline": False}, None, PARAMETERS, ["approve", "edit"]),
        ({"edit": True}, ["approve"], PARAMETERS, ["approve"]),
        ({"edit": True}, ("approve", "decline"), PARAMETERS, BOTH),
        ({"edit": True}, ("approve", "decline", "edit"), None, [*BOTH, "edit"]),
        ({"edit": False}, ("approve", "decline", "edit"), PARAMETERS, BOTH),
    ],
)
async def test_what_is_offered_follows_the_capabilities_and_the_question(
    capabilities: dict[str, bool],
    allowed: Sequence[str] | None,
    parameters: Mapping[str, Any] | None,
    expected: list[str],
) -> None:
    bench = Bench(Scripted([pausing(allowed, parameters)], **capabilities))

    assert await offered(bench) == (expected, "edit" in expected)


def delete(limit: int) -> str:
    """The tool."""
    return f"{limit} deleted"


def approving(**members: Any) -> Callable[[FunctionRun], AsyncIterator[str]]:
    async def agent(run: FunctionRun) -> AsyncIterator[str]:
        approval = await run.approve("delete", {"limit": 1}, **members)
        yield str(await run.tool(approval, delete)) if approval else "nothing"

    return agent


@pytest.mark.parametrize(
    ("members", "edits"),
    [
        ({}, False),
        ({"fn": delete}, True),
        ({"parameters": PARAMETERS}, True),
        ({"parameters": PARAMETERS, "editable": False}, False),
        ({"editable": True}, False),
    ],
)
async def test_an_approval_is_editable_where_its_parameters_are_known(
    members: dict[str, Any], edits: bool
) -> None:
    bench = Bench(FunctionAdapter(approving(**members)))

    assert await offered(bench) == ([*BOTH, "edit"] if edits else BOTH, edits)


@pytest.mark.parametrize("members", [{}, {"fn": delete}], ids=["unknown", "known"])
async def test_arguments_that_nothing_vouches_for_are_refused_and_the_question_stays(
    members: dict[str, Any],
) -> None:
    bench = Bench(FunctionAdapter(approving(**members)))
    (asked,) = (await bench.say("go"))[-1]["outcome"]["interrupts"]

    def entry(**payload: Any) -> dict[str, Any]:
        return {"interruptId": asked["id"], "status": "resolved", "payload": payload}

    wrong = entry(approved=True, editedArgs={"limit": "all; drop"})
    assert outcome(await bench.say(resume=[wrong])) == "INVALID_RESUME_PAYLOAD"
    events = await bench.say(resume=[entry(approved=True)])
    assert outcome(events) == "success"
    assert "1 deleted" in [event.get("content") for event in events]
