"""What came of an answer, in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from agui_bridge.errors import CODES
from agui_bridge.http.inbox.telling.history import answer_words, channel_words
from agui_bridge.http.inbox.telling.words import Moment
from agui_bridge.inbox.answering import AnswerOutcome, decided_by
from agui_bridge.protocol.threads.records import Interrupt, InterruptStatus

__all__ = ["Told", "tell", "tell_decided"]

Tone = Literal["yes", "no", "quiet"]

_CONFLICT: Final = 409
_FOLLOWS: Final[Mapping[str, str]] = {
    "open": "Your vote counts. It is carried out once enough people have approved the same.",
    "voted": "Your vote counts. It is carried out once enough people have approved the same.",
    "answered": "The agent goes on once the other questions that it asked with this one are "
    "answered, too.",
    "claimed": "It is being carried out. Load this page again to see how it ends.",
    "resolved": "It has been carried out.",
    "cancelled": "Nothing was executed.",
    "expired": "It came too late: the time to answer was over.",
    "indeterminate": "The run was lost: whether anything was executed is unknown.",
}


@dataclass(frozen=True, slots=True)
class Told:
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


def tell(outcome: AnswerOutcome) -> Told:
    """Say what came of an answer."""
    ask, message = outcome.row.interrupt, outcome.message or ""
    if outcome.refused:
        if (decided := tell_decided(ask)) is not None:
            text = f"{decided.text} Your answer was not taken."
            return Told(decided.heading, text, "no", _CONFLICT)
        code = CODES.get(outcome.code or "")
        return Told("Not taken", message, "no", code.status if code is not None else _CONFLICT)
    if outcome.status in ("open", "voted"):
        heading = "Vote recorded"
    else:
        heading = answer_words(ask, ask.answer)[0]
    if outcome.code is not None:
        return Told(heading, f"The decision was taken; then the run failed: {message}", "no")
    text = message or _FOLLOWS[outcome.status]
    if heading == "Declined" and outcome.status == "resolved":
        text = _FOLLOWS["cancelled"]
    elif ask.tool_call is None and outcome.status == "resolved":
        text = "The agent goes on with it."
    agreed = heading.startswith(("Approved", "Answered", "Vote"))
    return Told(heading, text, "yes" if agreed else "quiet")


def tell_decided(ask: Interrupt) -> Told | None:
    """Say who decided a question, and how; None while it waits for an answer."""
    decision = decided_by(ask)
    if decision is None:
        return None
    if decision.status is InterruptStatus.EXPIRED:
        return Told("Expired", "The time to answer was over; nobody decided.", "quiet")
    verb = answer_words(ask, ask.answer)[0].lower()
    channel = channel_words(decision.via)
    through = f" through {channel}" if channel else ""
    return Told(
        "Decided already",
        f"It was {verb} by {decision.actor}{through}, {Moment(decision.at).relative}.",
        "quiet",
    )
