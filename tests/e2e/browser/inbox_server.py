"""A bridge with an inbox for browsers: `python -m tests.e2e.browser.inbox_server PORT`.

Who somebody is, a header says. Agents ask as their names say.
"""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from typing import Final, Literal

from pydantic import BaseModel, Field
from starlette.requests import Request

from agui_bridge import ApprovalRule, Bridge, FunctionRun, Principal, Refused, Remember
from agui_bridge.approvals import Question
from agui_bridge.http.server import serve
from agui_bridge.inbox import Inbox

__all__ = ["KEY"]

KEY: Final = "a-key-of-the-browser-tests-0123456789"
DBA: Final = frozenset({"dba"})


class Report(BaseModel):
    """A form with every kind of field."""

    title: str = Field(description="As it stands on the first page.")
    quarter: Literal["Q1", "Q2", "Q3", "Q4"]
    year: int = Field(ge=2000)
    urgent: bool
    readers: list[str] = Field(default=["board@example.com"], description="Who gets it.")
    note: str = Field(default="", max_length=500)


def by_header(request: Request) -> Principal:
    """Who a proxy says that it is."""
    actor = request.headers.get("x-actor")
    if actor is None:
        raise Refused("UNAUTHENTICATED", "Sign in first.")
    return Principal("team", actor, DBA if actor in ("bob", "dan") else frozenset())


bridge = Bridge("memory:", authenticate=by_header, inbox=Inbox(keys=[KEY]))


async def delete_rows(table: str, limit: int) -> str:
    """Pretend to delete rows."""
    return f"{limit} rows of {table} deleted"


@bridge.agent("ops")
async def ops(run: FunctionRun) -> AsyncIterator[str]:
    """Deletes rows."""
    yield "I counted the rows of sessions that nobody has used for a year: there are 1,234."
    args = {"table": "sessions", "limit": 1234}
    said = "These sessions are older than a year. Delete them?"
    approval = await run.approve("delete_rows", args, message=said, fn=delete_rows)
    if approval.approved:
        yield f"Done: {await run.tool(approval, delete_rows)}."
    else:
        yield f"Nothing was deleted. {approval.reason or ''}"


bridge.agent("careful")(ops)
bridge.agent("routine")(ops)


@bridge.agent("report")
async def report(run: FunctionRun) -> AsyncIterator[str]:
    """Asks with a form."""
    form = await run.ask("What shall the report cover?", schema=Report)
    yield "No report then." if form is None else f"{form.title}, {form.quarter} {form.year}."


@bridge.agent("sure")
async def sure(run: FunctionRun) -> AsyncIterator[str]:
    """Asks for a confirmation."""
    yield (
        "On it."
        if await run.confirm("Shall I send the newsletter to all 4,200 readers?")
        else "No."
    )


@bridge.agent("caller")
async def caller(run: FunctionRun) -> AsyncIterator[str]:
    """Asks whether a tool may run with the arguments that a message holds as JSON."""
    approval = await run.approve("call", json.loads(run.text))
    yield "Called." if approval.approved else "Not called."


@bridge.approvals
def who_decides(question: Question) -> ApprovalRule | None:
    """Two database administrators for what is careful, and not whoever asked; routine is learnt."""
    if question.agent == "routine":
        return ApprovalRule("routine", remember=(Remember("thread"), Remember("scope")))
    if question.agent != "careful":
        return None
    return ApprovalRule("two dbas", approvers=("role:dba",), quorum=2, self_approval=False)


if __name__ == "__main__":
    serve(bridge, "127.0.0.1", int(sys.argv[1]), log_level="warning")
