"""CrewAI's feedback: one question about a whole flow, told in the outcome or as a CUSTOM event.

It has no cancel: ag-ui-crewai makes of one an empty feedback, which a flow takes for its default
outcome, or, without that, for the first of its options, which may well be the approval. So nobody's
answer is never sent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from ag_ui.core import Interrupt
from pydantic import ValidationError

from agui_bridge.adapters import Pause
from agui_bridge.protocol.answers.decisions import Cancel, Decision
from agui_bridge.protocol.threads.records import Json
from agui_bridge_agui.pauses.answers import Answers, Ended
from agui_bridge_agui.pauses.interrupts import asked_of, entry_of, keep

__all__ = ["CREWAI", "crewai_answers", "crewai_pause"]

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
