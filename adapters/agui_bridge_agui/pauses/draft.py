"""An endpoint that speaks the draft of interrupts: its question as a pause, and its answer.

It asks one thing at a time, in whatever words its `payload` has, and knows no cancel.

Source: AG-UI's draft "Interrupt-Aware Run Lifecycle Proposal".
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, Final

from ag_ui.core import Interrupt

from agui_bridge.adapters import Pause, Run
from agui_bridge.errors import UpstreamError
from agui_bridge.protocol.answers.asks import with_call
from agui_bridge.protocol.answers.decisions import Cancel, Decision
from agui_bridge.protocol.dialects.dialect import draft_resume, from_draft
from agui_bridge.protocol.json_values import WireEvent
from agui_bridge.protocol.threads.records import Json
from agui_bridge_agui.pauses.answers import (
    Answers,
    Calls,
    Ended,
    calls_like,
    payload_of,
    seconds_left,
    unseen,
)
from agui_bridge_agui.pauses.interrupts import asked_of, kept_of

DRAFT: Final = "draft"
"""The dialect of such a pause, in its continuation."""

_HUMAN_APPROVAL: Final = "human_approval"
_ONLY: Final = "interrupt"


def completed(wire: WireEvent, run: Run) -> WireEvent:
    """An event with what servers of the draft leave out, or call otherwise.

    Args:
        wire: the event as it came.
        run: the bridge's run.
    """
    if wire["type"] in ("RUN_STARTED", "RUN_FINISHED"):
        return {"threadId": run.thread_id, "runId": run.run_id, **wire}
    if wire["type"] == "TOOL_CALL_RESULT" and "content" not in wire and "result" in wire:
        told = {key: value for key, value in wire.items() if key != "result"}
        result = wire["result"]
        content = result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)
        return {"messageId": run.mint(), **told, "content": content}
    return wire


def take_question(finished: WireEvent) -> tuple[WireEvent, Mapping[str, Any] | None]:
    """Part a RUN_FINISHED of the draft into the event without an outcome, and what it asks.

    Args:
        finished: a RUN_FINISHED in any dialect; one of AG-UI's own comes back as it is.

    Raises:
        UpstreamError: its outcome is none of the draft's, or it does not tell what it asks.
    """
    outcome = finished.get("outcome")
    if isinstance(outcome, str):
        finished = {**finished, "outcome": outcome.lower()}
        if finished["outcome"] not in ("success", "interrupt"):
            raise UpstreamError(f"The upstream agent sent a malformed RUN_FINISHED: {outcome:.60}.")
    elif outcome is not None:
        return finished, None
    made = from_draft(finished)
    if made is finished:
        return finished, None
    asked = (made.get("outcome") or {}).get("interrupts")
    if not asked and finished.get("outcome") == "interrupt":
        raise UpstreamError(
            "The upstream agent sent a malformed RUN_FINISHED: outcome: it waits, and does not "
            "tell for what."
        )
    bare = {key: value for key, value in made.items() if key != "outcome"}
    if not asked:
        return bare, None
    unsaid = not finished["interrupt"].get("reason") and "proposal" not in asked[0]["metadata"]
    return bare, {**asked[0], "reason": "input_required"} if unsaid else asked[0]


def draft_pause(
    asked: Mapping[str, Any], calls: Calls, unanswered: Collection[str], frontend: Collection[str]
) -> Pause:
    """The pause of a run that ended by asking.

    Args:
        asked: what `take_question` gave.
        calls: the tool calls that are known.
        unanswered: those of this run without a result, one of which it may be about.
        frontend: calls that wait for the application besides.
    """
    told, schema = asked["metadata"], asked.get("responseSchema")
    approves = asked["reason"] == _HUMAN_APPROVAL
    proposal = _proposal(told)
    name, args = proposal or ("", None)
    like = calls_like(name, args, calls, unanswered) if isinstance(args, Mapping) else []
    native_id = str(asked["id"] or _ONLY)
    made = Interrupt(
        id=native_id,
        reason="tool_call" if approves else str(asked["reason"]),
        message=_message(asked),
        tool_call_id=like[0].id if len(like) == 1 else None,
        response_schema=schema if isinstance(schema, dict) else None,
        metadata=told,
    )
    found = asked_of(made, Ended(calls))
    ask = replace(found.ask, expires_in=seconds_left(asked.get("expiresAt")))
    if proposal is not None and made.tool_call_id is None:
        shown = with_call(ask.message, name, args) if approves else ask.message
        ask = replace(ask, message=shown, about=unseen(native_id, name, args))
    kept = {
        **kept_of(DRAFT, [replace(found, ask=ask)]),
        "named": bool(asked["id"]),
        "approves": approves and made.response_schema is None,
    }
    return Pause([ask], kept, list(frontend))


def draft_answers(
    continuation: Json, decisions: Mapping[str, Decision], cancel_with: Json
) -> Answers | None:
    """The decision as the endpoint takes it; None when it has no words for it.

    A cancelled approval is also told as a no, to endpoints that overlook what the draft does not
    have. To others a cancel without words would be an answer, of nothing.

    Args:
        continuation: of the pause.
        decisions: the only one, by the endpoint's id.
        cancel_with: the value that tells of a cancel; None is no such value.
    """
    ((key, decision),) = decisions.items()
    entry: dict[str, Json] = {"interruptId": key if continuation["named"] else ""}
    if not isinstance(decision, Cancel):
        entry |= {"status": "resolved", "payload": payload_of(key, decision, continuation)}
    elif continuation["approves"]:
        entry |= {"status": "cancelled", "payload": {"approved": False}}
    elif key in continuation.get("verdicts", {}):
        entry |= {"status": "cancelled", "payload": payload_of(key, decision, continuation)}
    elif cancel_with is not None:
        entry |= {"status": "resolved", "payload": cancel_with}
    else:
        return None
    resume: Mapping[str, Json] = draft_resume(entry)["resume"]
    return Answers(resume)


def _message(asked: Mapping[str, Any]) -> str | None:
    """What people read: nobody shall approve what they were not shown."""
    message = asked.get("message")
    if isinstance(message, str):
        return message
    told = asked["metadata"]
    if (proposal := _proposal(told)) is not None:
        return with_call(None, *proposal)
    return json.dumps(told, ensure_ascii=False) if told and told != {"payload": None} else None


def _proposal(told: Mapping[str, Any]) -> tuple[str, Json] | None:
    """Tool and arguments of the draft's `proposal`, if there is one of a tool."""
    proposal = told.get("proposal")
    if not isinstance(proposal, Mapping) or not isinstance(proposal.get("tool"), str):
        return None
    return proposal["tool"], proposal.get("args")
