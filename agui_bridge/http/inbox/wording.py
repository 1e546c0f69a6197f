"""The words that pages have for questions: states, history, outcomes, times, others' texts."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Literal

from agui_bridge.errors import CODES
from agui_bridge.inbox.answer_words import answer_words, channel_words
from agui_bridge.inbox.answering import AnswerOutcome, decided_by
from agui_bridge.protocol.threads.content_parts import file_name
from agui_bridge.protocol.threads.history import StoredMessage
from agui_bridge.protocol.threads.messages.archived import archived_for
from agui_bridge.protocol.threads.records import (
    AuditEntry,
    Interrupt,
    InterruptStatus,
    Json,
)
from agui_bridge.protocol.wire.run_events import iso_time
from agui_bridge.text.shown import closed, shown_json_text, shown_name

_STATES: Final[Mapping[InterruptStatus, str]] = {
    InterruptStatus.OPEN: "Waiting",
    InterruptStatus.ANSWERED: "Answered",
    InterruptStatus.CLAIMED: "Being carried out",
    InterruptStatus.CANCELLED: "Withdrawn",
    InterruptStatus.EXPIRED: "Expired",
    InterruptStatus.INDETERMINATE: "Outcome unknown",
}
_SLEEP_STATES: Final[Mapping[InterruptStatus, str]] = {
    InterruptStatus.OPEN: "Asleep",
    InterruptStatus.CLAIMED: "Going on",
    InterruptStatus.RESOLVED: "Woken early",
    InterruptStatus.EXPIRED: "Its time came",
}
_SLEEP_CHANGES: Final[Mapping[InterruptStatus, str]] = {
    InterruptStatus.OPEN: "Went to sleep",
    InterruptStatus.EXPIRED: "Done",
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
    states = {**_STATES, **_SLEEP_STATES} if ask.is_timer else _STATES
    if ask.is_open and ask.expired(now):
        return states[InterruptStatus.EXPIRED]
    if ask.status is InterruptStatus.RESOLVED:
        return answer_words(ask, ask.answer)[0] if ask.answer is not None else "Done"
    return states[ask.status]


def history_of(ask: Interrupt) -> Iterator[Event]:
    """All that happened to a question, the first first."""
    decision = decided_by(ask)
    for entry in ask.audit:
        words = _event_words(entry, sleeps=ask.is_timer)
        if entry is decision and ask.answer is not None:
            words = ": ".join(filter(None, answer_words(ask, ask.answer)))
        channel = channel_words(entry.via)
        yield Event(words, entry.actor, channel, entry.rule, entry.at, entry is decision)


def _event_words(entry: AuditEntry, *, sleeps: bool) -> str:
    if entry.event is not None:
        # Its first letter alone: a name in it stays as it is.
        return entry.event[:1].upper() + entry.event[1:]
    if sleeps and entry.status in _SLEEP_CHANGES:
        return _SLEEP_CHANGES[entry.status]
    return _CHANGES.get(entry.status, entry.status.value.capitalize())


_UNITS: Final = (("day", 86400), ("hour", 3600), ("minute", 60))


@dataclass(frozen=True, slots=True)
class Moment:
    """A time, as people read it.

    Attributes:
        at: seconds since the epoch.
    """

    at: float

    @property
    def iso(self) -> str:
        """For machines: ISO 8601."""
        return iso_time(self.at)

    @property
    def exact(self) -> str:
        """As the calendar and the clock have it, in UTC: a page without a script knows no zone."""
        then = datetime.fromtimestamp(self.at, UTC)
        return f"{then.day} {then:%b %Y, %H:%M} UTC"

    @property
    def relative(self) -> str:
        """How long ago, or in how long."""
        away = self.at - time.time()
        for unit, seconds in _UNITS:
            if abs(away) >= seconds:
                told = counted(int(abs(away) // seconds), unit)
                return f"in {told}" if away > 0 else f"{told} ago"
        return "in less than a minute" if away > 0 else "just now"


def counted(number: int, noun: str) -> str:
    """A number of things, such as `1 vote` or `3 votes`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


Tone = Literal["yes", "no", "quiet"]

_CONFLICT: Final = 409
_FOLLOWS: Final[Mapping[str, str]] = {
    "open": "Your vote counts. It is carried out once enough people have approved the same.",
    "voted": "Your vote counts. It is carried out once enough people have approved the same.",
    "answered": "Your answer is kept. The agent goes on once all that it asked with this question "
    "is answered.",
    "claimed": "It is being carried out. Load this page again to see how it ends.",
    "resolved": "It has been carried out.",
    "cancelled": "Nothing was executed.",
    "expired": "It came too late: the time to answer was over.",
    "indeterminate": "The run was lost: whether anything was executed is unknown.",
}


