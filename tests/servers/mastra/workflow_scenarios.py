"""Scenarios of workflows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tests.servers.mastra.scenario import Scenario

__all__ = ["WORKFLOWS"]

CONFIRM: Final = {"confirmed": True}


def workflow(agent: str, *turns: str | tuple[Any, ...], **options: Any) -> Scenario:
    """A conversation with a workflow."""
    return Scenario(agent, turns, "workflow", options)


WORKFLOWS: Final[Mapping[str, Scenario]] = {
    "workflow-step": workflow("refundWorkflow", '{"amount": 9}', (CONFIRM,)),
    "workflow-step-cancelled": workflow("refundWorkflow", '{"amount": 9}', (None,)),
}
