"""What a pause keeps so that the function can run again: the journal as versioned JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agui_bridge.adapters import Run
from agui_bridge.agents.replay.state import StateRecord
from agui_bridge.errors import ReplayMismatch
from agui_bridge.frameworks.needs_input import Answered
from agui_bridge.protocol.answers.decisions import (
    Answer,
    Approve,
    Cancel,
    Decision,
    Decline,
    Respond,
)
from agui_bridge.protocol.threads.records import Json

VERSION = 1


class EntryKey(NamedTuple):
    """The identity of one journaled call.

    Attributes:
        kind: the method of `run`: step, stream, call, approve, tool, ask, confirm, …; `policy`
            is what the policy had a person asked about a call.
        name: the name that the author gave it, or the question.
        args: its arguments as canonical JSON, shortened by a digest when long.
        key: what the author passed as `key=`.
        nth: how many equal calls came before it.
    """

    kind: str
    name: str
    args: str = ""
    key: str | None = None
    nth: int = 0

    def __str__(self) -> str:
        """Name the call as it stands in the author's code, as far as that is known."""
        name = self.name if len(self.name) <= 60 else self.name[:59] + "…"
        parts = [repr(name)]
        if self.args:
            parts.append(self.args)
        if self.key is not None:
            parts.append(f"key={self.key!r}")
        repeat = f" (repeat {self.nth})" if self.nth else ""
        return f"run.{self.kind}({', '.join(parts)}){repeat}"


class _Shape(BaseModel):
    # Built by the first run that pauses: whoever imports a bridge may not have one.
    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class Value(_Shape):
    """The call returned this.

    A frontend tool gives a text or content parts; where it failed, an object with its `content` and
    its `error`.
    """

    type: Literal["value"] = "value"
    value: Json


class Failure(_Shape):
    """The call raised an exception of this type, with this text."""

    type: Literal["failure"] = "failure"
    error: str
    text: str


class Abandoned(_Shape):
    """The author's own code cancelled the call (a timeout, for one) while it ran."""

    type: Literal["abandoned"] = "abandoned"


class Denied(_Shape):
    """The policy denied the call, for this reason if it gave one."""

    type: Literal["denied"] = "denied"
    reason: str | None = None


class Halted(_Shape):
    """The policy let a call that had begun go no further, for this reason if it gave one."""

    type: Literal["halted"] = "halted"
    reason: str | None = None


class Awaited(_Shape):
    """A frontend tool call that is on the wire and has no result yet."""

    type: Literal["awaited"] = "awaited"
    tool_call_id: str


class Asked(_Shape):
    """A question of the pause; the decision comes back under its native id."""

    type: Literal["asked"] = "asked"
    native_id: str
    tool_call_id: str | None = None


class Decided(_Shape):
    """The answer to a question, a `Decision` flattened."""

    type: Literal["decided"] = "decided"
    verdict: Literal["approve", "decline", "respond", "answer", "cancel"]
    tool_call_id: str | None = None
    payload: Json = None
    args: dict[str, Json] | None = None
    edited: bool = False
    reason: str | None = None
    cause: Literal["cancelled", "expired"] | None = None
    actor: str | None = None
    approvers: tuple[str, ...] = ()

    @classmethod
    def of(cls, decision: Decision, tool_call_id: str | None, actor: str) -> Decided:
        """Flatten a decision, and note who sent it."""
        match decision:
            case Approve(args, payload, edited):
                return cls(
                    verdict="approve",
                    tool_call_id=tool_call_id,
                    payload=payload,
                    args=dict(args),
                    edited=edited,
                    actor=actor,
                    approvers=decision.approvers or (actor,),
                )
            case Decline(reason, payload):
                return cls(
                    verdict="decline", tool_call_id=tool_call_id, payload=payload, reason=reason
                )
            case Respond(_, payload):
                return cls(verdict="respond", tool_call_id=tool_call_id, payload=payload)
            case Answer(payload):
                return cls(verdict="answer", tool_call_id=tool_call_id, payload=payload)
            case Cancel(cause):
                return cls(verdict="cancel", tool_call_id=tool_call_id, cause=cause)

    @property
    def decision(self) -> Decision:
        """The decision as the adapter got it."""
        asked: Literal["approval", "question"]
        asked = "question" if self.tool_call_id is None else "approval"
        match self.verdict:
            case "approve":
                return Approve(self.args or {}, self.payload, self.edited)
            case "decline":
                return Decline(self.reason, self.payload, asked=asked)
            case "respond":
                return Respond(self.payload["respond"], self.payload)
            case "answer":
                return Answer(self.payload)
            case "cancel":
                return Cancel(self.cause or "cancelled", asked=asked)


