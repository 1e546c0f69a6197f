"""The events and schemas that function agents put on the wire."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from ag_ui.core import BaseEvent, ToolCallResultEvent
from pydantic import BaseModel, TypeAdapter

from agui_bridge.agents.replay.continuation import Denied, Failure, Outcome, Value
from agui_bridge.protocol.answers.schemas import check_schema
from agui_bridge.protocol.answers.unexecuted import (
    CANCELLED_AMID,
    denied_by_policy,
)
from agui_bridge.protocol.lifecycle.made_events import whole_call
from agui_bridge.protocol.threads.records import Json

__all__ = ["parameter_schema", "tool_call", "tool_result"]


def tool_call(call_id: str, name: str, args: Mapping[str, Json]) -> tuple[BaseEvent, ...]:
    """Make the START, ARGS and END events of one tool call."""
    return whole_call(call_id, name, _compact(args))


def tool_result(call_id: str, message_id: str, outcome: Outcome) -> BaseEvent:
    """Make the TOOL_CALL_RESULT event: a str as it is, other values as compact JSON.

    A failure is named by the exception's type alone: its text may hold secrets.
    """
    match outcome:
        case Value(value=str(text)):
            content = text
        case Value(value=value):
            content = _compact(value)
        case Failure(error=error):
            content = f"The tool failed: {error}"
        case Denied(reason=reason):
            content = denied_by_policy(reason)
        case _:
            content = CANCELLED_AMID
    return ToolCallResultEvent(message_id=message_id, tool_call_id=call_id, content=content)


def parameter_schema(
    parameters: type[BaseModel] | Mapping[str, Json] | None, function: Callable[..., Any] | None
) -> dict[str, Json] | None:
    """Make the JSON Schema that edited arguments must satisfy.

    Args:
        parameters: a model, which then takes no fields that it doesn't name unless it allows
            them (`extra="allow"`), or the schema itself.
        function: read when `parameters` is None: its signature becomes the schema.

    Raises:
        UnsafeSchema: the schema is invalid or could do harm.
        pydantic.PydanticUserError: the signature has a type without a JSON form.
    """
    if isinstance(parameters, Mapping):
        schema = dict(parameters)
    elif parameters is not None:
        schema = parameters.model_json_schema()
        if schema.get("type") == "object":
            # The tool gets the arguments themselves: what the model ignores would reach it.
            schema.setdefault("additionalProperties", False)
    elif function is not None:
        # pydantic takes functions too, but its annotation says types only.
        adapter: TypeAdapter[Any] = TypeAdapter(function)  # type: ignore[arg-type]
        schema = adapter.json_schema()
    else:
        return None
    check_schema(schema)
    return schema


def _compact(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
