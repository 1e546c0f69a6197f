"""Events made here: from an adapter's event objects, or supplied in its stead."""

from collections.abc import Mapping
from typing import Any, Final, cast, get_args

from ag_ui.core import BaseEvent, Event, ToolCallArgsEvent, ToolCallEndEvent, ToolCallStartEvent
from pydantic_core import PydanticSerializationError, to_json

from agui_bridge.protocol.json_values import WireEvent, clean, clean_text
from agui_bridge.protocol.lifecycle.event_rules import KINDS

__all__ = [
    "FIELDS",
    "call_events",
    "delta_event",
    "end_event",
    "start_event",
    "to_wire",
    "whole_call",
]

FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    kind.value: tuple(field.alias or name for name, field in model.model_fields.items())
    for model in get_args(get_args(Event)[0])
    for kind in get_args(model.model_fields["type"].annotation)
}
"""The keys of every type of event, in the official order.

As the installed `ag_ui` declares them: what a newer one adds is passed on like the others.
"""


def to_wire(event: BaseEvent) -> WireEvent:
    """Turn an event object into a wire event of clean JSON, in the official key order."""
    try:
        wire: WireEvent = event.model_dump(mode="json", by_alias=True, warnings=False)
        encoded = to_json(wire, inf_nan_mode="constants")
    except (PydanticSerializationError, ValueError):
        return cast(WireEvent, clean(event.model_dump(by_alias=True, warnings=False)))
    # Encoding finds what is rarely there much faster than a walk over a large snapshot.
    suspicious = any(mark in encoded for mark in (rb"\u0000", b"NaN", b"Infinity"))
    return cast(WireEvent, clean(wire)) if suspicious else wire


def start_event(kind: str, wire: WireEvent) -> WireEvent:
    """Make the START of a thing whose first CONTENT or CHUNK is ``wire``."""
    start: WireEvent = {"type": KINDS[kind].start}
    for key in FIELDS[KINDS[kind].start][1:]:
        if key in wire:
            start[key] = wire[key]
        elif key == "role" and KINDS[kind].role:
            start[key] = KINDS[kind].role
    return start


_DELTAS: Final = {name: (kind.content, kind.key) for name, kind in KINDS.items()}


def delta_event(kind: str, wire_id: str, owner: str | None, delta: str) -> WireEvent:
    """Make a CONTENT event without anything special about it."""
    content, key = _DELTAS[kind]
    if owner is None:
        return {"type": content, key: wire_id, "delta": delta}
    return {"type": content, "subagentRunId": owner, key: wire_id, "delta": delta}


def end_event(kind: str, wire_id: str, owner: str | None) -> WireEvent:
    """Make the END that an adapter forgot."""
    tag: dict[str, Any] = {} if owner is None else {"subagentRunId": owner}
    return {"type": KINDS[kind].end, **tag, KINDS[kind].key: wire_id}


def call_events(
    call_id: str, name: str, arguments: str, owner: str | None
) -> tuple[WireEvent, WireEvent, WireEvent]:
    """Make the START, ARGS and END of a whole call as they travel: what `whole_call` comes to."""
    tag: dict[str, Any] = {} if owner is None else {"subagentRunId": owner}
    tag["toolCallId"] = clean_text(call_id)
    return (
        {"type": "TOOL_CALL_START", **tag, "toolCallName": clean_text(name)},
        {"type": "TOOL_CALL_ARGS", **tag, "delta": clean_text(arguments)},
        {"type": "TOOL_CALL_END", **tag},
    )


def whole_call(
    call_id: str, name: str, arguments: str, *, parent: str | None = None, owner: str | None = None
) -> tuple[BaseEvent, ...]:
    """Make the START, ARGS and END of a tool call whose arguments are all known.

    Args:
        call_id: its id.
        name: the tool.
        arguments: JSON text.
        parent: id of the message that the call belongs to.
        owner: run id of the sub-agent that calls.
    """
    start = ToolCallStartEvent(
        tool_call_id=call_id, tool_call_name=name, parent_message_id=parent, subagent_run_id=owner
    )
    args = ToolCallArgsEvent(tool_call_id=call_id, delta=arguments, subagent_run_id=owner)
    return start, args, ToolCallEndEvent(tool_call_id=call_id, subagent_run_id=owner)
