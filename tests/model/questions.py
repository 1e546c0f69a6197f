"""The questions that the model's pauses raise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from agui_bridge.protocol.answers.decisions import (
    ANSWER,
    APPROVE,
    DECLINE,
    EDIT,
    RESPOND,
    approval_schema,
    declinable,
)
from agui_bridge.protocol.threads.record_parts import TIMER, WAKE_SCHEMA
from agui_bridge.protocol.threads.records import Interrupt, ToolCall
from tests.model.operations import AskKind
from tests.model.world import World

__all__ = ["raise_question"]

PARAMETERS: Final[Mapping[str, Any]] = {
    "type": "object",
    "required": ["n"],
    "properties": {"n": {"type": "integer"}},
    "additionalProperties": False,
}
"""The parameters of the model's only tool."""

QUESTION: Final[Mapping[str, Any]] = {"type": "string", "enum": ["a", "b", ""]}


def raise_question(
    world: World, kind: AskKind, batch: str, position: int, askers: Sequence[str] = ()
) -> Interrupt:
    """Make one question of a batch."""
    id = world.mint("ask")
    expires_at = None if kind.expires_in is None else world.now + kind.expires_in
    ask = Interrupt(
        id, batch, position, f"native {id}", "reason", expires_at=expires_at, rule=kind.rule,
        asked_by=askers[0] if askers else None, joined_by=tuple(askers[1:]),
    )  # fmt: skip
    if kind.sleeps:
        return replace(ask, reason=TIMER, response_schema=WAKE_SCHEMA)
    if not kind.tool and kind.offers_more:
        return replace(ask, response_schema=declinable(QUESTION), allowed=(ANSWER, DECLINE))
    if not kind.tool:
        # Of a call with a rule no message is an answer, and messages shall be votes here, too.
        about = f"call {id}" if kind.rule is None else None
        return replace(ask, response_schema=QUESTION, about=about)
    return replace(
        ask,
        tool_call=ToolCall(f"call {id}", "tool", {"n": 0, "of": id}),
        response_schema=approval_schema(
            PARAMETERS, editable=kind.offers_more, respond=kind.offers_more
        ),
        allowed=(APPROVE, DECLINE, *((EDIT, RESPOND) if kind.offers_more else ())),
    )
