"""What an upstream run asks, as a pause of the bridge; and the answers, as the upstream takes them.

The upstream's ids stay in the pause's continuation and its asks' native ids, which no client sees.
AG-UI's interrupts are answered with `resume`; LangGraph's older ones, which come as a CUSTOM event,
with `forwardedProps.command`, which knows an answer only by the id in the event's value.
"""

from __future__ import annotations

import contextlib
import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from ag_ui.core import Interrupt

from agui_bridge.adapters import Ask, Pause
from agui_bridge.errors import UpstreamError
from agui_bridge.protocol.answers.decisions import (
    APPROVE,
    DECLINE,
    EDIT,
    Cancel,
    Decision,
    approval_schema,
)
from agui_bridge.protocol.threads.records import Json, ToolCall

__all__ = ["ON_INTERRUPT", "Answers", "Calls", "answers_of", "pause_of", "seconds_left"]

logger: Final = logging.getLogger("agui_bridge")

ON_INTERRUPT: Final = "on_interrupt"
"""The name of LangGraph's CUSTOM event."""

_RESUME, _COMMAND = "resume", "command"
_ONLY: Final = "interrupt"
_ITS_ID: Final = ("id", "interruptId", "interrupt_id")
"""Where a LangGraph value may have the question's id."""

Calls = Mapping[str, tuple[str, str]]
"""Name and arguments (JSON text) of tool calls, by id."""

ToolSchemas = Mapping[str, Mapping[str, Json]]
"""JSON Schema of the arguments, by tool."""


@dataclass(frozen=True, slots=True)
class Answers:
    """Members of the input that tells the upstream what was decided.

    Attributes:
        resume: entries of `resume`, or the draft's only one.
        command: of `forwardedProps`, for LangGraph's older interrupts.
    """

    resume: Sequence[Mapping[str, Json]] | Mapping[str, Json] = ()
    command: Mapping[str, Json] | None = None


def pause_of(
    interrupts: Sequence[Interrupt],
    values: Sequence[Json],
    calls: Calls,
    tool_schemas: ToolSchemas,
    subagents: frozenset[str],
    frontend_calls: Sequence[str],
) -> Pause | None:
    """The pause that an upstream run ended with, None if it did not.

    Args:
        interrupts: of its outcome; they win over `values`.
        values: of its CUSTOM events of LangGraph's.
        calls: the tool calls that are known.
        tool_schemas: of their arguments, as far as they are known.
        subagents: run ids of sub-agents that this run told of.
        frontend_calls: calls that wait for the application besides.

    Raises:
        UpstreamError: the questions can't be told apart.
    """
    if interrupts:
        dialect, asks = _RESUME, [_ask(i, calls, tool_schemas, subagents) for i in interrupts]
    elif values:
        dialect, asks = _COMMAND, [_older_ask(value, single=len(values) == 1) for value in values]
    else:
        return None
    if len({ask.native_id for ask in asks}) < len(asks):
        raise UpstreamError("Two questions of the upstream agent have the same id.")
    kept = {
        "v": 1,
        "dialect": dialect,
        "ids": [ask.native_id for ask in asks],
        "calls": {ask.native_id: ask.tool_call.id for ask in asks if ask.tool_call is not None},
    }
    return Pause(asks, kept, frontend_calls)


def answers_of(
    continuation: Json, decisions: Mapping[str, Decision], cancel_with: Json
) -> Answers | None:
    """The decisions in the upstream's words; None when it has no words for any of them.

    Args:
        continuation: of the pause.
        decisions: by the upstream's id.
        cancel_with: the value that tells LangGraph of a cancel; None is no such value.
    """
    if continuation["dialect"] == _RESUME:
        return Answers([_entry(key, decision) for key, decision in decisions.items()])
    values = {
        key: cancel_with if isinstance(decision, Cancel) else decision.payload
        for key, decision in decisions.items()
        if not isinstance(decision, Cancel) or cancel_with is not None
    }
    if not values:
        return None
    single = len(continuation["ids"]) == 1
    return Answers(command={"resume": next(iter(values.values())) if single else values})


