"""Every number of the engine that somebody may want to change, with its default."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import Any, Final, Literal, get_args

from agui_bridge.errors import ConfigurationError
from agui_bridge.protocol.dialects import DialectChoice
from agui_bridge.protocol.json_values import MAX_DEPTH, InputLimits
from agui_bridge.protocol.threads.client_messages import GoingBackPolicy
from agui_bridge.protocol.wire.run_events import RefusalChoice

AutoResumePolicy = Literal["off", "on", "request"]
"""Whether a plain message may answer the open question; `request`: where the input says so."""

DisconnectPolicy = Literal["stop", "continue"]
"""What a run does when its client goes away: end gracefully, or go on without it."""

CheckpointPolicy = Literal["pause", "step"]
"""What of a run outlives its process: what it had done by its last pause, or each step."""

HistoryPolicy = Literal["server", "client"]
"""Whose message list is the context of a run."""

PER_AGENT: Final = frozenset(
    {
        "flush_interval",
        "text_interval",
        "keep_alive",
        "stall_timeout",
        "stop_timeout",
        "cancel_grace",
        "expires_in",
        "max_interrupts",
        "max_thread_bytes",
        "max_memo_bytes",
        "max_result_bytes",
        "max_continuation_bytes",
        "hold_seconds",
        "on_disconnect",
        "skip_unknown_interrupts",
        "history",
        "auto_resume",
        "dialect",
        "refusals",
        "going_back",
        "read_only_tools",
        "acts_on_state",
        "page_actions",
        "checkpoint",
    }
)
"""Settings that an agent may have of its own; the others are one bridge's."""

_CHOICES: Final = {
    "on_disconnect": get_args(DisconnectPolicy),
    "history": get_args(HistoryPolicy),
    "auto_resume": get_args(AutoResumePolicy),
    "dialect": get_args(DialectChoice),
    "refusals": get_args(RefusalChoice),
    "skip_unknown_interrupts": (False, True),
    "acts_on_state": (False, True),
    "going_back": get_args(GoingBackPolicy),
    "checkpoint": get_args(CheckpointPolicy),
}
_NONE: Final = ("expires_in", "text_interval")
_COUNTS: Final = frozenset(
    {
        "pipe_events",
        "pipe_bytes",
        "max_interrupts",
        "max_thread_bytes",
        "max_memo_bytes",
        "max_result_bytes",
        "max_continuation_bytes",
        "max_body_bytes",
        "max_values",
        "max_messages",
        "max_members",
        "max_depth",
        "max_id_bytes",
        "max_runs_per_scope",
        "max_bytes_per_scope",
        "max_held",
    }
)
_NAMES: Final = frozenset({"read_only_tools", "page_actions"})
_POSITIVE: Final = _COUNTS | {
    "lease_seconds",
    "flush_interval",
    "keep_alive",
    "stall_timeout",
    "stop_poll",
    "body_timeout",
}


