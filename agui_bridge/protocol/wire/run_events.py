"""The engine's own events: the frame of every run, snapshots, and interrupts as clients see them.

All of them in the 1.0 shape; `dialects` makes older ones of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from agui_bridge.frozen import replace
from agui_bridge.protocol.approvals.public import public_approval
from agui_bridge.protocol.json_values import WireEvent
from agui_bridge.protocol.own_metadata import with_own
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.records import Interrupt, Json, ThreadStatus
from agui_bridge.protocol.versions import NEWEST

__all__ = [
    "CANCELLED",
    "SUCCESS",
    "interrupt_outcome",
    "iso_time",
    "messages_snapshot",
    "outcome_now",
    "public_interrupt",
    "run_error",
    "run_finished",
    "run_started",
    "state_snapshot",
]

SUCCESS: Mapping[str, Json] = {"type": "success"}
CANCELLED: Mapping[str, Json] = {"type": "cancelled"}


def run_started(thread_id: str, run_id: str, version: str = NEWEST) -> WireEvent:
    """The first event of every stream.

    Args:
        thread_id: of the input.
        run_id: of the input.
        version: of AG-UI, in which the stream is spoken; never an echo of the client's.
    """
    return {
        "type": "RUN_STARTED",
        "threadId": thread_id,
        "runId": run_id,
        "protocolVersion": version,
    }


def state_snapshot(state: Json, *, null: bool = False) -> WireEvent:
    """The shared state, whole; a thread without one has an empty object.

    Args:
        state: None for a thread without one.
        null: whether None is the state itself, as this stream has told it.
    """
    return {"type": "STATE_SNAPSHOT", "snapshot": {} if state is None and not null else state}


def messages_snapshot(messages: Sequence[Mapping[str, Json]]) -> WireEvent:
    """The conversation, whole; a client reconciles by message id."""
    return {"type": "MESSAGES_SNAPSHOT", "messages": list(messages)}


def run_finished(
    thread_id: str,
    run_id: str,
    outcome: Mapping[str, Json],
    *,
    result: Json = None,
    usage: Sequence[Json] = (),
) -> WireEvent:
    """The end of a run that did not fail."""
    event: WireEvent = {
        "type": "RUN_FINISHED",
        "threadId": thread_id,
        "runId": run_id,
        "outcome": dict(outcome),
    }
    if result is not None and outcome["type"] != "cancelled":
        event["result"] = result
    if usage:
        event["usage"] = list(usage)
    return event


def run_error(code: str, message: str, *, usage: Sequence[Json] = ()) -> WireEvent:
    """The end of a run that failed or was refused."""
    event: WireEvent = {"type": "RUN_ERROR", "message": message, "code": code}
    if usage:
        event["usage"] = list(usage)
    return event


def public_interrupt(interrupt: Interrupt) -> dict[str, Any]:
    """An interrupt as a client sees it; what is private stays here."""
    public: dict[str, Any] = {}
    if interrupt.subagent_run_id is not None:
        public["subagentRunId"] = interrupt.subagent_run_id
    public["id"] = interrupt.id
    public["reason"] = interrupt.reason
    if interrupt.message is not None:
        public["message"] = interrupt.message
    if interrupt.call_id is not None:
        public["toolCallId"] = interrupt.call_id
    if interrupt.response_schema is not None:
        public["responseSchema"] = interrupt.response_schema
    if interrupt.expires_at is not None:
        public["expiresAt"] = iso_time(interrupt.expires_at)
    approval = public_approval(interrupt)
    if approval is not None:
        public["metadata"] = with_own(interrupt.metadata, "approval", approval)
    elif interrupt.metadata is not None:
        public["metadata"] = interrupt.metadata
    return public


def interrupt_outcome(interrupts: Iterable[Interrupt]) -> dict[str, Json]:
    """The outcome of a run that waits for people."""
    return {"type": "interrupt", "interrupts": [public_interrupt(i) for i in interrupts]}


def outcome_now(loaded: Loaded, misunderstood: str | None = None) -> Mapping[str, Json]:
    """The outcome that a thread has now: what is still open and unexpired, else success.

    Args:
        loaded: the thread.
        misunderstood: put before each question: why it is asked again.
    """
    if loaded.status is not ThreadStatus.INTERRUPTED:
        return SUCCESS
    waiting = [
        ask if misunderstood is None else _asked_again(ask, misunderstood) for ask in loaded.waiting
    ]
    return interrupt_outcome(waiting) if waiting else SUCCESS


def _asked_again(ask: Interrupt, misunderstood: str) -> Interrupt:
    return replace(ask, message=" ".join(filter(None, (misunderstood, ask.message))))


def iso_time(seconds: float) -> str:
    """Seconds since the epoch as ISO 8601 in UTC, to the millisecond."""
    moment = datetime.fromtimestamp(seconds, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
