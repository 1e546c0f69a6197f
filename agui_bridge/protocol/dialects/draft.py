"""The draft of the interrupt-aware run lifecycle, both ways.

One `interrupt {id, reason, payload}` at a time beside `outcome: "interrupt" | "success"`, and one
`resume {interruptId, payload}`. No current client speaks it: it is for what was written to the
draft itself.

Source: AG-UI's draft "Interrupt-Aware Run Lifecycle Proposal".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from agui_bridge.errors import Refused
from agui_bridge.frozen import replace
from agui_bridge.protocol.answers.decisions import approval_schema
from agui_bridge.protocol.dialects.dialect import STOP_REASON, CallOf, Dialect
from agui_bridge.protocol.json_values import WireEvent

__all__ = ["draft_dialect", "draft_resume", "from_draft", "read_draft"]

_TOOL_CALL: Final = "tool_call"
_HUMAN_APPROVAL: Final = "human_approval"
"""The draft's own reason for what 1.0 calls a `tool_call`."""

_PLAIN_APPROVAL: Final = approval_schema(None, editable=False)
_TOLD: Final = ("message", "responseSchema", "expiresAt")

# --- the server's side ----------------------------------------------------------------------


def draft_dialect(version: Dialect) -> Dialect:
    """Answers in the draft's shapes, the first open question of several.

    Args:
        version: of AG-UI; of it the stream has what a client from before 1.0 can read.
    """
    return replace(_DRAFT, release=version.release)


def read_draft(resume: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The 1.0 form of the draft's `resume`; empty when it names no interrupt.

    The draft can't cancel; `status: "cancelled"` is understood all the same, since to overlook it
    would make an answer of it.

    Raises:
        Refused: INVALID_INPUT, a member is of the wrong shape.
    """
    if resume.keys().isdisjoint({"interruptId", "payload", "status"}):
        raise _malformed("resume", "must be a list of answers, or one with interruptId and payload")
    named, status = resume.get("interruptId"), resume.get("status", "resolved")
    if named is not None and not isinstance(named, str):
        raise _malformed("resume.interruptId", "must be a string")
    if status not in ("resolved", "cancelled"):
        raise _malformed("resume.status", 'must be "resolved" or "cancelled"')
    if not named:
        return []
    entry = {"interruptId": named, "status": status}
    if status == "resolved":
        entry["payload"] = resume.get("payload")
    return [entry]


def _malformed(field: str, reason: str) -> Refused:
    return Refused("INVALID_INPUT", f"{field}: {reason}.", {"field": field})


def _finish(event: WireEvent, call_of: CallOf) -> Sequence[WireEvent]:
    outcome = event["outcome"]
    made = {key: value for key, value in event.items() if key != "outcome"}
    if outcome["type"] == "interrupt":
        interrupt = outcome["interrupts"][0]
        made["outcome"] = "interrupt"
        made.pop("result", None)
        made["interrupt"] = _interrupt(interrupt, call_of)
    elif outcome["type"] == "cancelled":
        # As for clients from before 1.0: it has no word for it, and a stop is no success.
        made["result"] = {"stopReason": STOP_REASON}
    else:
        made["outcome"] = "success"
    return (made,)


def _interrupt(interrupt: Mapping[str, Any], call_of: CallOf) -> dict[str, Any]:
    payload = dict(interrupt.get("metadata") or {})
    payload |= {key: interrupt[key] for key in _TOLD if key in interrupt}
    if payload.get("responseSchema") == _PLAIN_APPROVAL:
        del payload["responseSchema"]  # what every client of the draft answers anyway
    reason, call_id = interrupt["reason"], interrupt.get("toolCallId")
    if call_id is not None:
        reason = _HUMAN_APPROVAL if reason == _TOOL_CALL else reason
        if (call := call_of(call_id)) is not None:
            payload["proposal"] = call
    return {"id": interrupt["id"], "reason": reason, "payload": payload}


_DRAFT: Final = Dialect("draft", answers_singly=True, finish=_finish, restates=False)


# --- the client's side ----------------------------------------------------------------------


def from_draft(event: WireEvent) -> WireEvent:
    """The 1.0 form of a RUN_FINISHED event of the draft; other events as they are.

    An omitted outcome is `interrupt` when there is an interrupt, else `success`. An interrupt
    without an id gets the empty one, which its answer then leaves out.
    """
    if event["type"] != "RUN_FINISHED" or isinstance(event.get("outcome"), dict):
        return event
    made = {key: value for key, value in event.items() if key not in ("outcome", "interrupt")}
    interrupt = event.get("interrupt")
    if event.get("outcome", "interrupt") != "interrupt" or not isinstance(interrupt, dict):
        return made
    payload = interrupt.get("payload")
    members = payload if isinstance(payload, dict) else {"payload": payload}
    asked: dict[str, Any] = {
        "id": interrupt.get("id") or "",
        "reason": interrupt.get("reason") or _HUMAN_APPROVAL,
        "metadata": members,
    }
    asked |= {key: members[key] for key in _TOLD if key in members}
    return {**made, "outcome": {"type": "interrupt", "interrupts": [asked]}}


def draft_resume(entry: Mapping[str, Any]) -> dict[str, Any]:
    """The members of an input that carry one 1.0 resume entry."""
    made = {key: entry[key] for key in ("interruptId", "payload") if entry.get(key, "") != ""}
    if entry["status"] == "cancelled":
        made["status"] = "cancelled"
    return {"resume": made}
