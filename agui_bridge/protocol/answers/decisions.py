"""What a person decided: the schemas that are offered, and answers made into decisions.

The schema that is advertised and the check that is applied are one. Source: docs/contract.md,
"Decisions".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from agui_bridge.protocol.schemas.check_work import CheckWork
from agui_bridge.protocol.schemas.checking import find_schema_fault, is_known_draft
from agui_bridge.protocol.schemas.left_out import REFERENCES
from agui_bridge.protocol.threads.records import Interrupt, Json, RecordedAnswer

__all__ = [
    "APPROVE",
    "CONFIRM_SCHEMA",
    "DECLINE",
    "EDIT",
    "Answer",
    "Approve",
    "Cancel",
    "Decision",
    "Decline",
    "approval_schema",
    "decide",
    "find_fault",
]

APPROVE, DECLINE, EDIT = "approve", "decline", "edit"

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
    """

    args: Mapping[str, Json]
    payload: Json = None
    edited: bool = False


@dataclass(frozen=True, slots=True)
class Decline:
    """A person refused the tool call.

    Attributes:
        reason: what they gave as one, else None.
        payload: the whole payload, unknown keys included.
    """

    reason: str | None = None
    payload: Json = None


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a question that is no tool approval.

    Attributes:
        payload: JSON that the question's schema allows; falsy payloads are answers too.
    """

    payload: Json = None


@dataclass(frozen=True, slots=True)
class Cancel:
    """Nobody decided. A gated tool must not run.

    Attributes:
        cause: whether the question was cancelled, or expired.
    """

    cause: Literal["cancelled", "expired"] = "cancelled"


Decision = Approve | Decline | Answer | Cancel
"""What became of one question."""


def approval_schema(parameters: Mapping[str, Json] | None, *, editable: bool) -> dict[str, Json]:
    """Make the response schema of a tool approval.

    Args:
        parameters: the tool's parameter schema, or None when it is not known.
        editable: whether arguments may be edited; `editedArgs` in the schema is the signal.

    Returns:
        `{type: object, required: [approved], properties: {approved, reason, editedArgs?}}`.
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
        edited = _moved(dict(parameters) if parameters is not None else {}, _EDITED_ARGS)
        # Of the tool's own document nothing is left but its draft, which then rules the whole.
        edited.pop("$id", None)
        draft = edited.pop("$schema", None)
        if is_known_draft(draft):
            schema["$schema"] = draft
        edited.setdefault("type", "object")
        properties["editedArgs"] = edited
    return schema


def _moved(node: Json, to: str) -> Json:
    """Let the pointers of a schema lead to the same places once it stands at `to`."""
    if isinstance(node, Mapping):
        return {
            name: to + value[1:]
            if name in REFERENCES and isinstance(value, str) and value.startswith("#")
            else _moved(value, to)
            for name, value in node.items()
        }
    return [_moved(item, to) for item in node] if isinstance(node, list | tuple) else node


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
        fault = find_schema_fault(interrupt.response_schema, payload, work)
        if fault is not None:
            return fault
    if interrupt.tool_call is None:
        return None
    if not isinstance(payload, Mapping) or not isinstance(payload.get("approved"), bool):
        return "a tool approval needs a payload with a boolean `approved`."
    wanted = APPROVE if payload["approved"] else DECLINE
    if wanted not in interrupt.allowed:
        return f"this agent does not support the decision {wanted!r}."
    if "editedArgs" in payload:
        if EDIT not in interrupt.allowed:
            return "editing the arguments of this call (`editedArgs`) is not supported."
        if not isinstance(payload["editedArgs"], Mapping):
            return "`editedArgs` must be an object that replaces the arguments whole."
    return None


def decide(interrupt: Interrupt, answer: RecordedAnswer, *, expired: bool) -> Decision:
    """Make an admitted answer into the decision that the adapter gets.

    Args:
        interrupt: the question, with its pinned arguments.
        answer: an answer that `find_fault` has passed.
        expired: whether nobody answered in time.
    """
    if expired or answer.status == "cancelled":
        return Cancel("expired" if expired else "cancelled")
    payload: Any = answer.payload
    if interrupt.tool_call is None:
        return Answer(payload)
    if payload["approved"] is not True:
        reason = payload.get("reason")
        return Decline(reason if isinstance(reason, str) else None, payload)
    if "editedArgs" in payload:
        return Approve(payload["editedArgs"], payload, edited=True)
    return Approve(interrupt.tool_call.args, payload)
