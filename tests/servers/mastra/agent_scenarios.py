"""Scenarios of agents: at every depth, and of all that a stream can bring."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tests.servers.mastra.scenario import Scenario

__all__ = ["AGENTS"]

APPROVE: Final = {"approved": True}
DECLINE: Final = {"approved": False, "reason": "not today"}
CONFIRM: Final = {"confirmed": True}


def agent(name: str, *turns: str | tuple[Any, ...], **options: Any) -> Scenario:
    """A conversation with an agent."""
    return Scenario(name, turns, "agent", options)


def network(name: str, *turns: str | tuple[Any, ...]) -> Scenario:
    """A conversation with a network."""
    return Scenario(name, turns, "network")


DEPTH: Final[Mapping[str, Scenario]] = {
    "depth-three-approve": agent("lead", "to supervisor agent delete 42", (APPROVE,)),
    "depth-three-decline": agent("lead", "to supervisor agent delete 42", (DECLINE,)),
    "depth-three-cancelled": agent("lead", "to supervisor agent delete 42", (None,)),
    "depth-three-suspended": agent("lead", "to supervisor agent refund 10", (CONFIRM,)),
    "depth-three-own-tool": agent("lead", "mark 7", (APPROVE,)),
    "depth-four-approve": agent("chief", "to lead to supervisor agent delete 42", (APPROVE,)),
    "depth-four-workflow": agent("chief", "to lead to supervisor workflow 11", (CONFIRM,)),
    "depth-parallel": agent(
        "chief",
        "both to lead to supervisor agent delete 1 | to suspendAgent refund 2",
        (CONFIRM, APPROVE),
    ),
    "depth-parallel-one-cancelled": agent(
        "chief",
        "both to lead to supervisor agent delete 1 | to suspendAgent refund 2",
        (None, APPROVE),
    ),
    "depth-in-turn": agent(
        "lead",
        "both to supervisor agent delete 1 | to approvalAgent delete 2",
        (APPROVE,),
        (DECLINE,),
    ),
    "depth-one-after-the-other": agent(
        "lead", "to supervisor agent delete 1 and 2", (APPROVE,), (DECLINE,)
    ),
    "depth-asks-twice": agent(
        "lead", "to supervisor agent book Rome", ({"date": "2026-12-01"},), (CONFIRM,)
    ),
    "depth-fails": agent("supervisor", "to approvalAgent boom"),
    "depth-three-fails": agent("lead", "to supervisor to approvalAgent boom"),
    "depth-one-of-two-fails": agent(
        "lead", "both to approvalAgent boom | to supervisor agent delete 3", (APPROVE,)
    ),
    "depth-network-approve": network("lead-network", "to supervisor agent delete 42", (APPROVE,)),
    "depth-network-decline": network("lead-network", "to supervisor agent delete 42", (DECLINE,)),
    "depth-network-four": network(
        "lead-network", "to lead to supervisor agent delete 42", (APPROVE,)
    ),
    "depth-network-suspended": network("lead-network", "to supervisor agent refund 10", (CONFIRM,)),
    "depth-network-fails": network("lead-network", "to approvalAgent boom"),
    "depth-network-inner-fails": network("lead-network", "to supervisor to approvalAgent boom"),
}

OUTPUTS: Final[Mapping[str, Scenario]] = {
    "tripwire-of-the-input": agent("guarded-agent", "forbidden word", "hello"),
    "tripwire-of-the-output": agent("guarded-agent", "say forbidden"),
    "tripwire-of-a-sub-agent": agent("guard-supervisor", "to guardedAgent forbidden word"),
    "void-approved": agent("telling-agent", "void 7", (APPROVE,)),
    "void-declined": agent("telling-agent", "void 17", (DECLINE,)),
    "void-of-a-sub-agent": agent("guard-supervisor", "to tellingAgent void 27", (APPROVE,)),
    "void-without-approval": agent("telling-agent", "pull 8"),
    "tool-fails": agent("telling-agent", "fail 8", (APPROVE,)),
    "data-of-a-tool": agent("telling-agent", "data 4"),
    "data-of-a-sub-agent": agent("guard-supervisor", "to tellingAgent data 6"),
    "object": agent("object-agent", "object"),
    "background-task": agent("task-agent", "task 5"),
    "background-task-to-its-end": agent("task-agent", "task 5", options={"untilIdle": True}),
    "two-questions-one-cancelled": agent("ask-agent", "ask red and blue", (None, {"answer": "b"})),
    "two-questions-one-cancelled-with": agent(
        "ask-agent",
        "ask red and blue",
        (None, {"answer": "b"}),
        cancel_with={"askUser": {"answer": "nothing"}},
    ),
    "workflow-of-an-agent-fails": agent("guard-supervisor", "run failing 9", (CONFIRM,)),
    "memory-told": agent("profile-agent", 'remember {"name":"Ann"}', working_memory="tell"),
    "memory-of-a-template": agent(
        "notes-agent", "remember # Notes\n- Name: Bo", working_memory="share"
    ),
}

AGENTS: Final[Mapping[str, Scenario]] = {**DEPTH, **OUTPUTS}
