"""Adapter items, and what is checked of every run that is made of them."""

import itertools
import json
from collections.abc import Callable
from typing import Any

from ag_ui import core as agui
from ag_ui.encoder import EventEncoder
from ag_ui_validate.pytest_plugin import assert_valid_agui
from pydantic import TypeAdapter

from agui_bridge.protocol.lifecycle.lifecycle import Lifecycle
from agui_bridge.protocol.wire.sse import encode

Wire = dict[str, Any]
EVENT: TypeAdapter[Any] = TypeAdapter(agui.Event)


def counter() -> Callable[[], str]:
    numbers = itertools.count(1)
    return lambda: f"new-{next(numbers)}"


def lifecycle(**known: Any) -> Lifecycle:
    return Lifecycle(counter(), **known)


def feed(run: Lifecycle, *items: Any) -> list[Wire]:
    return [event for item in items for event in run.feed(item)]


def whole(events: list[Wire], history: list[Wire] | None = None) -> list[Wire]:
    ids = {"threadId": "t", "runId": "r"}
    before: list[Wire] = [{"type": "RUN_STARTED", **ids}]
    if history:
        before.append({"type": "MESSAGES_SNAPSHOT", "messages": history})
    return [*before, *events, {"type": "RUN_FINISHED", **ids}]


def check(
    events: list[Wire], history: list[Wire] | None = None, *, broken_arguments: bool = False
) -> None:
    """Validate a run as the field does: its types, its encoder, its linter."""
    for event in events:
        assert isinstance(event["type"], str)
        assert encode(event).decode() == EventEncoder().encode(EVENT.validate_python(event))
    assert_valid_agui(
        [json.dumps(event) for event in whole(events, history)],
        severity_overrides={"AGUI204": "info"} if broken_arguments else None,
    )


def run(*items: Any, **known: Any) -> list[Wire]:
    """Feed items to a new run, finish it, and check the whole."""
    live = lifecycle(**known)
    events = feed(live, *items) + live.finish()
    check(events)
    return events


def types(events: list[Wire]) -> list[str]:
    return [event["type"] for event in events]


def brief(events: list[Wire]) -> list[tuple[str, ...]]:
    """Show each event as its type and its id."""
    keys = ("messageId", "toolCallId", "stepName", "subagentRunId")
    return [
        (event["type"], next((event[key] for key in keys if key in event), "")) for event in events
    ]


def text_start(message_id: str = "m", **rest: Any) -> agui.TextMessageStartEvent:
    return agui.TextMessageStartEvent(message_id=message_id, **rest)


def text(message_id: str = "m", delta: str = "x", **rest: Any) -> agui.TextMessageContentEvent:
    return agui.TextMessageContentEvent(message_id=message_id, delta=delta, **rest)


def text_end(message_id: str = "m", **rest: Any) -> agui.TextMessageEndEvent:
    return agui.TextMessageEndEvent(message_id=message_id, **rest)


def call_start(call_id: str = "c", **rest: Any) -> agui.ToolCallStartEvent:
    return agui.ToolCallStartEvent(tool_call_id=call_id, tool_call_name="tool", **rest)


def call_args(call_id: str = "c", delta: str = "{}", **rest: Any) -> agui.ToolCallArgsEvent:
    return agui.ToolCallArgsEvent(tool_call_id=call_id, delta=delta, **rest)


def call_end(call_id: str = "c", **rest: Any) -> agui.ToolCallEndEvent:
    return agui.ToolCallEndEvent(tool_call_id=call_id, **rest)


def result(call_id: str = "c", message_id: str = "res", **rest: Any) -> agui.ToolCallResultEvent:
    return agui.ToolCallResultEvent(
        tool_call_id=call_id, message_id=message_id, content="ok", **rest
    )


def subagent(subagent_id: str = "s", **rest: Any) -> agui.SubagentStartedEvent:
    return agui.SubagentStartedEvent(subagent_run_id=subagent_id, name="helper", **rest)
