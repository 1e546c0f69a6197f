"""What is known of a thread, as frozen records: the vocabulary of contract.md.

The store keeps these, `contract.admission` decides on them, `contract.transitions` changes them.
Times are seconds since the epoch by the store's clock. `Json` is any JSON value.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from typing import Any, Final, Literal

from agui_bridge.errors import ConfigurationError
from agui_bridge.frozen import dataclass
from agui_bridge.protocol.field_rules import NAME, FieldRule, check_fields, collection_of
from agui_bridge.protocol.previews import Preview
from agui_bridge.protocol.threads.approval_rule import ApprovalRule
from agui_bridge.protocol.threads.checkpoint import Checkpoint
from agui_bridge.protocol.threads.completed_part import CompletedPart
from agui_bridge.protocol.threads.record_parts import TIMER, ChainHead, LeaseTerm, PauseHold, Watch

Json = Any


@dataclasses.dataclass(frozen=True, slots=True)
class Principal:
    """Who asks.

    Attributes:
        scope: keys all data.
        actor: is named in the history, and in approval rules.
        roles: what the actor is for approval rules, where they say `role:NAME`.
        reviews: other scopes whose questions, never whose threads, may be seen and answered.

    Raises:
        ConfigurationError: a field is of another type, such as one text in place of several
            names; it names the field.
    """

    scope: str = "default"
    actor: str = "anonymous"
    roles: frozenset[str] = frozenset()
    reviews: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_fields(self, _PRINCIPAL, error=ConfigurationError)
        object.__setattr__(self, "roles", frozenset(self.roles))
        object.__setattr__(self, "reviews", tuple(self.reviews))


_PRINCIPAL: Final[Mapping[str, FieldRule]] = {
    "scope": NAME,
    "actor": NAME,
    "roles": collection_of('a set of names, such as frozenset({"admin"})', NAME.fits),
    "reviews": collection_of('a sequence of scopes, such as ("team",)', NAME.fits),
}


RECORD_FORMAT: Final = 2
"""What this version writes into each thread's record. One more with each version beside which an
older one must not go on: one that adds what decides about questions, such as a kind of rule."""


@dataclass(frozen=True, slots=True)
class ThreadKey:
    """The identity of a thread. The same thread id under another scope is another thread.

    Attributes:
        scope: whose it is; see `Principal`.
        agent: the agent's name.
        thread: its id, as clients send it.
    """

    scope: str
    agent: str
    thread: str


class ThreadStatus(StrEnum):
    """What a thread is doing."""

    IDLE = "idle"
    RUNNING = "running"
    INTERRUPTED = "interrupted"


class InterruptStatus(StrEnum):
    """The life of an interrupt.

    Attributes:
        OPEN: it waits for its answer.
        ANSWERED: it has one, and its batch waits for others.
        CLAIMED: a run carries the answer out.
        RESOLVED: that run has ended.
        CANCELLED: nobody decided.
        EXPIRED: its time was over.
        INDETERMINATE: that run was lost; what it did is unknown.
    """

    OPEN = "open"
    ANSWERED = "answered"
    CLAIMED = "claimed"
    RESOLVED = "resolved"
    CANCELLED = "cancelled"
    EXPIRED = "expired"
    INDETERMINATE = "indeterminate"


@dataclasses.dataclass(frozen=True, slots=True)
class ToolCall:
    """The tool call that an interrupt asks about.

    Attributes:
        id: the call's on the wire.
        name: the tool's.
        args: pinned: what is approved is executed with these, or with edited ones.
    """

    id: str
    name: str
    args: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class RecordedAnswer:
    """One answer as it was accepted; an absent payload is recorded as null."""

    status: Literal["resolved", "cancelled"]
    payload: Json = None


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """What happened to an interrupt: mostly a change of its status.

    Attributes:
        status: the one that it has since then.
        at: store time (seconds).
        actor: who did it.
        via: through what: `agui`, `api`, `inbox`, `link`, `slack`, `mail`, `chat`, `mcp`, `acp`,
            `a2a`, `rule`, `timer`, `cli`; None where nobody said.
        rule: name of the approval rule under which it was answered.
        event: what happened where the status stayed: `voted`, `escalated`, `unsealed`, `notices to
            CHANNEL closed`, …
    """

    status: InterruptStatus
    at: float
    actor: str
    via: str | None = None
    rule: str | None = None
    event: str | None = None


@dataclass(frozen=True, slots=True)
class Vote:
    """An answer that waits for others of its kind, because an approval rule wants several.

    Attributes:
        actor: who gave it.
        roles: what they were then.
        answer: what they answered.
        args_digest: of what was approved; votes count together where it is the same. None for a
            decline.
        at: store time (seconds).
        via: through what; see `AuditEntry`.
    """

    actor: str
    roles: frozenset[str]
    answer: RecordedAnswer
    args_digest: str | None
    at: float
    via: str | None = None


@dataclass(frozen=True, slots=True)
class Interrupt:
    """One question to a person. Rows are kept until deletion or prune.

    Public, on the wire: id, reason, message, call_id, response_schema, expires_at,
    subagent_run_id, metadata. Private: batch, native_id, the pinned arguments, allowed.

    Attributes:
        id: 128 random bits, URL-safe; the key of the interrupt within its thread.
        batch: id of the pause that raised it together with its siblings.
        position: its place within the batch, from 0.
        native_id: the framework's own name for the question.
        tool_call: for tool approvals the call, with the arguments that are asked about.
        about: id of the tool call that any other question belongs to.
        about_tool: the tool of that call, or of one that the conversation does not have; of several
            calls the first of their tools, with commas between them. None where it is about none,
            or an earlier version stored it.
        about_tools: of several calls all their tools, each once; else none.
        permits: whether its answer lets a tool run, though no call is pinned.
        allowed: the decisions that a tool approval offers; of another question answer and decline
            where it may be declined, else empty.
        expires_at: store time after which it can't be answered, or None.
        status: where in its life it is.
        answer: once it has one.
        audit: every change of the status, and what else happened to it, oldest first.
        asked_by: the actor who asked for the run; None where an earlier version stored it.
        joined_by: others whose messages came to that run while it was paused: they asked, too.
        rule: who may answer; None: anyone of the scope.
        votes: answers that wait for others, one of each actor.
        preview: what the call would do, as people read it.
    """

    id: str
    batch: str
    position: int
    native_id: str
    reason: str
    status: InterruptStatus = InterruptStatus.OPEN
    message: str | None = None
    tool_call: ToolCall | None = None
    response_schema: Mapping[str, Json] | None = None
    allowed: tuple[str, ...] = ()
    expires_at: float | None = None
    subagent_run_id: str | None = None
    metadata: Mapping[str, Json] | None = None
    answer: RecordedAnswer | None = None
    audit: tuple[AuditEntry, ...] = ()
    about: str | None = None
    asked_by: str | None = None
    joined_by: tuple[str, ...] = ()
    rule: ApprovalRule | None = None
    votes: tuple[Vote, ...] = ()
    about_tool: str | None = None
    permits: bool = False
    about_tools: tuple[str, ...] = ()
    preview: Preview | None = None

    @property
    def changes(self) -> tuple[AuditEntry, ...]:
        """What of its history changed its status, oldest first."""
        return tuple(entry for entry in self.audit if entry.event is None)

    def was_asked_by(self, actor: str) -> bool:
        """Whether an actor asked for the run that asks."""
        return actor == self.asked_by or actor in self.joined_by

    @property
    def tool(self) -> str | None:
        """Name of the tool whose call it is about, whether it may run or anything else."""
        return self.tool_call.name if self.tool_call is not None else self.about_tool

    @property
    def tools(self) -> tuple[str, ...]:
        """Each tool by which it is found in lists."""
        tool = self.tool
        return self.about_tools or (() if tool is None else (tool,))

    @property
    def call_id(self) -> str | None:
        """Id of the tool call that it is about, whether it may run or anything else."""
        return self.tool_call.id if self.tool_call is not None else self.about

    @property
    def lets_run(self) -> bool:
        """Whether its answer decides if a tool runs, whether or not the call is pinned."""
        return self.tool_call is not None or self.permits or self.reason == "tool_call"

    @property
    def takes_message(self) -> bool:
        """Whether auto-resume may read a message as the answer; what a rule guards it may not."""
        ruled = self.rule is not None and (self.call_id is not None or self.tool is not None)
        return not (self.lets_run or ruled or self.is_timer)

    @property
    def is_timer(self) -> bool:
        """Whether time answers it: its run sleeps."""
        return self.reason == TIMER

    def expired(self, now: float) -> bool:
        """Whether it can no longer be answered at store time `now`."""
        return self.expires_at is not None and self.expires_at <= now

    @property
    def is_open(self) -> bool:
        """Whether it still waits for an answer (which may have come too late)."""
        return self.status is InterruptStatus.OPEN


@dataclass(frozen=True, slots=True)
class Batch:
    """All that one pause asked, and what the adapter needs to go on from there.

    Attributes:
        trace: W3C `traceparent` of the run that paused, None when nobody traced it.
        run_id: the run that paused, by the id that its client gave it.
    """

    id: str
    continuation: Json = None
    trace: str | None = None
    run_id: str = ""


ReceiptOutcome = Literal[
    "finished", "stopped", "failed", "lost", "expired", "cancelled", "claimed", "undelivered"
]
"""How a batch was closed: expired and cancelled without answers, else by a run that ended so.

