"""A pending question in the chat API's words: InterruptState and its fields.

Source: SuperAgent's page "Interrupt/Resume", "InterruptState".
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from agui_bridge.http.chat.field_labels import with_labels
from agui_bridge.protocol.answers.forms import FormField, fields_from_schema, payload_from_input
from agui_bridge.protocol.answers.question_schemas import DECLINED, has_decline, says_declined
from agui_bridge.protocol.approvals.public import told_to
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.records import Interrupt, Json, Principal, ThreadKey

__all__ = ["checkpoint_of", "payload_of", "pending_of", "state_of"]


def pending_of(loaded: Loaded, principal: Principal) -> Interrupt | None:
    """The question that a session asks somebody now: of several the first that is theirs.

    Where none is theirs to answer, it is the first of all: they see who may.
    """
    return next(iter(told_to(loaded.waiting, principal)), None)


def state_of(key: ThreadKey, ask: Interrupt) -> dict[str, Any]:
    """The InterruptState of a question."""
    fields = _fields(ask)
    return {
        "session_id": key.thread,
        "agent_name": key.agent,
        "reason": _reason(ask),
        "fields": [field.to_json() for field in with_labels(fields, ask)],
        "timestamp": int(_raised(ask)),
        "checkpoint_id": checkpoint_of(key, ask),
    }


def checkpoint_of(key: ThreadKey, ask: Interrupt) -> str:
    """What names a question: agent, session and time, in nanoseconds.

    The questions of one pause have one time, and are told apart by its last digits.
    """
    nanoseconds = int(_raised(ask) * 1_000_000) * 1000 + ask.position
    return f"{key.agent}_{key.thread}_{nanoseconds}"


def _raised(ask: Interrupt) -> float:
    return ask.audit[0].at if ask.audit else 0.0


def payload_of(ask: Interrupt, values: Mapping[str, Json]) -> Json:
    """The payload that a filled form stands for; admission checks it."""
    schema = ask.response_schema or {}
    if not has_decline(schema):
        return payload_from_input(schema, values)
    if says_declined(values):
        # What else stands in the form was to be the answer that nobody gives.
        return {name: values[name] for name in (DECLINED, "reason") if name in values}
    answer = {name: value for name, value in values.items() if name != DECLINED}
    return payload_from_input(schema, answer)


def _fields(ask: Interrupt) -> tuple[FormField, ...]:
    """The fields of its form. One that may be declined has a box for that, and requires nothing."""
    schema = ask.response_schema or {}
    fields = fields_from_schema(schema)
    if not has_decline(schema):
        return fields
    return (
        *(replace(field, required=False) for field in fields),
        FormField(DECLINED, "confirm"),
    )


def _reason(ask: Interrupt) -> str:
    """What people read. Nobody shall approve a tool call that they were not shown."""
    lines = [ask.message] if ask.message else []
    if ask.tool_call is not None:
        arguments = json.dumps(ask.tool_call.args, ensure_ascii=False)
        lines.append(f"{ask.tool_call.name} {arguments}")
    return "\n".join(lines) or ask.reason
