"""What an answer says and through what it came, in the words of pages, channels and terminals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from agui_bridge.inbox.answering import decided_by
from agui_bridge.protocol.answers.decisions import says_declined
from agui_bridge.protocol.threads.records import Interrupt, RecordedAnswer
from agui_bridge.text.shown import shown_value
from agui_bridge.text.visible import visible

_CHANNELS: Final[Mapping[str, str]] = {
    "agui": "the chat",
    "chat": "the chat",
    "api": "the API",
    "a2a": "another agent (A2A)",
    "acp": "an editor",
    "mcp": "an MCP client",
    "inbox": "the inbox",
    "link": "a link",
    "mail": "e-mail",
    "slack": "Slack",
    "teams": "Teams",
    "rule": "a rule",
    "cli": "the command line",
    "timer": "its timer",
}


def channel_words(via: str | None) -> str:
    """Through what somebody acted; "" where nobody said."""
    return _CHANNELS.get(via or "", via or "")


def answer_words(ask: Interrupt, answer: RecordedAnswer | None) -> tuple[str, str]:
    """What an answer says, in a word, and with what, if anything, as it is shown.

    Args:
        ask: the question.
        answer: to it; None: none.
    """
    if ask.is_timer:
        return _ends_of_sleep(ask, answer), ""
    if answer is None or answer.status == "cancelled":
        return "Withdrawn", ""
    payload = answer.payload
    if not isinstance(payload, Mapping):
        return "Answered", shown_value(payload)
    reason = payload.get("reason")
    said = visible(reason) if isinstance(reason, str) else ""
    if ask.tool_call is None:
        if says_declined(payload):
            return "Declined", said
        return "Answered", shown_value(dict(payload))
    if payload.get("approved") is True:
        if "editedArgs" in payload:
            return "Approved with changes", shown_value(payload["editedArgs"])
        return "Approved", said
    if payload.get("respond"):
        return "Answered in place of the tool", shown_value(payload["respond"])
    return "Declined", said


def _ends_of_sleep(ask: Interrupt, answer: RecordedAnswer | None) -> str:
    if answer is not None and answer.status == "resolved":
        return "Woken early"
    decision = decided_by(ask)
    return "Its time came" if decision is not None and ask.expired(decision.at) else "Withdrawn"
