"""What a person decided: the schemas that are offered, and answers made into decisions.

The schema that is advertised and the check that is applied are one. Source: docs/contract.md,
"Decisions".
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from agui_bridge.protocol.answers.question_schemas import (
    find_answer_fault,
    rooted,
    says_declined,
)
from agui_bridge.protocol.schemas.check_work import CheckWork
from agui_bridge.protocol.threads.records import Interrupt, Json, RecordedAnswer, Vote

__all__ = [
    "ANSWER",
    "APPROVE",
    "CONFIRM_SCHEMA",
    "DECLINE",
    "EDIT",
    "RESPOND",
    "Answer",
    "Approve",
    "Cancel",
    "Decision",
    "Decline",
    "Respond",
    "approval_schema",
    "decide",
    "find_fault",
]

APPROVE, DECLINE, EDIT, RESPOND = "approve", "decline", "edit", "respond"
"""Decisions on a tool approval."""

ANSWER = "answer"
"""The decision on any other question; `DECLINE` may stand beside it."""

Asked = Literal["approval", "question"]
"""What was decided on: whether a tool may run, or something else."""

_EDITED_ARGS = "#/properties/editedArgs"

CONFIRM_SCHEMA: Mapping[str, Json] = {
    "type": "object",
    "required": ["confirm"],
    "properties": {"confirm": {"type": "boolean"}},
}
"""The response schema of a plain confirmation."""


@dataclass(frozen=True, slots=True)
class Approve:
    """The tool call may run, with exactly these arguments.

    Attributes:
        args: the pinned arguments, or the edited ones (replaced whole, validated again).
        payload: the whole payload, unknown keys included.
        edited: whether the arguments were edited.
        actor: who approved, of several the last; "" where nobody said.
        approvers: everybody who approved, in their order; several where the approval rule wants
            as many.
    """

    args: Mapping[str, Json]
    payload: Json = None
    edited: bool = False
    actor: str = field(default="", compare=False, kw_only=True)
    approvers: tuple[str, ...] = field(default=(), compare=False, kw_only=True)

    @property
    def text(self) -> str:
        """What a model may be told of it; its result is the tool's own."""
        if self.edited:
            return f"The user approved this tool call with other arguments: {_shown(self.args)}"
        return "The user approved this tool call."


@dataclass(frozen=True, slots=True)
class Decline:
    """A person refused the tool call; or would not answer a question that offers a decline.

    Attributes:
        reason: what they gave as one, else None.
        payload: the whole payload, unknown keys included.
        actor: who declined; "" where nobody said.
        asked: what they declined.
    """

    reason: str | None = None
    payload: Json = None
    actor: str = field(default="", compare=False, kw_only=True)
    asked: Asked = field(default="approval", compare=False, kw_only=True)

    @property
    def text(self) -> str:
        """What stands for the call's result, or the answer: the same to clients and to models."""
        reason = f" Reason: {self.reason}" if self.reason else ""
        if self.asked == "question":
            return f"The user declined to answer.{reason}"
        return f"The user declined this tool call; it was not executed.{reason}"


@dataclass(frozen=True, slots=True)
class Respond:
    """A person gave the tool call's result themselves: the tool must not run.

    Attributes:
        result: the text that stands in place of the tool's result.
        payload: the whole payload, unknown keys included.
        actor: who gave it; "" where nobody said.
    """

    result: str
    payload: Json = None
    actor: str = field(default="", compare=False, kw_only=True)

    @property
    def text(self) -> str:
        """What stands for the call's result: the same to clients and to models."""
        return self.result


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a question that is no tool approval.

    Attributes:
        payload: JSON that the question's schema allows; falsy payloads are answers too.
        actor: who answered; "" where nobody said.
    """

    payload: Json = None
    actor: str = field(default="", compare=False, kw_only=True)

    @property
    def text(self) -> str:
        """The answer for a model that takes text: a text as it is, anything else as JSON."""
        return self.payload if isinstance(self.payload, str) else _shown(self.payload)


@dataclass(frozen=True, slots=True)
class Cancel:
    """Nobody decided. A gated tool must not run.

    Attributes:
        cause: whether the question was cancelled, or expired.
        actor: who cancelled it; "" where it expired, or nobody said.
        asked: what nobody decided on.
    """

    cause: Literal["cancelled", "expired"] = "cancelled"
    actor: str = field(default="", compare=False, kw_only=True)
    asked: Asked = field(default="approval", compare=False, kw_only=True)

    @property
    def text(self) -> str:
        """What stands for the call's result, or the answer: the same to clients and to models."""
        return _UNDECIDED[self.asked, self.cause]


_UNDECIDED: Mapping[tuple[Asked, str], str] = {
    ("approval", "cancelled"): "The approval was cancelled; this tool call was not executed.",
    ("approval", "expired"): "The time to approve this tool call is over; it was not executed.",
    ("question", "cancelled"): "The question was cancelled; nobody answered it.",
    ("question", "expired"): "The time to answer the question is over; nobody answered it.",
}

