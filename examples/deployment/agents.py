"""The agent of the deployment example: it sends a mail once somebody has approved it."""

from __future__ import annotations

from collections.abc import AsyncIterator

from agui_bridge import FunctionRun


async def send_mail(to: str) -> str:
    """Stands for what must happen once."""
    return f"sent to {to}"


async def mail(run: FunctionRun) -> AsyncIterator[str]:
    """Ask, then send."""
    to = run.text.strip() or "bob@example.com"
    approval = await run.approve("send_mail", {"to": to}, message=f"Write to {to}?", fn=send_mail)
    if approval.approved:
        yield f"Done: {await run.tool(approval, send_mail)}."
    else:
        yield "Nothing was sent."
