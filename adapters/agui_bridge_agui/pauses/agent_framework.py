"""Agent Framework's approvals: AG-UI's interrupts, whose answers may say more than is asked.

Its schema has each argument of the call beside `approved`, so that a plain approval with one of
them runs other arguments than were shown, and it has no `reason`. It carries out the calls of one
pause together or not at all: of an approval beside a decline it runs neither, asks about the
declined one again, and takes no answer to that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from ag_ui.core import Interrupt

from agui_bridge.adapters import Ask, Pause
from agui_bridge.errors import NotDelivered
from agui_bridge.protocol.answers.decisions import APPROVE, DECLINE, EDIT, Approve, Cancel, Decision
from agui_bridge.protocol.answers.own_words import own_words
from agui_bridge.protocol.threads.records import Json, ToolCall
from agui_bridge_agui.pauses.answers import Answers, Asked, Ended, call_of
from agui_bridge_agui.pauses.interrupts import asked_of, keep

__all__ = ["AGENT_FRAMEWORK", "agent_framework_answers", "agent_framework_pause"]

AGENT_FRAMEWORK: Final = "agent-framework"
"""The dialect of such a pause, in its continuation."""


def agent_framework_pause(ended: Ended) -> Pause | None:
    """The pause of a run that waits for approvals of calls, signed by Agent Framework, alone."""
    asks = []
    for interrupt in ended.interrupts:
        call = call_of(interrupt.tool_call_id, ended.calls)
        if call is None or not _is_signed(interrupt):
            return None
        asks.append(Asked(_ask_of(interrupt, call, ended)))
    return keep(AGENT_FRAMEWORK, asks, ended) if asks else None


def agent_framework_answers(
    continuation: Json, decisions: Mapping[str, Decision], cancel_with: Json
) -> Answers:
    """The decisions as entries of `resume`, of which nothing but the decision is left.

    Raises:
        NotDelivered: some are approved and others not, which it can't carry out.
    """
    if len({isinstance(decision, Approve) for decision in decisions.values()}) > 1:
        raise NotDelivered(
            "The upstream agent runs all the calls that it asks about together, or none: approve "
            "all of them, or none."
        )
    return Answers([_entry(key, decision) for key, decision in decisions.items()])


def _is_signed(interrupt: Interrupt) -> bool:
    signed = (interrupt.metadata or {}).get("agent_framework")
    return isinstance(signed, Mapping) and signed.get("type") == "function_approval_request"


def _ask_of(interrupt: Interrupt, call: ToolCall, ended: Ended) -> Ask:
    """The question as the bridge itself would ask it: its schema and metadata say too much."""
    properties = (interrupt.response_schema or {}).get("properties") or {}
    edited = properties.get("editedArgs")
    return replace(
        asked_of(interrupt, ended).ask,
        reason="tool_call",
        message=own_words(interrupt.message, call.name, call.args),
        tool_call=call,
        about=None,
        permits=False,
        parameters=ended.tool_schemas.get(call.name, edited),
        response_schema=None,
        allowed=(APPROVE, DECLINE, EDIT) if edited else (APPROVE, DECLINE),
        metadata=None,
    )


def _entry(key: str, decision: Decision) -> dict[str, Json]:
    if isinstance(decision, Cancel):
        return {"interruptId": key, "status": "cancelled"}
    payload: dict[str, Json] = {"approved": isinstance(decision, Approve)}
    if isinstance(decision, Approve) and decision.edited:
        payload["editedArgs"] = dict(decision.args)
    return {"interruptId": key, "status": "resolved", "payload": payload}