Decision = Approve | Decline | Respond | Answer | Cancel
"""What became of one question."""


def _shown(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def approval_schema(
    parameters: Mapping[str, Json] | None, *, editable: bool, respond: bool = False
) -> dict[str, Json]:
    """Make the response schema of a tool approval.

    Args:
        parameters: the tool's parameter schema, or None when it is not known.
        editable: whether arguments may be edited; `editedArgs` in the schema is the signal.
        respond: whether a text may be given in place of the tool's result; `respond` in the schema
            is the signal.

    Returns:
        `{type: object, required: [approved], properties: {approved, reason, editedArgs?,
        respond?}}`.
    """
    properties: dict[str, Json] = {
        "approved": {"type": "boolean"},
        "reason": {"type": "string"},
    }
    schema: dict[str, Json] = {
        "type": "object",
        "required": ["approved"],
        "properties": properties,
    }
    if editable:
        edited, draft = rooted(parameters or {}, _EDITED_ARGS)
        schema |= draft
        edited.setdefault("type", "object")
        properties["editedArgs"] = edited
    if respond:
        properties["respond"] = {"type": "string"}
    return schema


def find_fault(interrupt: Interrupt, payload: Json, work: CheckWork | None = None) -> str | None:
    """Say what is wrong with a resolved entry's payload, or None when it is an answer.

    For a tool approval nothing but a JSON boolean `approved` counts, and a decision that the
    adapter does not support is a fault.

    Args:
        interrupt: the question.
        payload: the answer to it.
        work: what may be done for all answers of the input; what this one takes is counted.
    """
    if interrupt.response_schema is not None:
        fault = find_answer_fault(interrupt.response_schema, payload, work)
        if fault is not None:
            return fault
    if interrupt.tool_call is None:
        return None
    if not isinstance(payload, Mapping) or not isinstance(payload.get("approved"), bool):
        return "a tool approval needs a payload with a boolean `approved`."
    if fault := _response_fault(interrupt, payload):
        return fault
    wanted = APPROVE if payload["approved"] else DECLINE
    if wanted == DECLINE and _responds(interrupt, payload):
        wanted = RESPOND
    if wanted not in interrupt.allowed:
        return f"this agent does not support the decision {wanted!r}."
    if "editedArgs" in payload:
        if EDIT not in interrupt.allowed:
            return "editing the arguments of this call (`editedArgs`) is not supported."
        if not isinstance(payload["editedArgs"], Mapping):
            return "`editedArgs` must be an object that replaces the arguments whole."
    return None


def _response_fault(interrupt: Interrupt, payload: Mapping[str, Json]) -> str | None:
    """What is wrong with a text in place of the tool's result; an empty one is none."""
    given = payload.get("respond")
    if not given:
        return None
    if RESPOND not in interrupt.allowed:
        properties = (interrupt.response_schema or {}).get("properties")
        if isinstance(properties, Mapping) and "respond" in properties:
            return None  # the adapter's own schema means something of its own by it
        return "a text in place of this call's result (`respond`) is not supported."
    if not isinstance(given, str):
        return "`respond` must be a text, which stands in place of the tool's result."
    if payload["approved"]:
        return "`respond` stands in place of the tool's result: with it `approved` must be false."
    return None


def _responds(interrupt: Interrupt, payload: Mapping[str, Json]) -> bool:
    return RESPOND in interrupt.allowed and bool(payload.get("respond"))


def decide(
    interrupt: Interrupt,
    answer: RecordedAnswer,
    *,
    expired: bool,
    actor: str = "",
    votes: Sequence[Vote] = (),
) -> Decision:
    """Make an admitted answer into the decision that the adapter gets.

    Args:
        interrupt: the question, with its pinned arguments.
        answer: an answer that `find_fault` has passed.
        expired: whether nobody answered in time.
        actor: who gave the answer.
        votes: what it was made of, where the approval rule wants several.
    """
    asked: Asked = "question" if interrupt.tool_call is None else "approval"
    if expired:
        return Cancel("expired", asked=asked)
    if answer.status == "cancelled":
        return Cancel("cancelled", actor=actor, asked=asked)
    payload: Any = answer.payload
    if interrupt.tool_call is None:
        if DECLINE in interrupt.allowed and says_declined(payload):
            return Decline(_reason(payload), payload, actor=actor, asked=asked)
        return Answer(payload, actor=actor)
    if payload["approved"] is not True:
        if _responds(interrupt, payload):
            return Respond(payload["respond"], payload, actor=actor)
        return Decline(_reason(payload), payload, actor=actor)
    approvers = tuple(vote.actor for vote in votes if vote.args_digest is not None)
    if not approvers and actor:
        approvers = (actor,)
    edited = "editedArgs" in payload
    args = payload["editedArgs"] if edited else interrupt.tool_call.args
    return Approve(args, payload, edited=edited, actor=actor, approvers=approvers)


def _reason(payload: Mapping[str, Json]) -> str | None:
    reason = payload.get("reason")
    return reason if isinstance(reason, str) else None
