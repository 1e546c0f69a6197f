"""What a person decided: the schemas that are offered, and answers made into decisions.

The schema that is advertised and the check that is applied are one. Source: docs/contract.md,
"Decisions".
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Protocol

from agui_bridge.protocol.previews import Preview
from agui_bridge.protocol.schemas.check_work import CheckWork
from agui_bridge.protocol.schemas.checking import find_schema_fault, is_known_draft
from agui_bridge.protocol.schemas.left_out import REFERENCES
from agui_bridge.protocol.threads.records import Interrupt, Json, RecordedAnswer, Vote

# --- response schemas of questions: with a decline beside the answer, and without null ---
#
# A question that may be declined takes what it asks for, or `{"declined": true, "reason": …}`.
# Source: docs/contract.md, "Decisions".

DECLINED: Final = "declined"
"""The member of a payload that says, being true, that a person would not answer."""

_ANSWER: Final = "#/anyOf/0"
DECLINE_SCHEMA: Final[Mapping[str, Json]] = {
    "type": "object",
    "required": [DECLINED],
    "properties": {DECLINED: {"const": True}, "reason": {"type": "string"}},
}
"""The payload of a decline."""

_NOT_NULL: Final[Mapping[str, Json]] = {"not": {"type": "null"}}


def declinable(schema: Mapping[str, Json] | None) -> dict[str, Json]:
    """Offer a decline beside the answer.

    Args:
        schema: of the answer; None takes any.

    Returns:
        `{anyOf: [schema, {required: [declined], …}]}`.
    """
    answer, draft = rooted(schema or {}, _ANSWER)
    return {**draft, "anyOf": [answer, dict(DECLINE_SCHEMA)]}


def without_null(schema: Mapping[str, Json] | None) -> Mapping[str, Json]:
    """Let null be no answer, for a framework that can't be told it.

    Args:
        schema: of the answer, which `check_schema` accepted; None takes any.
    """
    if schema is None:
        return _NOT_NULL
    if find_schema_fault(schema, None) is not None:
        return schema
    if "not" not in schema:
        return {**schema, **_NOT_NULL}
    return {**schema, "allOf": [*schema.get("allOf", ()), _NOT_NULL]}


def has_decline(schema: Mapping[str, Json] | None) -> bool:
    """Whether a question's schema, whoever made it, offers a decline beside the answer."""
    offered = (schema or {}).get("anyOf")
    return isinstance(offered, list) and len(offered) == 2 and is_decline_schema(offered[1])


def is_decline_schema(schema: Json) -> bool:
    """Whether it is the schema of a decline and nothing else."""
    if not isinstance(schema, Mapping) or schema.get("required") != [DECLINED]:
        return False
    properties = schema.get("properties")
    return isinstance(properties, Mapping) and properties.get(DECLINED) == {"const": True}


def says_declined(payload: Json) -> bool:
    """Whether a payload is a decline, where the question offers one."""
    return isinstance(payload, Mapping) and payload.get(DECLINED) is True


def find_answer_fault(
    schema: Mapping[str, Any], payload: Json, work: CheckWork | None = None
) -> str | None:
    """Check an answer against its question's schema; see `find_schema_fault`.

    Where there is a decline beside the answer, it is told what is wrong with what was meant.
    """
    if has_decline(schema) and not says_declined(payload):
        schema = {**schema, "anyOf": schema["anyOf"][:1]}
    return find_schema_fault(schema, payload, work)


def rooted(schema: Mapping[str, Json], to: str) -> tuple[dict[str, Json], dict[str, Json]]:
    """Make a whole schema a part of another one.

    Args:
        schema: a document of its own.
        to: the pointer to its new place.

    Returns:
        It, as it is to stand there; and its draft, which then rules the whole document.
    """
    part: dict[str, Json] = _moved(dict(schema), to)
    part.pop("$id", None)
    draft = part.pop("$schema", None)
    return part, {"$schema": draft} if is_known_draft(draft) else {}


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
    parameters: Mapping[str, Json] | None,
    *,
    editable: bool,
    respond: bool = False,
    approve: bool = True,
) -> dict[str, Json]:
    """Make the response schema of a tool approval.

    Args:
        parameters: the tool's parameter schema, or None when it is not known.
        editable: whether arguments may be edited; `editedArgs` in the schema is the signal.
        respond: whether a text may be given in place of the tool's result; `respond` in the schema
            is the signal.
        approve: whether it may be approved at all.

    Returns:
        `{type: object, required: [approved], properties: {approved, reason, editedArgs?,
        respond?}}`.
    """
    properties: dict[str, Json] = {
        "approved": {"type": "boolean"} if approve else {"type": "boolean", "const": False},
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


CUT_PREVIEW: Final = (
    "its preview is cut, so that nobody has seen all that the call would do: it can't be approved. "
    "Decline it with a reason, such as that it is to do less at once."
)


class _Previewed(Protocol):
    @property
    def preview(self) -> Preview | None: ...


def is_cut(question: _Previewed) -> bool:
    """Whether nobody can have seen all that a question shows."""
    return question.preview is not None and question.preview.is_cut


def find_fault(interrupt: Interrupt, payload: Json, work: CheckWork | None = None) -> str | None:
    """Say what is wrong with a resolved entry's payload, or None when it is an answer.

    For a tool approval nothing but a JSON boolean `approved` counts, and a decision that the
    adapter does not support is a fault.

    Args:
        interrupt: the question.
        payload: the answer to it.
        work: what may be done for all answers of the input; what this one takes is counted.
    """
    if is_cut(interrupt) and isinstance(payload, Mapping) and payload.get("approved") is True:
        return CUT_PREVIEW
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
