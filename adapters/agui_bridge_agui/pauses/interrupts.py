"""AG-UI's own interrupts: what an outcome asks, and `resume`, which answers it.

The endpoint's ids stay in the pause's continuation and its asks' native ids, which no client sees.
"""

from __future__ import annotations

from collections.abc import Mapping
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
from agui_bridge.protocol.threads.records import Json
from agui_bridge_agui.pauses.answers import Answers, Ended, call_of, seconds_left

__all__ = ["RESUME", "ask_of", "entry_of", "is_approval", "keep", "resume_answers", "resume_pause"]

RESUME: Final = "resume"
"""The dialect of such a pause, in its continuation."""


def resume_pause(ended: Ended) -> Pause | None:
    """The pause of a run that ended with interrupts, None if it did not."""
    if not ended.interrupts:
        return None
    return keep(RESUME, [ask_of(interrupt, ended) for interrupt in ended.interrupts], ended)


def keep(dialect: str, asks: list[Ask], ended: Ended, **more: Json) -> Pause:
    """A pause, and what its answers will need.

    Raises:
        UpstreamError: the questions can't be told apart.
    """
    if len({ask.native_id for ask in asks}) < len(asks):
        raise UpstreamError("Two questions of the upstream agent have the same id.")
    kept = {
        "v": 1,
        "dialect": dialect,
        "ids": [ask.native_id for ask in asks],
        "calls": {ask.native_id: ask.tool_call.id for ask in asks if ask.tool_call is not None},
        **more,
    }
    return Pause(asks, kept, list(ended.frontend))


def resume_answers(
    continuation: Json, decisions: Mapping[str, Decision], cancel_with: Json
) -> Answers:
    """The decisions as entries of `resume`."""
    return Answers([entry_of(key, decision) for key, decision in decisions.items()])


def entry_of(key: str, decision: Decision) -> dict[str, Json]:
    """An entry of `resume`."""
    if isinstance(decision, Cancel):
        return {"interruptId": key, "status": "cancelled"}
    return {"interruptId": key, "status": "resolved", "payload": decision.payload}


def ask_of(interrupt: Interrupt, ended: Ended) -> Ask:
    """An interrupt as a question: an approval of its call where its schema is that of one."""
    schema = interrupt.response_schema
    reason = interrupt.reason
    named = call_of(interrupt.tool_call_id, ended.calls)
    call = named if is_approval(schema) else None
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
        about=named.id if named is not None and call is None else None,
        # Unless it is told here, what its schema says of edits stands as it is.
        parameters=ended.tool_schemas.get(call.name) if call is not None else None,
        response_schema=schema,
        allowed=allowed,
        expires_in=seconds_left(interrupt.expires_at),
        subagent_run_id=(
            interrupt.subagent_run_id if interrupt.subagent_run_id in ended.subagents else None
        ),
        metadata=interrupt.metadata,
    )


def is_approval(schema: Mapping[str, Any] | None) -> bool:
    """Whether the answer is `{"approved": true | false}`, as AG-UI has it for tool calls."""
    approved = _properties(schema).get("approved")
    return schema is None or (
        isinstance(approved, Mapping) and approved.get("type", "boolean") == "boolean"
    )


def _properties(schema: Mapping[str, Any] | None) -> Mapping[str, Any]:
    properties = (schema or {}).get("properties")
    return properties if isinstance(properties, Mapping) else {}
