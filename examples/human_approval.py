"""People approve what an agent is about to do, and may change it first.

    python -m examples.human_approval

`mailer` sends an e-mail once somebody has approved it, as it was proposed or as they edited it.
`janitor` deletes users, and tells whoever decides what they need to know for that (how many rows,
how to undo it) in the interrupt's `metadata`. The printed lines try the first; the second is at
/agents/janitor.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from pydantic import BaseModel, Field

from agui_bridge import Bridge, FunctionRun
from examples.guide import Answer, Say, serve_with_guide

bridge = Bridge("memory:")

SENT: list[dict[str, str]] = []
"""Stands in for a mail server."""

DELETED: list[dict[str, Any]] = []
"""Stands in for a database."""


async def send_email(to: str, subject: str, body: str) -> str:
    """Send an e-mail."""
    SENT.append({"to": to, "subject": subject, "body": body})
    return f"The e-mail to {to} is sent"


@bridge.agent("mailer")
async def mailer(run: FunctionRun) -> AsyncIterator[str]:
    """Sends an e-mail to whom you name, after you have approved it."""
    yield "I have drafted an e-mail. "
    approval = await run.approve(
        "send_email",
        {"to": run.text, "subject": "Hi", "body": "Shall we meet?"},
        message=f"Send this e-mail to {run.text}?",
        fn=send_email,  # its signature is what edited arguments must satisfy
    )
    if approval:
        yield f"{await run.tool(approval, send_email)}."
    elif approval.cancelled:
        yield "Nobody decided, so nothing was sent."
    else:
        yield f"Nothing was sent: {approval.reason or 'you declined'}."


class Deletion(BaseModel):
    """Parameters of delete_users: whoever approves may edit them within these bounds."""

    inactive_since: str = Field(pattern=r"^\d{4}-\d{2}-\d{2}$")
    batch_size: int = Field(ge=1, le=1000)
    dry_run: bool


async def delete_users(inactive_since: str, batch_size: int, dry_run: bool) -> dict[str, Any]:
    """Delete users, a batch at a time."""
    if not dry_run:
        DELETED.append({"inactive_since": inactive_since, "batch_size": batch_size})
    return {"deleted": 0 if dry_run else 42, "would_delete": 42 if dry_run else 0}


@bridge.agent("janitor", expires_in=24 * 3600)
async def janitor(run: FunctionRun) -> AsyncIterator[str]:
    """Deletes users who were never seen again, after somebody has judged the risk."""
    since = "2023-01-01"
    rows = await run.step("count", count_users, since)  # counted once, whatever follows
    approval = await run.approve(
        "delete_users",
        {"inactive_since": since, "batch_size": 100, "dry_run": False},
        message=f"Delete {rows} users?",
        parameters=Deletion,
        metadata={
            "action": "DELETE",
            "table": "users",
            "affectedRows": rows,
            "query": f"DELETE FROM users WHERE last_login < '{since}'",
            "rollbackPlan": "Restore from backup snapshot-2025-01-23",
            "riskLevel": "high",
        },
    )
    if not approval:
        yield f"All users are kept ({approval.cause or approval.reason or 'declined'})."
        return
    done = await run.tool(approval, delete_users)
    changed = " with your changes" if approval.edited else ""
    yield f"Done{changed}: {done['deleted']} deleted, {done['would_delete']} would be."


async def count_users(inactive_since: str) -> int:
    """Count who was not seen since."""
    return 42


def main() -> None:
    """Serve the agents, and print what to try."""
    edited = {"to": "ann@example.com", "subject": "Lunch?", "body": "Tomorrow at noon?"}
    serve_with_guide(
        bridge,
        "mailer",
        Say("The run ends with an interrupt; nothing is sent yet.", "ann@example.com"),
        Answer("Approve it, with other words.", {"approved": True, "editedArgs": edited}),
        Say("Once more,", "bob@example.com"),
        Answer("and decline it.", {"approved": False, "reason": "not today"}),
    )


if __name__ == "__main__":
    main()
