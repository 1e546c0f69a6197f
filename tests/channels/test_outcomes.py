"""What channels say of an answer is what it did, in the words of the inbox."""

from __future__ import annotations

from typing import Any

import pytest

from agui_bridge.channels.notice import Event
from agui_bridge.protocol.threads.records import AuditEntry, InterruptStatus, RecordedAnswer
from tests.channels.bridges import notice

RESOLVED = InterruptStatus.ANSWERED


@pytest.mark.parametrize(
    ("event", "payload", "via", "told"),
    [
        ("answered", {"approved": True}, "slack", "approved by bob through Slack"),
        ("answered", {"approved": False}, "api", "declined by bob through the API"),
        ("answered", {"approved": True, "editedArgs": {"table": "t"}}, "link",
         "approved with changes by bob through a link"),
        ("answered", {"approved": False, "respond": "paid"}, "inbox",
         "answered in place of the tool by bob through the inbox"),
        ("answered", {"approved": True}, None, "approved by bob"),
        ("cancelled", None, "mcp", "cancelled by bob through an MCP client"),
        ("expired", None, None, "nobody answered in time"),
    ],
)  # fmt: skip
def test_an_outcome_says_what_the_answer_did(
    event: Event, payload: Any, via: str | None, told: str
) -> None:
    status = InterruptStatus.CANCELLED if event == "cancelled" else RESOLVED
    answer = RecordedAnswer("cancelled" if payload is None else "resolved", payload)
    audit = (AuditEntry(InterruptStatus.OPEN, 1.0, "agent"), AuditEntry(status, 2.0, "bob", via))
    ended = notice(event, status=status, answer=answer, audit=audit)
    assert ended.outcome == told
    assert ("Outcome", told) in ended.facts
