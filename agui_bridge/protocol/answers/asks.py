"""What an adapter yields last to wait: questions to people, or calls of the frontend's tools.

Each is checked where it is built: a wrong field is told to the adapter's author, at the line that
wrote it, and reaches neither the store nor a client.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, Protocol, runtime_checkable

from agui_bridge.errors import AgentMistake
from agui_bridge.protocol.answers.decisions import ANSWER, APPROVE, DECLINE, DECLINED, EDIT, RESPOND
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
from agui_bridge.protocol.previews import CommandPreview, DiffPreview, Preview
from agui_bridge.protocol.threads.approval_rule import is_approver
from agui_bridge.protocol.threads.records import Json, ToolCall

# --- what an agent says of a call: in its own words, with the call itself, or without it ---

_BY_DEFAULT: Final = frozenset({"", "Tool execution requires approval"})
"""What LangChain's HumanInTheLoopMiddleware begins with where its user said nothing."""

_OPENS: Final = re.compile(r"[{\[]\s*(?:(?P<text>['\"{])|[\d\[-])")
_MOST_TRIES: Final = 1_000
_DECODER: Final = json.JSONDecoder()


def own_words(description: str | None, name: str, args: Mapping[str, Json]) -> str | None:
    """A description without the call that it repeats, which is shown beside it.

    LangChain's middleware adds the tool's name, and its arguments as Python writes them; Pydantic
    AI's endpoint says `Approve pay({"to": "bob"})?`.

    Args:
        description: as the framework has it.
        name: the tool's name.
        args: its arguments.
    """
    if description is None:
        return None
    said = description.removesuffix(f"\n\nTool: {name}\nArgs: {dict(args)}")
    begin, end = f"Approve {name}(", ")?"
    if said.startswith(begin) and said.endswith(end):
        with contextlib.suppress(ValueError, RecursionError):
            if json.loads(said[len(begin) : -len(end)]) == dict(args):
                return None
    return None if said in _BY_DEFAULT else said


def with_call(message: str | None, name: Json, args: Json) -> str:
    """A message that shows the call which its question lets run, for whoever is shown no call.

    Args:
        message: what the agent says.
        name: the tool's name.
        args: its arguments, or the JSON text of them.
    """
    if isinstance(args, str):
        with contextlib.suppress(ValueError):
            args = json.loads(args)
    # Channels that tell no arguments know an object or a list for such.
    args = args if isinstance(args, Mapping | list) else [args]
    shown = f"{name} {json.dumps(args, ensure_ascii=False)}"
    return message if message and shown in message else f"{message or ''}\n{shown}".strip()


def without_arguments(text: str) -> str:
    """A text in which `…` stands for whatever may be arguments: objects and lists, as JSON.

    Of what begins like one and is no JSON (Python's own way of writing it, or cut off) nobody knows
    where it ends: so nothing behind it is left.

    Args:
        text: what an agent or its framework says of a question.
    """
    kept, at, tried = [], 0, 0
    look = at
    while (found := _OPENS.search(text, look)) is not None:
        tried += 1
        try:
            _, end = _DECODER.raw_decode(text, found.start())
        except (ValueError, RecursionError):
            if found["text"] is None and tried < _MOST_TRIES:
                look = found.start() + 1
                continue
            end = len(text)
        kept.append(f"{text[at : found.start()]}…")
        at = look = end
    return "".join(kept) + text[at:]


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
        expires_at: the same as a time by the store's clock, which `Run.now` gives, in seconds since
            the epoch; in place of `expires_in`.
        subagent_run_id: the sub-agent that asks.
        metadata: public, for the frontend.
        approvers: who may answer of those whom the bridge's approval rule lets answer: actors, or
            roles as `role:NAME`. None leaves the rule as it is; it can never be widened.
        quorum: how many must approve at least, if the rule wants fewer.
        preview: what the call of an approval would do, for people to read beside its arguments. One
            that is cut lets nobody approve.

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
    expires_at: float | None = field(default=None, kw_only=True)
    preview: Preview | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        check_fields(self, _ASK, error=AgentMistake)
        for call in self.calls:
            if isinstance(call, ToolCall) and call is not self.tool_call:
                check_fields(call, _TOOL_CALL, error=AgentMistake, label="Ask.about")
        if self.preview is not None and self.tool_call is None:
            raise AgentMistake("Ask.preview must be None where there is no Ask.tool_call.")
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
        held: whether the framework's side waits for the answers in this process. They come back
            with `Resume.held` while it does; else `continuation` must be enough to go on from, and
            the adapter's `closed` is called once the answers come to somebody else, or never. Only
            for adapters that declare `holds`.

    Raises:
        AgentMistake: a field is of another type; it names the field.
    """

    asks: Sequence[Ask]
    continuation: Json = None
    frontend_calls: Sequence[str] = ()
    held: bool = False

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
    "expires_at": FieldRule("seconds since the epoch", is_number).or_none(),
    "subagent_run_id": TEXT.or_none(),
    "metadata": OBJECT.or_none(),
    "approvers": sequence_of(
        "a sequence of actors and role:NAME, not empty,", is_approver, least=1
    ).or_none(),
    "quorum": COUNT.or_none(),
    "preview": FieldRule(
        "a DiffPreview or a CommandPreview",
        lambda value: isinstance(value, DiffPreview | CommandPreview),
    ).or_none(),
}
_TOOL_CALL: Final[Mapping[str, FieldRule]] = {"id": TEXT, "name": TEXT, "args": OBJECT}
_PAUSE: Final[Mapping[str, FieldRule]] = {
    "asks": sequence_of("a sequence of one or more Ask", is_a(Ask), least=1),
    "frontend_calls": _IDS,
    "held": FieldRule("a bool", is_a(bool)),
}
_HANDOFF: Final[Mapping[str, FieldRule]] = {"tool_call_ids": _IDS}


HoldEnd = Literal["answered elsewhere", "stopped", "expired", "let go"]
"""Why a pause is held no more: its answers are carried out elsewhere, it was closed without any, or
this process holds it no longer and the question stays open."""


@runtime_checkable
class Holds(Protocol):
    """An adapter whose framework's side may wait for the answers: `capabilities.holds`."""

    async def closed(self, continuation: Json, end: HoldEnd) -> None:
        """End what waits for the answers to a pause that was yielded as `held`.

        It is called once for each such pause, unless a run has it with `Resume.held`; also for one
        that could not be stored. Nothing may begin any more of what was asked.

        Args:
            continuation: of that pause.
            end: why nobody waits any more.
        """
        ...