@dataclass(frozen=True, slots=True)
class AnswerResult:
    """What came of an answer.

    Attributes:
        heading: in a word or two.
        text: what follows.
        tone: how it is coloured.
        status: of the response.
    """

    heading: str
    text: str
    tone: Tone = "yes"
    status: int = 200


def tell(outcome: AnswerOutcome) -> AnswerResult:
    """Say what came of an answer."""
    ask, message = outcome.row.interrupt, outcome.message or ""
    if outcome.refused:
        if (decided := tell_decided(ask)) is not None:
            text = f"{decided.text} Your answer was not taken."
            return AnswerResult(decided.heading, text, "no", _CONFLICT)
        code = CODES.get(outcome.code or "")
        return AnswerResult(
            "Not taken", message, "no", code.status if code is not None else _CONFLICT
        )
    if outcome.status in ("open", "voted"):
        heading = "Vote recorded"
    else:
        heading = answer_words(ask, ask.answer)[0]
    if outcome.code is not None:
        return AnswerResult(
            heading, f"The decision was taken; then the run failed: {message}", "no"
        )
    text = message or _FOLLOWS[outcome.status]
    if heading == "Declined" and outcome.status == "resolved":
        text = _FOLLOWS["cancelled"]
    elif ask.tool_call is None and outcome.status == "resolved":
        text = "The agent goes on with it."
    agreed = heading.startswith(("Approved", "Answered", "Vote"))
    return AnswerResult(heading, text, "yes" if agreed else "quiet")


def tell_decided(ask: Interrupt) -> AnswerResult | None:
    """Say who decided a question, and how; None while it waits for an answer."""
    decision = decided_by(ask)
    if decision is None:
        return None
    if ask.is_timer and ask.answer is not None and decision.actor == "bridge":
        return AnswerResult("Its time came", "The run has gone on by itself.", "quiet")
    if decision.status is InterruptStatus.EXPIRED:
        return AnswerResult("Expired", "The time to answer was over; nobody decided.", "quiet")
    verb = answer_words(ask, ask.answer)[0].lower()
    channel = channel_words(decision.via)
    through = f" through {channel}" if channel else ""
    return AnswerResult(
        "Decided already",
        f"It was {verb} by {decision.actor}{through}, {Moment(decision.at).relative}.",
        "quiet",
    )


_MOST: Final = 40
"""Messages that are shown, the last ones."""

_LONGEST: Final = 4_000
"""Characters of a message that are shown."""

_ROLES: Final[Mapping[str, str]] = {
    "user": "Person",
    "assistant": "Agent",
    "tool": "Tool’s result",
    "reasoning": "Agent’s reasoning",
}


@dataclass(frozen=True, slots=True)
class ShownMessage:
    """One message.

    Attributes:
        role: whose, as AG-UI has it.
        speaker: whose, in words.
        text: what it says, cut off where it is very long.
        calls: the tool calls in it, as `name(arguments)`, as they are shown.
    """

    role: str
    speaker: str
    text: str
    calls: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Conversation:
    """What was said before a question.

    Attributes:
        turns: the last messages.
        earlier: how many came before those.
    """

    turns: tuple[ShownMessage, ...]
    earlier: int = 0


def conversation_of(messages: Sequence[StoredMessage]) -> Conversation:
    """Show a conversation.

    Args:
        messages: all of it, in order.
    """
    turns = [turn for message in messages if (turn := _turn(message.message)) is not None]
    return Conversation(tuple(turns[-_MOST:]), max(0, len(turns) - _MOST))


def _turn(message: Mapping[str, Json]) -> ShownMessage | None:
    """One message; None where there is nothing in it to be read."""
    role = str(message.get("role", ""))
    if role not in _ROLES:
        return None
    text = " ".join(_texts(message.get("content"))).strip()
    calls = tuple(_calls(message.get("toolCalls") or ()))
    speaker = _ROLES[role]
    if archived_for(message) is not None:
        speaker += " (not sent to the model)"
    return ShownMessage(role, speaker, _cut(text), calls) if text or calls else None


def _texts(content: Json) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    elif isinstance(content, list | tuple):
        for part in content:
            if isinstance(part, Mapping):
                text = part.get("text")
                yield text if isinstance(text, str) else _named(part)


def _named(part: Mapping[str, Json]) -> str:
    """What stands for a file: its kind, and its name where it has one."""
    kind, name = part.get("type", "part"), file_name(part)
    return f"[{kind}: {name}]" if name else f"[{kind}]"


def _calls(calls: Json) -> Iterator[str]:
    for call in calls:
        function = call.get("function") or {}
        name, arguments = function.get("name", ""), function.get("arguments", "")
        yield _cut(f"{shown_name(name)}({shown_json_text(arguments)})")


def _cut(text: str) -> str:
    if len(text) <= _LONGEST:
        return text
    return f"{closed(text[:_LONGEST])} … ({len(text)} characters)"
