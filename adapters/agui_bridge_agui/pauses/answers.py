"""What all ways of asking share: what a run ended with, and what its answer is made of."""

from __future__ import annotations

import contextlib
import json
import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from ag_ui.core import Interrupt

from agui_bridge.protocol.answers.asks import Ask
from agui_bridge.protocol.answers.decisions import Cancel, Decision
from agui_bridge.protocol.json_values import same_json
from agui_bridge.protocol.threads.records import Json, ToolCall
from agui_bridge_agui.pauses.verdicts import Verdicts

logger: Final = logging.getLogger("agui_bridge")

Calls = Mapping[str, tuple[str, str]]
"""Name and arguments (JSON text) of tool calls, by id."""

ToolSchemas = Mapping[str, Mapping[str, Json]]
"""JSON Schema of the arguments, by tool."""


@dataclass(frozen=True, slots=True)
class Answers:
    """Members of the input that tells the endpoint what was decided.

    Attributes:
        resume: entries of `resume`, or the draft's only one.
        command: of `forwardedProps`, for LangGraph.
        messages: to be put behind the conversation; they get ids of their own.
    """

    resume: Sequence[Mapping[str, Json]] | Mapping[str, Json] = ()
    command: Mapping[str, Json] | None = None
    messages: Sequence[Mapping[str, Json]] = ()


@dataclass(frozen=True, slots=True)
class Custom:
    """A question of LangGraph's that came as a CUSTOM event.

    Attributes:
        value: of the event.
        raw: its `rawEvent`: LangGraph's own Interrupt, with its id; None where it is not told.
    """

    value: Json
    raw: Json = None


@dataclass(frozen=True, slots=True)
class Ended:
    """What a run has told by its end, as far as questions are concerned.

    Attributes:
        calls: the tool calls that are known.
        unanswered: those of this run without a result.
        frontend: those among them that wait for the application.
        interrupts: of its outcome.
        customs: LangGraph's CUSTOM events.
        texts: of the messages that its unanswered calls stand in, by call.
        subagents: run ids of the sub-agents that it told of.
        tool_schemas: of the calls' arguments, as far as they are known.
    """

    calls: Calls
    unanswered: Sequence[str] = ()
    frontend: Sequence[str] = ()
    interrupts: Sequence[Interrupt] = ()
    customs: Sequence[Custom] = ()
    texts: Mapping[str, str] = field(default_factory=dict)
    subagents: Collection[str] = frozenset()
    tool_schemas: ToolSchemas = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, as the bridge asks it, and how its endpoint takes the answer.

    Attributes:
        ask: the question.
        verdicts: the endpoint's own yes and no; None where it takes the payload as it is.
    """

    ask: Ask
    verdicts: Verdicts | None = None


def payload_of(key: str, decision: Decision, continuation: Json) -> Json:
    """The payload of an answer, in the shape that its endpoint asked for.

    Args:
        key: the question's native id.
        decision: on it; of a cancel it is the no, or null where none is known.
        continuation: of the pause.
    """
    kept = continuation.get("verdicts", {}).get(key)
    if kept is not None:
        return Verdicts(*kept).payload(decision)
    return None if isinstance(decision, Cancel) else decision.payload


def unseen(key: str, name: Json, args: Json) -> ToolCall | None:
    """A call that the conversation does not have, as its question is about it.

    Args:
        key: the question's native id.
        name: the tool, as far as it is told.
        args: the arguments; what is no object is none that a rule could read.
    """
    known = dict(args) if isinstance(args, Mapping) else {}
    return ToolCall(key, name, known) if isinstance(name, str) else None


def call_of(call_id: Json, calls: Calls) -> ToolCall | None:
    """A known call whose arguments are an object."""
    if not isinstance(call_id, str) or call_id not in calls:
        return None
    name, arguments = calls[call_id]
    args = arguments_of(arguments)
    return ToolCall(call_id, name, args) if isinstance(args, dict) else None


def calls_like(name: Json, args: Json, calls: Calls, among: Collection[str]) -> list[ToolCall]:
    """The calls that call just this, in their order."""
    found = (call_of(call, calls) for call in calls if call in among)
    return [c for c in found if c is not None and c.name == name and same_json(c.args, args)]


def arguments_of(text: str) -> Json:
    """The arguments of a call; None where they are no JSON."""
    return parsed(text or "{}", None)


def parsed(text: str, otherwise: Json) -> Json:
    """JSON text as what it says, or what stands for it where it is none."""
    with contextlib.suppress(ValueError):
        return json.loads(text)
    return otherwise


def seconds_left(expires_at: Any) -> float | None:
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
