"""What it means that Mastra refused an answer, or broke off once it had it."""

from __future__ import annotations

from typing import Final

from ag_ui.core import ToolCallResultEvent

from agui_bridge.adapters import RunItem
from agui_bridge.errors import AdapterError, NotDelivered, OutcomeUnknown, UpstreamError
from agui_bridge_mastra.http_client import LOST, BrokeOff
from agui_bridge_mastra.requests import NO_ROUTE, Kind, Reply

__all__ = ["failure_of", "settles", "unknown"]

_PARTLY: Final = "Mastra took only some of the answers, then it could not be reached."
_UNKNOWN: Final = (
    "It had the answer by then, or may have had it: whether it acted is unknown, and the answer is "
    "not sent again."
)


def settles(item: RunItem, reply: Reply) -> bool:
    """Whether something that Mastra told shows what came of an answer.

    Whatever it tells after a call was declined; else the call's result.
    """
    return reply.refuses or (
        isinstance(item, ToolCallResultEvent) and item.tool_call_id == reply.waiting.call
    )


def unknown(why: object) -> OutcomeUnknown:
    """The error for an answer of which nobody knows what came of it."""
    return OutcomeUnknown(f"{why} {_UNKNOWN}")


def failure_of(
    error: AdapterError, reply: Reply, kind: Kind, *, first: bool, settled: bool
) -> AdapterError:
    """The error for an answer that could not be told, or was cut off.

    Args:
        error: what happened.
        reply: the answer.
        kind: of the agent.
        first: whether it was the first of the run's answers.
        settled: whether it is known what came of it.
    """
    if isinstance(error, BrokeOff):
        return error if settled else unknown(error)
    if isinstance(error, NotDelivered):
        return error if first else UpstreamError(_PARTLY)
    # Of a workflow's run; or the server has no route of that name.
    if kind == "workflow":
        return UpstreamError(LOST)
    if kind == "network" and not reply.waiting.approval and first:
        return NotDelivered(NO_ROUTE)
    return error