def _entry(key: str, decision: Decision) -> dict[str, Json]:
    if isinstance(decision, Cancel):
        return {"interruptId": key, "status": "cancelled"}
    return {"interruptId": key, "status": "resolved", "payload": decision.payload}


def _ask(
    interrupt: Interrupt, calls: Calls, tool_schemas: ToolSchemas, subagents: frozenset[str]
) -> Ask:
    schema = interrupt.response_schema
    reason = interrupt.reason
    call = _call(interrupt.tool_call_id, calls) if _is_approval(schema) else None
    if call is None and reason == "tool_call":
        # There is nothing to pin: what was asked is a plain question, with the same answers.
        reason, schema = "confirmation", schema or approval_schema(None, editable=False)
    edits = "editedArgs" in _properties(schema)
    allowed = (APPROVE, DECLINE, EDIT) if edits else (APPROVE, DECLINE)
    return Ask(
        native_id=interrupt.id,
        reason=reason,
        message=interrupt.message,
        tool_call=call,
        # Unless it is told here, what its schema says of edits stands as it is.
        parameters=tool_schemas.get(call.name) if call is not None else None,
        response_schema=schema,
        allowed=allowed,
        expires_in=seconds_left(interrupt.expires_at),
        subagent_run_id=(
            interrupt.subagent_run_id if interrupt.subagent_run_id in subagents else None
        ),
        metadata=interrupt.metadata,
    )


def _older_ask(value: Json, *, single: bool) -> Ask:
    value = _parsed(value)
    said = value if isinstance(value, Mapping) else {"message": value}
    key = next((said[k] for k in _ITS_ID if said.get(k)), None)
    # Its id stays with the bridge: clients answer by ours.
    shown = {k: said[k] for k in said if k not in _ITS_ID} if said is value else value
    if key is None and not single:
        raise UpstreamError(
            "The upstream agent asks several questions at once in LangGraph's older way, without "
            "an `id` in each value: their answers could not be told apart."
        )
    message = next((said[k] for k in ("message", "question", "prompt") if said.get(k)), None)
    schema = said.get("responseSchema")
    return Ask(
        native_id=str(key) if key is not None else _ONLY,
        reason="langgraph:interrupt",
        message=message if isinstance(message, str) else json.dumps(shown, ensure_ascii=False),
        response_schema=schema if isinstance(schema, Mapping) else None,
        metadata={"value": shown},
    )


def _parsed(value: Json) -> Json:
    """A value, of which some servers make JSON text."""
    if isinstance(value, str):
        with contextlib.suppress(ValueError):
            return json.loads(value)
    return value


def _call(call_id: str | None, calls: Calls) -> ToolCall | None:
    if call_id is None or call_id not in calls:
        return None
    name, arguments = calls[call_id]
    try:
        args = json.loads(arguments or "{}")
    except ValueError:
        return None
    return ToolCall(call_id, name, args) if isinstance(args, dict) else None


def _properties(schema: Mapping[str, Any] | None) -> Mapping[str, Any]:
    properties = (schema or {}).get("properties")
    return properties if isinstance(properties, Mapping) else {}


def _is_approval(schema: Mapping[str, Any] | None) -> bool:
    """Whether the answer is `{"approved": true | false}`, as AG-UI has it for tool calls."""
    approved = _properties(schema).get("approved")
    return schema is None or (
        isinstance(approved, Mapping) and approved.get("type", "boolean") == "boolean"
    )


def seconds_left(expires_at: str | None) -> float | None:
    """How long an endpoint lets its question be answered; None for ever, or if it is no time."""
    if expires_at is None:
        return None
    try:
        end = datetime.fromisoformat(expires_at)
    except (ValueError, TypeError):
        logger.warning("the upstream agent's expiresAt %.40r is no time", expires_at)
        return None
    end = end if end.tzinfo else end.replace(tzinfo=UTC)
    return max(0.0, (end - datetime.now(UTC)).total_seconds())
