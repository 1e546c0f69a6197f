"""The events that a tool call of a function agent puts on the wire."""

from __future__ import annotations

import json
from collections.abc import Mapping

from ag_ui.core import BaseEvent, ToolCallResultEvent

from agui_bridge.agents.replay.continuation import Denied, Failure, Outcome, Value
from agui_bridge.agents.replay.failures import ResultWithoutJson
from agui_bridge.protocol.answers.unexecuted import (
    CANCELLED_AMID,
    UNTELLABLE,
    denied_by_policy,
)
from agui_bridge.protocol.lifecycle.made_events import whole_call
from agui_bridge.protocol.threads.records import Json

__all__ = ["failure_text", "tool_call", "tool_result"]


def tool_call(call_id: str, name: str, args: Mapping[str, Json]) -> tuple[BaseEvent, ...]:
    """Make the START, ARGS and END events of one tool call."""
    return whole_call(call_id, name, _compact(args))


def tool_result(call_id: str, message_id: str, outcome: Outcome) -> BaseEvent:
    """Make the TOOL_CALL_RESULT event: a str as it is, other values as compact JSON."""
    match outcome:
        case Value(value=str(text)):
            content = text
        case Value(value=value):
            content = _compact(value)
        case Failure(error=error):
            content = failure_text(error)
        case Denied(reason=reason):
            content = denied_by_policy(reason)
        case _:
            content = CANCELLED_AMID
    return ToolCallResultEvent(message_id=message_id, tool_call_id=call_id, content=content)


def failure_text(error: str) -> str:
    """What is told of a tool that raised: the exception's type alone, its text may hold secrets.

    Args:
        error: name of that type; one is raised here, for a tool that ran.
    """
    return UNTELLABLE if error == ResultWithoutJson.__name__ else f"The tool failed: {error}"


def _compact(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
