"""The order of AG-UI events as data: which event does what to which kind of thing.

Source: AG-UI 1.0, lifecycle, tool-calls and subagents pages; what breaks a chunk stream is
what ``@ag-ui/client`` 1.0.0 lets break it (its chunk transformation).
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias, cast, get_args

from ag_ui.core import BaseEvent, Event, ToolCallArgsEvent, ToolCallEndEvent, ToolCallStartEvent
from pydantic_core import PydanticSerializationError, to_json

from agui_bridge.frozen import dataclass
from agui_bridge.protocol.json_values import WireEvent, clean, clean_text

Verb: TypeAlias = Literal["open", "append", "close", "chunk", "settle", "pass", "refuse"]
"""What an event does to its thing.

``settle`` gives a tool call its result, ``pass`` opens nothing, ``refuse`` is for events
that are the engine's alone.
"""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of thing that is opened and must be closed before the run ends."""

    key: str
    """The wire key that holds its id."""
    start: str
    content: str
    """The event that appends to it; empty for what has no content."""
    end: str
    role: str = ""
    """The role that a START has which the adapter forgot."""


KINDS: Final[Mapping[str, Kind]] = MappingProxyType(
    # In the order in which what a run left open is closed.
    {
        "text": Kind(
            "messageId",
            "TEXT_MESSAGE_START",
            "TEXT_MESSAGE_CONTENT",
            "TEXT_MESSAGE_END",
            role="assistant",
        ),
        "reasoning": Kind(
            "messageId",
            "REASONING_MESSAGE_START",
            "REASONING_MESSAGE_CONTENT",
            "REASONING_MESSAGE_END",
            role="reasoning",
        ),
        "span": Kind("messageId", "REASONING_START", "", "REASONING_END"),
        "call": Kind("toolCallId", "TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END"),
        "step": Kind("stepName", "STEP_STARTED", "", "STEP_FINISHED"),
        "subagent": Kind("subagentRunId", "SUBAGENT_STARTED", "", "SUBAGENT_FINISHED"),
    }
)


@dataclass(frozen=True, slots=True)
class EventRule:
    """What one type of event does."""

    verb: Verb
    kind: str = ""
    breaks: bool = True
    """Whether it ends an implicit (chunk or plain str) message of its owner."""


EVENT_RULES: Final[Mapping[str, EventRule]] = MappingProxyType(
    {
        "TEXT_MESSAGE_START": EventRule("open", "text"),
        "TEXT_MESSAGE_CONTENT": EventRule("append", "text"),
        "TEXT_MESSAGE_END": EventRule("close", "text"),
        "TEXT_MESSAGE_CHUNK": EventRule("chunk", "text"),
        "REASONING_START": EventRule("open", "span"),
        "REASONING_MESSAGE_START": EventRule("open", "reasoning"),
        "REASONING_MESSAGE_CONTENT": EventRule("append", "reasoning"),
        "REASONING_MESSAGE_END": EventRule("close", "reasoning"),
        "REASONING_MESSAGE_CHUNK": EventRule("chunk", "reasoning"),
        "REASONING_END": EventRule("close", "span"),
        "TOOL_CALL_START": EventRule("open", "call"),
        "TOOL_CALL_ARGS": EventRule("append", "call"),
        "TOOL_CALL_END": EventRule("close", "call"),
        "TOOL_CALL_CHUNK": EventRule("chunk", "call"),
        "TOOL_CALL_RESULT": EventRule("settle", "call"),
        "STEP_STARTED": EventRule("open", "step"),
        "STEP_FINISHED": EventRule("close", "step"),
        "SUBAGENT_STARTED": EventRule("open", "subagent", breaks=False),
        "SUBAGENT_FINISHED": EventRule("close", "subagent"),
        "SUBAGENT_ERROR": EventRule("close", "subagent"),
        "STATE_SNAPSHOT": EventRule("pass"),
        "STATE_DELTA": EventRule("pass"),
        "MESSAGES_SNAPSHOT": EventRule("pass"),
        "CUSTOM": EventRule("pass"),
        "RAW": EventRule("pass", breaks=False),
        "ACTIVITY_SNAPSHOT": EventRule("pass", breaks=False),
        "ACTIVITY_DELTA": EventRule("pass", breaks=False),
        "REASONING_ENCRYPTED_VALUE": EventRule("pass", breaks=False),
        "RUN_STARTED": EventRule("refuse"),
        "RUN_FINISHED": EventRule("refuse"),
        "RUN_ERROR": EventRule("refuse"),
    }
)


# --- events made here: from an adapter's event objects, or supplied in its stead ---

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
