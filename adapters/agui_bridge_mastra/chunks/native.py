"""What a client is not told of data that Mastra made: its ids, its errors, its requests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from agui_bridge.protocol.threads.records import Json

_IDS: Final = frozenset(
    {
        "runId",
        "parentRunId",
        "workflowRunId",
        "suspendedToolRunId",
        "suspendedToolCallId",
        "toolCallId",
        "stepCallId",
        "taskId",
        "taskIds",
        "threadId",
        "resourceId",
        "threadResourceId",
        "subAgentThreadId",
        "subAgentResourceId",
        "__workflow_meta",
        "__mastraMetadata",
    }
)
"""Members that continue a run at Mastra, or find it in its storage."""

_INSIDE: Final = _IDS | {
    "traceId",
    "spanId",
    "messageId",
    "responseId",
    "recordId",
    "providerMetadata",
    "providerOptions",
    "observability",
    "request",
    "headers",
    "messages",
    "error",
    "cause",
    "stack",
}
"""The same, and those that tell of Mastra's inside."""

_DEEPEST: Final = 64


def without_ids(value: Json) -> Json:
    """Data that an application's own code wrote, without members that hold ids of Mastra's."""
    return _without(value, _IDS, 0)


def without_native(value: Json) -> Json:
    """Data that Mastra wrote, without its ids, errors, requests and messages."""
    return _without(value, _INSIDE, 0)


def _without(value: Json, names: frozenset[str], depth: int) -> Json:
    if depth > _DEEPEST:
        return None
    if isinstance(value, Mapping):
        return {
            name: _without(item, names, depth + 1)
            for name, item in value.items()
            if name not in names
        }
    if isinstance(value, list):
        return [_without(item, names, depth + 1) for item in value]
    return value