@dataclass(frozen=True, slots=True)
class Settings:
    """Times are in seconds.

    An agent may have its own flush_interval, text_interval, keep_alive, stall_timeout,
    stop_timeout, cancel_grace, expires_in, max_interrupts, max_thread_bytes, max_memo_bytes,
    max_result_bytes, max_continuation_bytes, hold_seconds, on_disconnect, skip_unknown_interrupts,
    history, auto_resume, dialect, refusals, going_back, read_only_tools, acts_on_state,
    page_actions and checkpoint; the others are the whole bridge's. (A shutdown waits for the
    bridge's cancel_grace.)

    Raises:
        ConfigurationError: a value makes no sense.

    Attributes:
        lease_seconds: a run whose process is silent this long counts as lost. The process
            renews the lease after each third of it. If it can't, it ends the run itself a tenth
            before the lease is over.
        flush_interval: finished messages reach the store this much later at most.
        text_interval: what the assistant is saying is kept in the store this often, for who comes
            back through another process, and for when this one is lost. The first 65,536 characters
            of a message are; None or 0 keeps nothing of it before it has finished.
        keep_alive: a silent stream gets an SSE comment this often, or up to a twentieth earlier.
        stall_timeout: a client that takes nothing for this long counts as disconnected.
        stop_timeout: how long a graceful stop waits for a running tool.
        sweep_interval: pause between two looks for lost runs, expired batches, and runs that have
            slept; 0 is never.
        stop_poll: pause between two looks for stop requests that other processes took.
        busy_patience: how long a new message on a busy thread waits before it is refused. The
            client may have aborted that run, and its new message be there before its disconnect.
        store_retry: for how long a failed write is tried again before STORE_UNAVAILABLE; when
            a server starts, for how long it tries to open a store that is not ready.
        cancel_grace: how long a cancelled agent may take to end before it is left behind.
        shutdown_grace: how long running runs may go on when the server shuts down.
        expires_in: default time to answer an interrupt; None is for ever.
        pipe_events: encoded chunks that wait for a client at most.
        pipe_bytes: bytes that wait for a client at most (one chunk may exceed it).
        max_interrupts: questions of one pause at most.
        max_thread_bytes: bytes of JSON of a thread's messages in context at most. With the input
            that would pass it, the oldest turns leave the context, until half is left: they stay
            in the thread, and no agent gets them. From 80 % on a warning is told and logged. A
            message that is larger by itself is refused.
        max_memo_bytes: bytes of JSON that an agent notes of a thread (`Run.memo`) at most; more is
            not kept, and an error is logged.
        max_result_bytes: bytes of JSON of a run's result that are kept with its thread at most; a
            larger one is told once, when the run ends, and a warning is logged.
        max_continuation_bytes: bytes of JSON that an adapter keeps for a pause or a handoff
            (`Pause.continuation`) at most; a run that needs more fails before anybody is asked.
        max_body_bytes: a larger request body is refused.
        max_values: JSON values of one request body at most; its commas and opening brackets are
            counted, those within texts are not.
        body_timeout: a request body that takes longer to arrive is refused.
        max_messages: messages of one input at most.
        max_members: tools, context items, or resume entries of one input, or content parts or
            tool calls of all its messages together, at most.
        max_depth: how deep an input may nest, 100 at most; the body itself is the first level.
        max_id_bytes: bytes of the id of a thread, run, message or interrupt in UTF-8 at most.
        max_runs_per_scope: inputs of one scope that this process carries out at once; one that
            waits for another run counts too. As many requests to stop may wait besides.
        max_bytes_per_scope: bytes of one scope's bodies that this process has in hand at once, from
            before they are read until their answer begins; what comes beyond that waits. Bodies of
            64 KiB are not counted. As many bytes of the scope's long threads are compared with
            inputs, or shown, at once.
        hold_seconds: for so long an agent that can waits in its process with a question; then it is
            ended, and goes on from what is stored. 0 is never.
        max_held: questions with which agents wait in this process at once; of more the oldest is
            let go.
        on_disconnect: policy of the plain AG-UI endpoint, whose clients abort by closing the
            connection.
        skip_unknown_interrupts: ignore resume entries that the thread never raised, as the
            1.0 specification suggests, instead of refusing them.
        history: `server`: the stored messages are the context. `client`: the client's list is,
            but tool calls and results that the store knows are the store's.
        auto_resume: `on`: a plain message that answers the one open question resumes the run, if
            that is no tool approval. `request`: only where the input's `forwardedProps.autoResume`
            is true.
        dialect: how pauses look on the wire, where the request names no dialect. `auto`: as its
            input does, else AG-UI's own; `ag-ui`: always AG-UI's own; `langgraph`: CUSTOM
            `on_interrupt` events instead of the outcome, `langgraph-both`: beside it; `draft`: the
            draft's `outcome` and `interrupt`.
        refusals: how an answer or a message is refused while a question is open, where the request
            does not say. `error`: the question again, then RUN_ERROR. `ask`: the question again,
            saying why, and no RUN_ERROR, for clients that a RUN_ERROR takes the question from.
        going_back: what a message list that ends early takes back where it comes without the sign
            of docs/reconnecting.md: it may be an edit, or a page that has not heard of the rest.
            `text`: what has no tool call, but those of read-only tools. `signed`: nothing.
            `ungated`: as `text`, and where another answer is wanted also calls that nobody was
            asked about. `always`: everything; what was executed may be executed again.
        read_only_tools: names of tools that only look: their calls count as text, and are not told
            to the model as executed. Besides those that the agent itself declares.
        acts_on_state: whether the agent runs on an input that brings no message, for the sake of
            the state that comes with it; else such an input shows the thread again.
        page_actions: names of the tools as whose calls a page tells what a person did in it (a
            click in an A2UI surface). Such a call and its result come to the agent as a message.
        checkpoint: `pause`: a run whose process dies is lost. `step`: each act of a run is stored
            before it begins, and its result before the next one begins, and another process takes
            the run up from there. For function agents and chat agents.
    """

    lease_seconds: float = 30.0
    flush_interval: float = 0.5
    text_interval: float | None = 1.0
    keep_alive: float = 15.0
    stall_timeout: float = 30.0
    stop_timeout: float = 30.0
    sweep_interval: float = 5.0
    stop_poll: float = 0.5
    busy_patience: float = 0.25
    store_retry: float = 10.0
    cancel_grace: float = 5.0
    shutdown_grace: float = 10.0
    expires_in: float | None = None
    pipe_events: int = 1024
    pipe_bytes: int = 256 * 1024
    max_interrupts: int = 100
    max_thread_bytes: int = 16 * 1024 * 1024
    max_memo_bytes: int = 1024 * 1024
    max_result_bytes: int = 64 * 1024
    max_continuation_bytes: int = 16 * 1024 * 1024
    max_body_bytes: int = 8 * 1024 * 1024
    max_values: int = 100_000
    body_timeout: float = 30.0
    max_messages: int = 10_000
    max_members: int = 10_000
    max_depth: int = MAX_DEPTH
    max_id_bytes: int = 1024
    max_runs_per_scope: int = 1000
    max_bytes_per_scope: int = 32 * 1024 * 1024
    hold_seconds: float = 900.0
    max_held: int = 64
    on_disconnect: DisconnectPolicy = "stop"
    skip_unknown_interrupts: bool = False
    history: HistoryPolicy = "server"
    auto_resume: AutoResumePolicy = "off"
    dialect: DialectChoice = "auto"
    refusals: RefusalChoice = "error"
    going_back: GoingBackPolicy = "text"
    read_only_tools: tuple[str, ...] = ()
    acts_on_state: bool = False
    page_actions: tuple[str, ...] = ("log_a2ui_event",)
    checkpoint: CheckpointPolicy = "pause"

    def __post_init__(self) -> None:
        """Refuse what makes no sense here, not in the middle of a run."""
        for field in fields(self):
            value = getattr(self, field.name)
            allowed = _unless_fit(field.name, value)
            if allowed is not None:
                raise ConfigurationError(f"{field.name} can't be {value!r}: it is {allowed}.")
            if isinstance(value, list):
                object.__setattr__(self, field.name, tuple(value))

    @property
    def input_limits(self) -> InputLimits:
        """Those that hold for an input's content."""
        return InputLimits(self.max_messages, self.max_members, self.max_id_bytes, self.max_depth)

    def of_agent(self, agent: str, own: dict[str, Any]) -> Settings:
        """These settings, with those that an agent has of its own.

        Raises:
            ConfigurationError: one is unknown, is the whole bridge's, or makes no sense.
        """
        if unknown := sorted(own.keys() - {field.name for field in fields(self)}):
            raise ConfigurationError(f"Agent {agent!r} has unknown settings: {', '.join(unknown)}.")
        if shared := sorted(own.keys() - PER_AGENT):
            raise ConfigurationError(
                f"Agent {agent!r} can't have its own {', '.join(shared)}: set it for the whole "
                "bridge, with Bridge(settings=Settings(...))."
            )
        return replace(self, **own)


