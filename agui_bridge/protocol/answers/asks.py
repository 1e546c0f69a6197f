"""What an adapter yields last to wait: questions to people, or calls of the frontend's tools.

Each is checked where it is built: a wrong field is told to the adapter's author, at the line that
wrote it, and reaches neither the store nor a client.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from agui_bridge.errors import AgentMistake
from agui_bridge.protocol.answers.decisions import ANSWER, APPROVE, DECLINE, EDIT, RESPOND
from agui_bridge.protocol.answers.question_schemas import DECLINED
from agui_bridge.protocol.field_rules import (
    COUNT,
    OBJECT,
    TEXT,
    FieldRule,
    check_fields,
    is_a,
    is_number,
    sequence_of,
)
from agui_bridge.protocol.threads.approval_rule import is_approver
from agui_bridge.protocol.threads.records import Json, ToolCall

__all__ = ["LONGEST_WAIT", "Ask", "Handoff", "Pause"]

LONGEST_WAIT: Final = 100 * 365 * 86400.0
"""Seconds that a question may wait for its answer; calendars end somewhere."""


@dataclass(frozen=True, slots=True)
class Ask:
    """One question of a pause.

    Attributes:
        native_id: the adapter's own name for it, unique within the pause; the decision comes
            back under it.
        reason: `tool_call`, `input_required`, `confirmation` or `<framework>:<name>`.
        message: plain text for people.
        tool_call: for a tool approval the proposed call; its arguments are pinned.
        about: for any other question the tool call that it belongs to. Its id, where the
            conversation has the call: clients show the question there. Else the call itself: then
            clients are shown none. Approval rules hear of either. The decision is an `Answer`;
            whatever becomes of the call is yours to tell. Of a question about several calls a
            sequence of these: what the rules of all of them want counts, and `message` should show
            the calls, since clients show the question at none.
        permits: whether the answer lets a tool run, as that of an approval does whose call can't be
            pinned. A message is then never taken for it.
        parameters: the tool's parameter JSON Schema: what edited arguments must satisfy.
        response_schema: JSON Schema of the payload; by default that of a tool approval when
            there is a tool call, of a confirmation when the reason is `confirmation`, else
            none (any payload).
        allowed: decisions on a tool approval, of approve, decline, edit, respond. None allows what
            the adapter's capabilities support, edit only where `parameters` are given. Name edit
            without `parameters`, and any object is taken for the arguments. For a question that is
            no approval `("answer", "decline")` offers a decline beside the answer.
        expires_in: seconds until it can't be answered; None takes the agent's setting.
        subagent_run_id: the sub-agent that asks.
        metadata: public, for the frontend.
        approvers: who may answer of those whom the bridge's approval rule lets answer: actors, or
            roles as `role:NAME`. None leaves the rule as it is; it can never be widened.
        quorum: how many must approve at least, if the rule wants fewer.

    Raises:
        AgentMistake: a field is of another type, or can't be; it names the field.
    """

    native_id: str
    reason: str = "input_required"
    message: str | None = None
    tool_call: ToolCall | None = None
    about: str | ToolCall | Sequence[str | ToolCall] | None = field(default=None, kw_only=True)
    permits: bool = field(default=False, kw_only=True)
    parameters: Mapping[str, Json] | None = None
    response_schema: Mapping[str, Json] | None = None
    allowed: Sequence[str] | None = None
    expires_in: float | None = None
    subagent_run_id: str | None = None
    metadata: Mapping[str, Json] | None = None
    approvers: Sequence[str] | None = field(default=None, kw_only=True)
    quorum: int | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        check_fields(self, _ASK, error=AgentMistake)
        for call in self.calls:
            if isinstance(call, ToolCall) and call is not self.tool_call:
                check_fields(call, _TOOL_CALL, error=AgentMistake, label="Ask.about")
        if self.tool_call is not None:
            check_fields(self.tool_call, _TOOL_CALL, error=AgentMistake, label="Ask.tool_call")
            if self.about is not None:
                raise AgentMistake("Ask.about must be None where there is an Ask.tool_call.")
        elif self.may_be_declined and DECLINED in (
            (self.response_schema or {}).get("properties") or ()
        ):
            raise AgentMistake(
                f"Ask.response_schema has a property {DECLINED!r}, by which a decline is told: "
                "give it another name, or allow no decline."
            )

    @property
    def calls(self) -> tuple[str | ToolCall, ...]:
        """The calls that it is about, whether one may run or anything else."""
        about = self.tool_call if self.about is None else self.about
        if about is None:
            return ()
        return (about,) if isinstance(about, str | ToolCall) else tuple(about)

    @property
    def may_be_declined(self) -> bool:
        """Whether it is a question that offers a decline beside the answer."""
        allowed = self.allowed or ()
        return self.tool_call is None and ANSWER in allowed and DECLINE in allowed


@dataclass(frozen=True, slots=True)
class Pause:
    """Yielded last: the run waits for people.

    Attributes:
        asks: at least one question; they are answered as one batch.
        continuation: JSON that comes back with the answers, private to the adapter.
        frontend_calls: ids of frontend tool calls of this run that are pending besides.

    Raises:
        AgentMistake: a field is of another type; it names the field.
    """

    asks: Sequence[Ask]
    continuation: Json = None
    frontend_calls: Sequence[str] = ()

    def __post_init__(self) -> None:
        check_fields(self, _PAUSE, error=AgentMistake)


@dataclass(frozen=True, slots=True)
class Handoff:
    """Yielded last: the run ended with frontend tool calls that the application executes.

    Attributes:
        tool_call_ids: calls of this run (their events were yielded) that it left unanswered.
        continuation: JSON that comes back with their results.

    Raises:
        AgentMistake: a field is of another type; it names the field.
    """

    tool_call_ids: Sequence[str]
    continuation: Json = None

    def __post_init__(self) -> None:
        check_fields(self, _HANDOFF, error=AgentMistake)


# --- what the fields may be ---


def _is_call(value: object) -> bool:
    return isinstance(value, str | ToolCall)


_DECISIONS: Final = (APPROVE, DECLINE, EDIT, RESPOND, ANSWER)
_CALLS: Final = sequence_of("a sequence of these, not empty", _is_call, least=1)
_SCHEMA: Final = FieldRule("a JSON Schema, as a mapping,", is_a(Mapping)).or_none()
_IDS: Final = sequence_of("a sequence of tool call ids", is_a(str))

_ASK: Final[Mapping[str, FieldRule]] = {
    "native_id": TEXT,
    "reason": TEXT,
    "message": TEXT.or_none(),
    "tool_call": FieldRule("a ToolCall", is_a(ToolCall)).or_none(),
    "about": FieldRule(
        f"a tool call id or a ToolCall, or {_CALLS.words}",
        lambda value: _is_call(value) or _CALLS.fits(value),
    ).or_none(),
    "permits": FieldRule("a bool", is_a(bool)),
    "parameters": _SCHEMA,
    "response_schema": _SCHEMA,
    "allowed": sequence_of(
        "a sequence of " + ", ".join(map(repr, _DECISIONS)), _DECISIONS.__contains__
    ).or_none(),
    "expires_in": FieldRule(
        f"0 to {LONGEST_WAIT:.0f} seconds", lambda value: is_number(value, most=LONGEST_WAIT)
    ).or_none(),
    "subagent_run_id": TEXT.or_none(),
    "metadata": OBJECT.or_none(),
    "approvers": sequence_of(
        "a sequence of actors and role:NAME, not empty,", is_approver, least=1
    ).or_none(),
    "quorum": COUNT.or_none(),
}
_TOOL_CALL: Final[Mapping[str, FieldRule]] = {"id": TEXT, "name": TEXT, "args": OBJECT}
_PAUSE: Final[Mapping[str, FieldRule]] = {
    "asks": sequence_of("a sequence of one or more Ask", is_a(Ask), least=1),
    "frontend_calls": _IDS,
}
_HANDOFF: Final[Mapping[str, FieldRule]] = {"tool_call_ids": _IDS}