class Sleeping(_Shape):
    """A branch that sleeps until this store time, and that the pause asks nothing of."""

    type: Literal["sleeping"] = "sleeping"
    until: float


class Asking(_Shape):
    """A call that has begun, and asks before it can finish.

    Attributes:
        tool_call_id: the call on the wire.
        round: how often it has asked, this time included.
        state: what its function noted for the next round.
        asks: the questions: the tool's own names for them, by native id.
        decided: the answers, by the tool's own names; none while they wait.
    """

    type: Literal["asking"] = "asking"
    tool_call_id: str
    round: int
    state: Json = None
    asks: dict[str, str]
    decided: dict[str, Decided] = Field(default_factory=dict)

    @property
    def answered(self) -> Answered:
        """What the tool is given, once the answers are here."""
        decisions = {name: decided.decision for name, decided in self.decided.items()}
        return Answered.of(decisions, self.state, self.round)


class Begun(_Shape):
    """An act that is stored as begun, in a run that another process may take up.

    Attributes:
        act: its own key; it has the same one if it begins again.
        idempotent: whether its author says that it may begin again.
        tool_call_id: the call on the wire; None of what is no call.
        asking: what it had asked, where this is a later round of a call.
    """

    type: Literal["begun"] = "begun"
    act: str
    idempotent: bool = False
    tool_call_id: str | None = None
    asking: Asking | None = None


Outcome = (
    Value
    | Failure
    | Abandoned
    | Denied
    | Halted
    | Awaited
    | Asked
    | Sleeping
    | Asking
    | Decided
    | Begun
)


class _Entry(_Shape):
    key: EntryKey
    outcome: Annotated[Outcome, Field(discriminator="type")]


class Continuation(_Shape):
    """Everything that a replay needs.

    Attributes:
        v: version of this shape.
        entries: the journal, in the order of the calls.
        yields: items that the generator yielded, by the number of the agent's own calls
            before them.
        state: None when the function never looked at the state.
        context: how many messages the function first saw, and how many of them were new.
        actor: who began the first run.
        usage: how many usage entries were told after each call; None before the first. Left out
            where there are none, so that earlier versions can read the rest.
        spent: of a checkpoint, the usage that its run is still to tell. Left out where there is
            none.
    """

    v: Literal[1] = 1
    entries: tuple[_Entry, ...] = ()
    yields: dict[int, int] = Field(default_factory=dict)
    state: StateRecord | None = None
    context: tuple[int, int]
    actor: str | None = None
    usage: tuple[tuple[EntryKey | None, int], ...] = ()
    spent: tuple[Json, ...] = ()

    @classmethod
    def pack(
        cls,
        entries: Mapping[EntryKey, Outcome],
        yields: Mapping[int, int],
        state: StateRecord | None,
        context: tuple[int, int],
        actor: str,
        usage: Mapping[EntryKey | None, int],
        spent: Sequence[Json] = (),
    ) -> Json:
        """Make the JSON that a pause or a checkpoint carries."""
        packed = cls(
            entries=tuple(_Entry(key=key, outcome=entries[key]) for key in entries),
            yields=dict(yields),
            state=state,
            context=context,
            actor=actor,
            usage=tuple(usage.items()),
            spent=tuple(spent),
        )
        empty = {name for name in ("usage", "spent") if not getattr(packed, name)}
        return packed.model_dump(mode="json", exclude=empty or None)


