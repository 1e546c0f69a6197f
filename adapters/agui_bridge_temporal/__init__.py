"""Temporal workflows behind agui-bridge: a message starts one, what it asks is a question.

::

    bridge.add("orders", TemporalWorkflow("OrderWorkflow", task_queue="orders"))

Source: Temporal's workflows, queries and updates, as temporalio has them, which the extra of
Temporal's name brings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agui_bridge_temporal.adapter import TemporalWorkflow

__all__ = ["TemporalWorkflow"]


def __getattr__(name: str) -> object:
    # Temporal's sandbox imports this package anew for each workflow that imports what is beside:
    # the bridge is no part of a workflow.
    if name == "TemporalWorkflow":
        from agui_bridge_temporal.adapter import TemporalWorkflow

        return TemporalWorkflow
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
