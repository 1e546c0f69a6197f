"""In which words an endpoint asks: tried in this order, and kept with the question.

An answer goes back in the words of its question, whatever has been found out or set since.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from agui_bridge.adapters import Pause
from agui_bridge.protocol.answers.decisions import Decision
from agui_bridge.protocol.threads.records import Json
from agui_bridge_agui.pauses.adk import ADK, adk_answers
from agui_bridge_agui.pauses.agent_framework import (
    AGENT_FRAMEWORK,
    agent_framework_answers,
    agent_framework_pause,
)
from agui_bridge_agui.pauses.agno import AGNO, Silence, agno_answers, agno_pause
from agui_bridge_agui.pauses.answers import Answers, Ended
from agui_bridge_agui.pauses.crewai import CREWAI, crewai_answers, crewai_pause
from agui_bridge_agui.pauses.draft import DRAFT, draft_answers
from agui_bridge_agui.pauses.interrupts import RESUME, resume_answers, resume_pause
from agui_bridge_agui.pauses.langgraph import COMMAND, LANGGRAPH, command_answers, langgraph_pause
from agui_bridge_agui.pauses.mastra import MASTRA, mastra_answers, mastra_pause

__all__ = ["answers_of", "pause_of"]

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
