"""The tools that the model is offered, and which of them need an approval."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from agui_bridge.agents.chat import tool

__all__ = ["CALLS", "free_hours", "send_email"]

CALLS: list[tuple[str, dict[str, Any]]] = []
"""Every execution; in its place there would be a calendar, a mail server and the like."""

Day = Literal["monday", "tuesday", "wednesday", "thursday", "friday"]
Address = Annotated[str, Field(min_length=3)]


@tool
async def free_hours(day: Day) -> list[str]:
    """Look up the free hours of a day."""
    CALLS.append(("free_hours", {"day": day}))
    return ["09:00", "14:00"] if day != "friday" else []


@tool(approval="always")
async def send_email(to: Address, subject: str, body: str) -> str:
    """Send an e-mail."""
    CALLS.append(("send_email", {"to": to, "subject": subject, "body": body}))
    return f"sent to {to}"
