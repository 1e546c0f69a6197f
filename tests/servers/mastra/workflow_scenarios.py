"""Scenarios of workflows: every way to pause that they have, answered and cancelled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tests.servers.mastra.scenario import Scenario

__all__ = ["WORKFLOWS"]

YES: Final = {"ok": True}
NO: Final = {"ok": False}
CONFIRM: Final = {"confirmed": True}


def workflow(agent: str, *turns: str | tuple[Any, ...], **options: Any) -> Scenario:
    """A conversation with a workflow."""
    return Scenario(agent, turns, "workflow", options)


def tool(name: str, given: str, *answers: tuple[Any, ...]) -> Scenario:
    """A conversation with an agent that calls a workflow as a tool."""
    return Scenario("flow-agent", (f"flow {name} {given}", *answers))


ONE: Final = '{"id": "1"}'
TWO_ITEMS: Final = '{"ids": ["1", "2"]}'
THREE_ITEMS: Final = '{"ids": ["1", "2", "3"]}'

WORKFLOWS: Final[Mapping[str, Scenario]] = {
    "workflow-step": workflow("refundWorkflow", '{"amount": 9}', (CONFIRM,)),
    "workflow-step-cancelled": workflow("refundWorkflow", '{"amount": 9}', (None,)),
    "workflow-step-cancelled-with": workflow(
        "refundWorkflow",
        '{"amount": 9}',
        (None,),
        cancel_with={"confirm-refund": {"confirmed": False}},
    ),
    "workflow-foreach": workflow("eachTwoWorkflow", THREE_ITEMS, (YES, NO), (YES,)),
    "workflow-foreach-one-cancelled": workflow("eachTwoWorkflow", THREE_ITEMS, (None, YES), (YES,)),
    "workflow-foreach-one-by-one": workflow("eachOneWorkflow", TWO_ITEMS, (YES,), (NO,)),
    "workflow-foreach-some": workflow("eachSomeWorkflow", '{"ids": ["b1", "a2", "a3"]}', (YES, NO)),
    "workflow-nested-two": workflow("nestedTwoWorkflow", ONE, (YES,)),
    "workflow-nested-three": workflow("nestedThreeWorkflow", ONE, (YES,)),
    "workflow-nested-cancelled": workflow("nestedThreeWorkflow", ONE, (None,)),
    "workflow-nested-cancelled-with": workflow(
        "nestedThreeWorkflow", ONE, (None,), cancel_with={"inner-step": NO}
    ),
    "workflow-nested-parallel": workflow("nestedParallelWorkflow", ONE, (YES, NO)),
    "workflow-foreach-of-nested": workflow("eachNestedWorkflow", TWO_ITEMS, (YES,), (NO,)),
    "workflow-foreach-of-nested-cancelled": workflow("eachNestedWorkflow", TWO_ITEMS, (None,)),
    "workflow-foreach-within-nested": workflow("nestedEachWorkflow", THREE_ITEMS, (YES,), (NO,)),
    "workflow-parallel": workflow("parallelWorkflow", ONE, (YES, NO)),
    "workflow-parallel-one-cancelled": workflow("parallelWorkflow", ONE, (None, YES)),
    "workflow-parallel-nested": workflow("parallelNestedWorkflow", ONE, (YES, NO)),
    "workflow-branch": workflow("branchWorkflow", ONE, (YES, NO)),
    "workflow-sleep": workflow("sleepWorkflow", ONE, (YES,)),
    "workflow-until": workflow("untilWorkflow", ONE, (NO,), (YES,)),
    "workflow-while": workflow("whileWorkflow", ONE, (NO,), (YES,)),
    "workflow-bail": workflow("bailWorkflow", ONE, (NO,)),
    "workflow-twice": workflow("twiceWorkflow", ONE, ({"date": "2026-12-01"},), (YES,)),
    "workflow-schema-refused": workflow("parallelWorkflow", ONE, ({"ok": "yes"}, YES)),
    "workflow-schema-overridden": workflow(
        "bailWorkflow", ONE, (NO,), step_schemas={"bailing": {"type": "object", "title": "Go on?"}}
    ),
    "workflow-schema-overridden-nested": workflow(
        "nestedTwoWorkflow", ONE, (NO,), step_schemas={"inner-step": {"type": "object"}}
    ),
    "workflow-foreach-of-nested-too-many": workflow("eachNestedWorkflow", THREE_ITEMS, (YES,)),
    "workflow-dots": workflow("dottedWorkflow", ONE, (YES,), (NO,)),
    "workflow-tripwire": workflow("guardedWorkflow", '{"prompt": "hello"}'),
    "workflow-fails": workflow("failWorkflow", ONE, (YES,)),
    "workflow-agent-step": workflow("agentStepWorkflow", '{"prompt": "lookup 7"}'),
    "workflow-agent-step-approval": workflow("agentStepWorkflow", '{"prompt": "delete 7"}'),
    "workflow-agent-step-suspended": workflow("suspendAgentStepWorkflow", '{"prompt": "refund 7"}'),
    "workflow-agent-step-nested": workflow("nestedAgentStepWorkflow", '{"prompt": "delete 7"}'),
    "workflow-writes": workflow("writingWorkflow", ONE),
    "tool-workflow-foreach": tool("eachTwoWorkflow", THREE_ITEMS, (NO,), (YES,)),
    "tool-workflow-nested": tool("nestedThreeWorkflow", ONE, (YES,)),
    "tool-workflow-sleep": tool("sleepWorkflow", ONE, (YES,)),
    "tool-workflow-parallel": tool("parallelWorkflow", ONE, (YES,)),
    "tool-workflow-agent-step": tool("agentStepWorkflow", '{"prompt": "delete 7"}'),
}