def _unless_fit(name: str, value: object) -> str | None:
    """What is allowed, when the value is not."""
    if name in _CHOICES:
        choices = _CHOICES[name]
        fits = any(type(value) is type(choice) and value == choice for choice in choices)
        return None if fits else f"one of {', '.join(map(repr, choices))}"
    if name in _NAMES:
        names = isinstance(value, list | tuple) and all(isinstance(n, str) and n for n in value)
        return None if names else "a list of names"
    if name in _NONE and value is None:
        return None
    kind, bound = "a number", "above 0" if name in _POSITIVE else "of at least 0"
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if name in _COUNTS:
        kind, number = "a whole number", number and isinstance(value, int)
    if name == "max_depth":
        bound = f"above 0 and of at most {MAX_DEPTH}"
    if number:
        assert isinstance(value, int | float)
        if name == "max_depth" and value > MAX_DEPTH:
            return f"{kind} {bound}"
        if math.isfinite(value) and (value > 0 or (value == 0 and name not in _POSITIVE)):
            return None
    unless = ", or None" if name in _NONE else ""
    return f"{kind} {bound}{unless}"


def bounds_of(name: str) -> dict[str, float]:
    """The bounds of a number, in JSON Schema's words; empty for a setting of another kind."""
    if name in _CHOICES or name in _NAMES:
        return {}
    bounds = {"exclusiveMinimum": 0.0} if name in _POSITIVE else {"minimum": 0.0}
    return bounds | ({"maximum": float(MAX_DEPTH)} if name == "max_depth" else {})