An input's is `claimed` until its run has ended, and `undelivered` where that reached nobody.
"""


@dataclass(frozen=True, slots=True)
class Receipt:
    """How a run ended: of a closed batch, with its answers by interrupt id, or of an input.

    Attributes:
        batch: id of the batch, or the key of the input (`engine.input.submission`).
        outcome: how the run ended.
        code: the error code of a failed or lost run.
        lease: token of the run that closed it, by which an owner knows its own receipt.
        at: store time (seconds).
    """

    batch: str
    outcome: ReceiptOutcome
    answers: Mapping[str, RecordedAnswer] = field(default_factory=dict)
    code: str | None = None
    lease: str | None = None
    at: float = 0.0


def lease_token(process: str, id: str) -> str:
    """A lease's token that names its process.

    Args:
        process: its name; empty where no process hears of another one.
        id: random.
    """
    return f"{process}.{id}" if process else id


def process_of(token: str) -> str | None:
    """The name of the process that holds a lease; None for one of the version before.

    Args:
        token: the lease's.
    """
    process, dot, _ = token.partition(".")
    return process if dot else None


@dataclass(frozen=True, slots=True)
class RunLease:
    """The run that owns a running thread: while it holds only the token's owner may write.

    Attributes:
        receipt: key of the receipt of the input that began it; None where it has none.
        ends_at: as the last two: see `LeaseTerm`.
    """

    run_id: str
    token: str
    ends_at: float
    actor: str = "anonymous"
    receipt: str | None = None
    given_at: float | None = None
    doubted_until: float | None = None

    @property
    def term(self) -> LeaseTerm:
        """How long it holds."""
        return LeaseTerm(self.ends_at, self.given_at, self.doubted_until)


@dataclass(frozen=True, slots=True)
class RunEnding:
    """How the last run of a thread ended: the answer to a stop's waiting.

    Attributes:
        token: of that run's lease.
        outcome: how it ended.
        iteration: model steps that it had begun; None where nobody counted them.
        result: what it gave, as JSON; None where it gave nothing, or too much.
    """

    token: str
    outcome: Literal["finished", "stopped", "failed", "lost"]
    iteration: int | None = None
    result: Json = None


@dataclass(frozen=True, slots=True)
class StopRequest:
    """A durable request to stop one run.

    Attributes:
        token: of the lease of that run; others ignore the request.
        force: whether nothing may be waited for, not even a running tool.
        until: store time (seconds) until which a graceful stop may take.
        actor: who asked, for the history.
    """

    token: str
    force: bool
    until: float
    actor: str = "anonymous"


@dataclass(frozen=True, slots=True)
class ClosedBatch:
    """A batch that ended without an answer; the adapter hears of it at the next run."""

    continuation: Json
    cause: Literal["expired", "stopped", "lost"]


@dataclass(frozen=True, slots=True)
class ThreadRecord:
    """One thread's record, without its messages, interrupts and receipts.

    Attributes:
        version: random at creation, then one more with every commit; 0 before the first.
        batch: the open batch of an interrupted thread, the claimed one of a resumed run.
        run: the lease of a running thread.
        stop: a stop request, written beside the version (see Store.request_stop).
        closed: batches of which the adapter has not heard yet that they are over.
        pending_calls: ids of frontend tool calls that wait for the application's result.
        handoff: what the adapter needs to go on once those results are here.
        ended: how the last run ended.
        memo: what the adapter noted of the thread, for its next run.
        unheard: ids of messages whose runs reached no agent; the next run brings them again.
        held_context: the newest `context` of inputs that no agent has had; the next run has it,
            unless its own input brings one.
        rewound: ids of messages that clients took back since a run last ended by itself.
        gone_calls: ids of the tool calls of messages that clients took back, ever: new ones get
            others.
        begun_by: the actor whose message began it; messages of others name theirs. None where an
            earlier version stored it.
        past: whether messages ever left the context; None where an earlier version stored it.
        archived: ids of messages that left the context for the thread's size since a run last ended
            by itself.
        archived_until: position of the last message that left for the thread's size, if any.
        returned: ids of frontend calls whose results are here, and wait for the others'.
        kept: how far the conversation was then.
        askers: actors who asked for the run of now, or for the last one: whoever began it, then
            those whose messages came to it while it was paused.
        chain: the end of its audit chain; None where there is none.
        watch: work that a run has left with its framework; None where there is none.
        checkpoint: where a run stands that another process may take up; else None.
        hold: who holds the pause of an interrupted thread; None where nothing waits for it.
        write_id: id of the last commit, by which a retry knows that it has succeeded.
        key: the thread.
        status: what it is doing.
        state: the JSON that agent and frontend share.
        created_at, updated_at: store time (seconds), updated by each commit.
        format: the `RECORD_FORMAT` of the version that wrote it last; 0 of those that wrote none.
    """

    key: ThreadKey
    status: ThreadStatus = ThreadStatus.IDLE
    version: int = 0
    batch: Batch | None = None
    run: RunLease | None = None
    state: Json = None
    stop: StopRequest | None = None
    closed: tuple[ClosedBatch, ...] = ()
    pending_calls: tuple[str, ...] = ()
    handoff: Json = None
    ended: RunEnding | None = None
    unheard: tuple[str, ...] = ()
    held_context: tuple[Mapping[str, Json], ...] = ()
    rewound: tuple[str, ...] = ()
    gone_calls: tuple[str, ...] = ()
    begun_by: str | None = None
    past: bool | None = False
    archived: tuple[str, ...] = ()
    archived_until: int | None = None
    returned: tuple[str, ...] = ()
    kept: CompletedPart | None = None
    memo: Json = None
    askers: tuple[str, ...] = ()
    chain: ChainHead | None = None
    watch: Watch | None = None
    checkpoint: Checkpoint | None = None
    hold: PauseHold | None = None
    write_id: str = ""
    created_at: float = 0.0
    updated_at: float = 0.0
    format: int = RECORD_FORMAT

    @property
    def stop_requested(self) -> StopRequest | None:
        """The stop request that is meant for the run of now, if any."""
        earlier = self.checkpoint.tokens if self.checkpoint is not None else ()
        tokens = (self.run.token, *earlier) if self.run is not None else ()
        return self.stop if self.stop is not None and self.stop.token in tokens else None

    @property
    def look_at(self) -> float | None:
        """Store time of the next look after left work; None while the thread does anything."""
        return self.watch.at if self.watch and self.status is ThreadStatus.IDLE else None
