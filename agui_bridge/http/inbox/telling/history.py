"""What became of a question, in words: who decided what, when, and through which channel."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from agui_bridge.inbox.answering import decided_by
from agui_bridge.protocol.answers.question_schemas import says_declined
from agui_bridge.protocol.threads.records import (
    AuditEntry,
    Interrupt,
    InterruptStatus,
    RecordedAnswer,
)
from agui_bridge.text.visible import visible, visible_value

__all__ = ["Event", "answer_words", "channel_words", "history_of", "state_of"]

_CHANNELS: Final[Mapping[str, str]] = {
    "agui": "the chat",
    "chat": "the chat",
    "api": "the API",
    "inbox": "the inbox",
    "link": "a link",
    "mail": "e-mail",
    "slack": "Slack",
    "teams": "Teams",
    "rule": "a rule",
    "cli": "the command line",
}
_STATES: Final[Mapping[InterruptStatus, str]] = {
    InterruptStatus.OPEN: "Waiting",
    InterruptStatus.ANSWERED: "Answered",
    InterruptStatus.CLAIMED: "Being carried out",
    InterruptStatus.CANCELLED: "Withdrawn",
    InterruptStatus.EXPIRED: "Expired",
    InterruptStatus.INDETERMINATE: "Outcome unknown",
}
_CHANGES: Final[Mapping[InterruptStatus, str]] = {
    InterruptStatus.OPEN: "Asked",
    InterruptStatus.CLAIMED: "Carried out from here on",
    InterruptStatus.RESOLVED: "Done",
    InterruptStatus.CANCELLED: "Withdrawn",
    InterruptStatus.EXPIRED: "Expired: nobody answered in time",
    InterruptStatus.INDETERMINATE: "The run was lost: what it did is unknown",
}


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to a question.

    Attributes:
        words: what, as it is shown.
        actor: who did it.
        channel: through what, in words; "" where nobody said.
        rule: the approval rule under which it happened; None without one.
        at: when, in seconds since the epoch.
        decides: whether it is what decided the question.
    """

    words: str
    actor: str
    channel: str
    rule: str | None
    at: float
    decides: bool = False


def state_of(ask: Interrupt, now: float) -> str:
    """A question's state in a few words."""
    if ask.is_open and ask.expired(now):
        return _STATES[InterruptStatus.EXPIRED]
    if ask.status is InterruptStatus.RESOLVED:
        return answer_words(ask, ask.answer)[0] if ask.answer is not None else "Done"
    return _STATES[ask.status]


def history_of(ask: Interrupt) -> Iterator[Event]:
    """All that happened to a question, the first first."""
    decision = decided_by(ask)
    for entry in ask.audit:
        words = _event_words(entry)
        if entry is decision and ask.answer is not None:
            words = ": ".join(filter(None, answer_words(ask, ask.answer)))
        channel = channel_words(entry.via)
        yield Event(words, entry.actor, channel, entry.rule, entry.at, entry is decision)


def channel_words(via: str | None) -> str:
    """Through what somebody acted; "" where nobody said."""
    return _CHANNELS.get(via or "", via or "")


def answer_words(ask: Interrupt, answer: RecordedAnswer | None) -> tuple[str, str]:
    """What an answer says, in a word, and with what, if anything, as it is shown.

    Args:
        ask: the question.
        answer: to it; None: none.
    """
    if answer is None or answer.status == "cancelled":
        return "Withdrawn", ""
    payload = answer.payload
    if not isinstance(payload, Mapping):
        return "Answered", visible_value(payload)
    reason = payload.get("reason")
    said = visible(reason) if isinstance(reason, str) else ""
    if ask.tool_call is None:
        if says_declined(payload):
            return "Declined", said
        return "Answered", visible_value(dict(payload))
    if payload.get("approved") is True:
        if "editedArgs" in payload:
            return "Approved with changes", visible_value(payload["editedArgs"])
        return "Approved", said
    if payload.get("respond"):
        return "Answered in place of the tool", visible_value(payload["respond"])
    return "Declined", said


def _event_words(entry: AuditEntry) -> str:
    if entry.event is not None:
        # Its first letter alone: a name in it stays as it is.
        return entry.event[:1].upper() + entry.event[1:]
    return _CHANGES.get(entry.status, entry.status.value.capitalize())
