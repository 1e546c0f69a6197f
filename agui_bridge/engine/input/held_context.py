"""The `context` of inputs that no agent has had is kept, and comes with the run that goes on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ag_ui.core import Context, RunAgentInput

from agui_bridge.protocol.threads.records import Json, ThreadRecord

__all__ = ["context_of", "with_held_context"]


def context_of(input: RunAgentInput) -> Sequence[Mapping[str, Json]]:
    """An input's context as it is stored; empty where it brings none."""
    return [entry.model_dump(mode="json", by_alias=True) for entry in input.context or ()]


def with_held_context(input: RunAgentInput, record: ThreadRecord | None) -> RunAgentInput:
    """An input as its agent gets it: the newest context counts, its own or a held one.

    Args:
        input: as it came.
        record: the thread before the input.
    """
    if input.context or record is None or not record.held_context:
        return input
    held = [Context.model_validate(entry) for entry in record.held_context]
    return input.model_copy(update={"context": held})