@dataclass(frozen=True, slots=True)
class Past:
    """What a run continues; empty for a fresh one.

    Attributes:
        entries: the journal, the answers filled in.
        yields: see `Continuation`.
        state: see `Continuation`.
        context: see `Continuation`; None for a fresh run.
        actor: see `Continuation`.
        usage: see `Continuation`.
        spent: see `Continuation`.
    """

    entries: Mapping[EntryKey, Outcome] = field(default_factory=dict)
    yields: Mapping[int, int] = field(default_factory=dict)
    state: StateRecord | None = None
    context: tuple[int, int] | None = None
    actor: str | None = None
    usage: Mapping[EntryKey | None, int] = field(default_factory=dict)
    spent: Sequence[Json] = ()


def read_entries(packed: Json) -> Mapping[EntryKey, Outcome]:
    """What a pause that nobody continues had remembered; nothing of one that can't be read."""
    try:
        return {entry.key: entry.outcome for entry in Continuation.model_validate(packed).entries}
    except ValidationError:
        return {}


def recall(run: Run) -> Past:
    """Read the continuation of a run that goes on, and fill in what came back since.

    Raises:
        ReplayMismatch: the continuation is of another version or shape, or the decisions
            are not those of its questions.
    """
    source = run.resume or run.handoff
    if source is None and run.standing is None:
        return Past()
    packed = run.standing if source is None else source.continuation
    version = packed.get("v") if isinstance(packed, dict) else None
    if version != VERSION:
        raise ReplayMismatch(
            f"The continuation has version {version!r}; this agui-bridge reads version {VERSION}. "
            "Resume it with the version that paused it, or cancel it and start again."
        )
    try:
        continuation = Continuation.model_validate(packed)
    except ValidationError as error:
        place = ".".join(map(str, error.errors()[0]["loc"]))
        raise ReplayMismatch(f"The continuation is malformed at {place!r}.") from None
    decisions = dict(run.resume.decisions) if run.resume is not None else {}
    actors = run.resume.actors if run.resume is not None else {}
    results = _frontend_results(run)

    def taken(key: EntryKey, native_id: str, tool_call_id: str | None = None) -> Decided:
        if native_id not in decisions:
            raise ReplayMismatch(f"The resume has no decision for {key}.")
        actor = actors.get(native_id, run.principal.actor)
        return Decided.of(decisions.pop(native_id), tool_call_id, actor)

    entries: dict[EntryKey, Outcome] = {}
    for entry in continuation.entries:
        outcome = entry.outcome
        if isinstance(outcome, Asked):
            outcome = taken(entry.key, outcome.native_id, outcome.tool_call_id)
        elif isinstance(outcome, Asking) and not outcome.decided:
            given = {name: taken(entry.key, native) for native, name in outcome.asks.items()}
            outcome = outcome.model_copy(update={"decided": given})
        elif isinstance(outcome, Awaited) and outcome.tool_call_id in results:
            outcome = Value(value=results[outcome.tool_call_id])
        entries[entry.key] = outcome
    if decisions:
        raise ReplayMismatch(f"The pause never asked {sorted(decisions)}.")
    return Past(
        entries,
        continuation.yields,
        continuation.state,
        continuation.context,
        continuation.actor,
        dict(continuation.usage),
        continuation.spent,
    )


def _frontend_results(run: Run) -> dict[str, Json]:
    told = dict(run.handoff.results) if run.handoff is not None else {}
    for message in run.raw_messages:
        if message.get("role") == "tool" and "toolCallId" in message:
            content, error = message.get("content"), message.get("error")
            told[message["toolCallId"]] = {"content": content, "error": error} if error else content
    return told
