"""What a graph's code tells itself, in the words of AG-UI's and CopilotKit's servers of graphs.

`manually_emit_state`, `manually_emit_message` and `manually_emit_tool_call` are events that the
code dispatches; CopilotKit's helpers dispatch the same under names of their own.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from ag_ui.core import (
    BaseEvent,
    CustomEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallStartEvent,
)

from agui_bridge_langgraph.content import plain

STATE: Final = ("manually_emit_state", "copilotkit_manually_emit_intermediate_state")
MESSAGE: Final = ("manually_emit_message", "copilotkit_manually_emit_message")
CALL: Final = ("manually_emit_tool_call", "copilotkit_manually_emit_tool_call")
EXIT: Final = "copilotkit_exit"


def message_events(value: Any) -> list[BaseEvent]:
    """The message that an event's value holds; none if it holds none."""
    own, text = _members(value, "message_id", "message")
    if own is None or not isinstance(text, str):
        return []
    return [
        TextMessageStartEvent(message_id=own, role="assistant"),
        TextMessageContentEvent(message_id=own, delta=text),
        TextMessageEndEvent(message_id=own),
    ]


def call_events(value: Any, own: str) -> Iterator[BaseEvent]:
    """A call, told whole.

    Args:
        value: its `name` and `args`.
        own: its id on the wire.
    """
    args = value["args"] if isinstance(value["args"], str) else json.dumps(plain(value["args"]))
    name = str(value["name"])
    yield ToolCallStartEvent(tool_call_id=own, tool_call_name=name, parent_message_id=own)
    yield ToolCallArgsEvent(tool_call_id=own, delta=args)
    yield ToolCallEndEvent(tool_call_id=own)


def custom(name: str, value: Any) -> CustomEvent:
    """An event of the application's own."""
    return CustomEvent(name=name, value=plain(value))


def _members(value: Any, own: str, other: str) -> tuple[str | None, Any]:
    told = value if isinstance(value, Mapping) else {}
    named = told.get(own)
    return (named if isinstance(named, str) and named else None), told.get(other)
