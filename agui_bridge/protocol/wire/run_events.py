"""The engine's own events: the frame of every run, snapshots, and interrupts as clients see them.

All of them in the 1.0 shape; `dialects` makes older ones of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, Literal, get_args

from agui_bridge.errors import Refused
from agui_bridge.frozen import replace
from agui_bridge.protocol.approvals import public_approval
from agui_bridge.protocol.json_values import WireEvent
from agui_bridge.protocol.threads.client_messages import KeptReason
from agui_bridge.protocol.threads.content_parts import with_own
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.records import Interrupt, Json, ThreadStatus
from agui_bridge.protocol.versions import NEWEST

# --- how refusals are told to a client that takes RUN_ERROR for the end of everything ---
#
# Source: docs/contract.md, W21 to W28.

RefusalChoice = Literal["error", "ask"]
"""`error`: the thread's outcome, then RUN_ERROR; `ask`: the open questions, saying why again."""

REFUSED_EVENT: Final = "agui_bridge.refused"
"""The name of the CUSTOM event that tells the code and the message."""


def refusal_choice(asked: object, field: str) -> RefusalChoice:
    """The choice of a request.

    Raises:
        Refused: INVALID_INPUT, there is no such choice.
    """
    for choice in get_args(RefusalChoice):
        if asked == choice:
            found: RefusalChoice = choice
            return found
    choices = " and ".join(map(repr, get_args(RefusalChoice)))
    raise Refused("INVALID_INPUT", f"{field}: there are {choices}.", {"field": field})


def refused_event(code: str, message: str) -> WireEvent:
    """What was refused and why, for pages that show it apart from the questions."""
    return {
        "type": "CUSTOM",
        "name": REFUSED_EVENT,
        "value": {"code": code, "message": message},
    }


def empty_message(message_id: str) -> tuple[WireEvent, ...]:
    """A message without words, for pages that show a question only beside one."""
    return (
        {"type": "TEXT_MESSAGE_START", "messageId": message_id, "role": "assistant"},
        {"type": "TEXT_MESSAGE_END", "messageId": message_id},
    )


def refused_outcome(outcome: Mapping[str, Json], code: str, message: str) -> dict[str, Json]:
    """An interrupt outcome in which each question says why it is asked again.

    It stands in the metadata, and before the question's own words too: which pages show no more
    than these can't be known here.
    """
    asked = [
        _refused_and_asked_again(interrupt, code, message) for interrupt in outcome["interrupts"]
    ]
    return {**outcome, "interrupts": asked}


def _refused_and_asked_again(
    interrupt: Mapping[str, Any], code: str, message: str
) -> dict[str, Any]:
    refused = {"code": code, "message": message}
    metadata = with_own(interrupt.get("metadata"), "refused", refused)
    said = " ".join(filter(None, (f"{code}: {message}", interrupt.get("message"))))
    return {**interrupt, "message": said, "metadata": metadata}


# --- why nothing was taken back, though a client's list ends before the thread does ---
#
# Source: docs/contract.md, G13.

KEPT: Final = "agui_bridge.kept"
"""Name of the CUSTOM event."""

_WHY: Final[Mapping[KeptReason, str]] = {
    "archived": "What the page went back to was archived, as the thread had become too long.",
    "behind": "The page had not heard of the newest messages.",
    "calls": "Tool calls would have left the conversation, and the page did not say that it "
    "knew of them.",
    "others": "Messages of somebody else would have left the conversation.",
    "superseded": "The page has messages that were taken back before.",
    "unfinished": "An answer that the page had not heard would have left the conversation.",
    "unsigned": "The page did not say that it knew what would have left the conversation.",
}


def told_kept(kept: KeptReason | None) -> tuple[WireEvent, ...]:
    """The event that says it, if there is anything to say; snapshots show what the thread is."""
    if kept is None:
        return ()
    value = {"reason": kept, "message": f"{_WHY[kept]} Nothing was taken back."}
    return ({"type": "CUSTOM", "name": KEPT, "value": value},)


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


_OF_PAGES: Final = frozenset({"a2ui-surface"})
"""Types of activities that AG-UI's middleware makes on the page, of what an agent tells."""


def activity_types(messages: Iterable[Mapping[str, Json]]) -> frozenset[str]:
    """The types of the activities among messages, but for what a page's own parts make."""
    found = {str(one["activityType"]) for one in messages if one.get("role") == "activity"}
    return frozenset(found - _OF_PAGES)


def messages_snapshot(
    messages: Sequence[Mapping[str, Json]], known: Collection[str] = ()
) -> WireEvent:
    """The conversation, whole; a client reconciles by message id.

    A client drops the activities that a snapshot lacks, and has those of its own: of which types
    the snapshot speaks is said in the metadata, as AG-UI's client reads it.

    Args:
        messages: the conversation.
        known: types of activities that it has had; see `activity_types`.
    """
    event: WireEvent = {"type": "MESSAGES_SNAPSHOT", "messages": list(messages)}
    if types := sorted(activity_types(messages).union(known)):
        event["metadata"] = {"@ag-ui/client": {"authoritativeActivityTypes": types}}
    return event


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
    metadata, approval = interrupt.metadata, public_approval(interrupt)
    if approval is not None:
        metadata = with_own(metadata, "approval", approval)
    if interrupt.is_timer:
        # Clients that are told no `expiresAt` are told of this time, too.
        metadata = with_own(metadata, "timer", {"until": public.get("expiresAt")})
    if interrupt.preview is not None:
        metadata = with_own(metadata, "preview", interrupt.preview.to_json())
    if metadata is not None:
        public["metadata"] = metadata
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
