"""What an adapter yields last to wait: questions to people, or calls of the frontend's tools.

Each is checked where it is built: a wrong field is told to the adapter's author, at the line that
wrote it, and reaches neither the store nor a client.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from agui_bridge.errors import AgentMistake
from agui_bridge.protocol.answers.decisions import ANSWER, APPROVE, DECLINE, EDIT, RESPOND
from agui_bridge.protocol.answers.question_schemas import DECLINED
from agui_bridge.protocol.threads.approval_rule import ROLE
from agui_bridge.protocol.threads.records import Json, ToolCall

__all__ = ["LONGEST_WAIT", "Ask", "Handoff", "Pause"]

LONGEST_WAIT: Final = 100 * 365 * 86400.0
"""Seconds that a question may wait for its answer; calendars end somewhere."""

_LONGEST_SHOWN: Final = 80


@dataclass(frozen=True, slots=True)
class Ask:
    """One question of a pause.

    Attributes:
        native_id: the adapter's own name for it, unique within the pause; the decision comes
            back under it.
        reason: `tool_call`, `input_required`, `confirmation` or `<framework>:<name>`.
        message: plain text for people.
        tool_call: for a tool approval the proposed call; its arguments are pinned.
        about: for any other question the id of the tool call that it belongs to, which the
            conversation has: clients show the question there. The decision is an `Answer`; whatever
            becomes of the call is yours to tell.
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
    about: str | None = field(default=None, kw_only=True)
    parameters: Mapping[str, Json] | None = None
    response_schema: Mapping[str, Json] | None = None
    allowed: Sequence[str] | None = None
    expires_in: float | None = None
    subagent_run_id: str | None = None
    metadata: Mapping[str, Json] | None = None
    approvers: Sequence[str] | None = field(default=None, kw_only=True)
    quorum: int | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        _check(self, _ASK)
        if self.tool_call is not None:
            _check(self.tool_call, _TOOL_CALL, "Ask.tool_call")
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
        _check(self, _PAUSE)


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
        _check(self, _HANDOFF)


# --- what the fields may be ---


@dataclass(frozen=True, slots=True)
class _Rule:
    """What a field may be, in words and as a check."""

    words: str
    fits: Callable[[Any], bool]

    def or_none(self) -> _Rule:
        """The same, or None."""
        return _Rule(f"{self.words} or None", lambda value: value is None or self.fits(value))


def _is_one(kind: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, kind)


def _are_all(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """Whether it is a sequence of what fits; a text is none, though Python takes it for one."""
    return lambda value: (
        isinstance(value, Sequence) and not isinstance(value, str | bytes) and all(map(fits, value))
    )


def _is_wait(value: Any) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and 0 <= value <= LONGEST_WAIT


def _is_approver(value: Any) -> bool:
    return isinstance(value, str) and value not in ("", ROLE)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _is_decision(value: Any) -> bool:
    return isinstance(value, str) and value in _DECISIONS


_DECISIONS: Final = (APPROVE, DECLINE, EDIT, RESPOND, ANSWER)
_TEXT = _Rule("a str", _is_one(str))
_OBJECT = _Rule("a mapping", _is_one(Mapping))
_IDS = _Rule("a sequence of tool call ids", _are_all(_is_one(str)))

_ASK: Final[Mapping[str, _Rule]] = {
    "native_id": _TEXT,
    "reason": _TEXT,
    "message": _TEXT.or_none(),
    "tool_call": _Rule("a ToolCall", _is_one(ToolCall)).or_none(),
    "about": _Rule("a tool call id", _is_one(str)).or_none(),
    "parameters": _Rule("a JSON Schema, as a mapping,", _is_one(Mapping)).or_none(),
    "response_schema": _Rule("a JSON Schema, as a mapping,", _is_one(Mapping)).or_none(),
    "allowed": _Rule(
        "a sequence of " + ", ".join(map(repr, _DECISIONS)), _are_all(_is_decision)
    ).or_none(),
    "expires_in": _Rule(f"0 to {LONGEST_WAIT:.0f} seconds", _is_wait).or_none(),
    "subagent_run_id": _TEXT.or_none(),
    "metadata": _OBJECT.or_none(),
    "approvers": _Rule(
        "a sequence of actors and role:NAME, not empty,",
        lambda value: _are_all(_is_approver)(value) and bool(value),
    ).or_none(),
    "quorum": _Rule("1 or more", _is_count).or_none(),
}
_TOOL_CALL: Final[Mapping[str, _Rule]] = {"id": _TEXT, "name": _TEXT, "args": _OBJECT}
_PAUSE: Final[Mapping[str, _Rule]] = {
    "asks": _Rule("a sequence of Ask", _are_all(_is_one(Ask))),
    "frontend_calls": _IDS,
}
_HANDOFF: Final[Mapping[str, _Rule]] = {"tool_call_ids": _IDS}


def _check(built: object, rules: Mapping[str, _Rule], label: str | None = None) -> None:
    for name, rule in rules.items():
        value = getattr(built, name)
        if not rule.fits(value):
            where = f"{label or type(built).__name__}.{name}"
            raise AgentMistake(f"{where} must be {rule.words}, not {_shown(value)}.")


def _shown(value: Any) -> str:
    """The value in words: what it holds is the author's affair, and may fail to be shown."""
    kind = type(value).__name__
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if value is None or not isinstance(value, str | int | float):
        return kind if value is not None else "None"
    text = repr(value)
    return f"{kind} {text if len(text) <= _LONGEST_SHOWN else text[:_LONGEST_SHOWN] + '…'}"
