"""In which words an endpoint asks: tried in this order, and kept with the question.

An answer goes back in the words of its question, whatever has been found out or set since.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from ag_ui.core import Interrupt
from pydantic import ValidationError

from agui_bridge.adapters import Ask, Pause
from agui_bridge.errors import NotDelivered
from agui_bridge.protocol.answers.asks import own_words
from agui_bridge.protocol.answers.decisions import APPROVE, DECLINE, EDIT, Approve, Cancel, Decision
from agui_bridge.protocol.threads.records import Json, ToolCall
from agui_bridge_agui.pauses.adk import ADK, adk_answers
from agui_bridge_agui.pauses.agno import AGNO, Silence, agno_answers, agno_pause
from agui_bridge_agui.pauses.answers import Answers, Asked, Ended, call_of
from agui_bridge_agui.pauses.draft import DRAFT, draft_answers
from agui_bridge_agui.pauses.interrupts import (
    RESUME,
    asked_of,
    entry_of,
    keep,
    resume_answers,
    resume_pause,
)
from agui_bridge_agui.pauses.langgraph import COMMAND, LANGGRAPH, command_answers, langgraph_pause
from agui_bridge_agui.pauses.mastra import MASTRA, mastra_answers, mastra_pause

# --- agent Framework's approvals: AG-UI's interrupts, whose answers may say more than is asked ---
#
# Its schema has each argument of the call beside `approved`, so that a plain approval with one of
# them runs other arguments than were shown, and it has no `reason`. It carries out the calls of one
# pause together or not at all: of an approval beside a decline it runs neither, asks about the
# declined one again, and takes no answer to that.

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


# --- CrewAI's feedback ---
#
# One question about a whole flow, told in the outcome or as a CUSTOM event.
#
# It has no cancel: ag-ui-crewai makes of one an empty feedback, which a flow takes for its default
# outcome, or, without that, for the first of its options, which may well be the approval. So
# nobody's answer is never sent.

CREWAI: Final = "crewai"
"""The dialect of such a pause, in its continuation; also how CrewAI signs its interrupts."""


def crewai_pause(ended: Ended) -> Pause | None:
    """The pause of a CrewAI flow, None if it is another's."""
    customs = (_interrupt(custom.value) for custom in ended.customs)
    told: Sequence[Interrupt | None] = ended.interrupts or [*customs]
    signed = [one for one in told if one is not None and CREWAI in (one.metadata or {})]
    if not signed or len(signed) < len(told):
        return None
    return keep(CREWAI, [asked_of(interrupt, ended) for interrupt in signed], ended)


def crewai_answers(
    continuation: Json, decisions: Mapping[str, Decision], cancel_with: Json
) -> Answers | None:
    """The feedback as an entry of `resume`; None when nobody gave any.

    Args:
        continuation: of the pause.
        decisions: by the flow's id.
        cancel_with: the feedback that tells of a cancel; without one it stays suspended there.
    """
    entries = [
        {"interruptId": key, "status": "resolved", "payload": cancel_with}
        if isinstance(decision, Cancel)
        else entry_of(key, decision, continuation)
        for key, decision in decisions.items()
        if not isinstance(decision, Cancel) or cancel_with is not None
    ]
    return Answers(entries) if entries else None


def _interrupt(value: Json) -> Interrupt | None:
    try:
        return Interrupt.model_validate(value)
    except ValidationError:
        return None


# --- which dialect a server speaks ---

_ANSWERS: Final[Mapping[str, Callable[[Json, Mapping[str, Decision], Json], Answers | None]]] = {
    ADK: adk_answers,
    AGENT_FRAMEWORK: agent_framework_answers,
    AGNO: agno_answers,
    COMMAND: command_answers,
    CREWAI: crewai_answers,
    DRAFT: draft_answers,
    LANGGRAPH: command_answers,
    MASTRA: mastra_answers,
    RESUME: resume_answers,
}


def pause_of(ended: Ended, *, silence: Silence | None) -> Pause | None:
    """The pause that a run ended with, None if it did not.

    Args:
        ended: the run.
        silence: whether calls that it left open are what it asks about, as agno has it.

    Raises:
        UpstreamError: what it asks can't be told apart, or not be answered.
    """
    pause = (
        crewai_pause(ended)
        or mastra_pause(ended)
        or langgraph_pause(ended)
        or agent_framework_pause(ended)
        or resume_pause(ended)
    )
    return agno_pause(ended, silence) if pause is None and silence else pause


def answers_of(
    continuation: Json, decisions: Mapping[str, Decision], cancel_with: Json
) -> Answers | None:
    """The decisions in the words in which was asked; None when these have none for them.

    Args:
        continuation: of the pause.
        decisions: by the endpoint's id.
        cancel_with: the value that tells LangGraph or the draft of a cancel; None is no such value.

    Raises:
        NotDelivered: the endpoint can't carry these out together.
    """
    return _ANSWERS[continuation["dialect"]](continuation, decisions, cancel_with)
