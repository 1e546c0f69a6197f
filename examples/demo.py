"""The demo: agents that need no model and no key, on an embedded store.

    make demo          (or: python -m examples.demo; another port: make demo PORT=9000)

It serves on 127.0.0.1:8787 and prints what to try.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import AsyncIterator
from importlib.util import find_spec
from typing import Literal

from pydantic import BaseModel

from agui_bridge import Bridge, FunctionRun
from agui_bridge.inbox import Inbox
from examples.guide import serve_here

bridge = Bridge(
    "sqlite:///demo.db",
    cors_origin_regex=r"https?://(localhost|127\.0\.0\.1)(:\d+)?",
    # `make demo` installs both: pip install "agui-bridge[playground,inbox]"
    playground=find_spec("agui_inspector") is not None,
    inbox=Inbox() if find_spec("jinja2") is not None else None,
)

ROWS = {"users": 1234, "sessions": 98765}


class DeleteRows(BaseModel):
    """Parameters of delete_rows."""

    table: str
    limit: int


class Report(BaseModel):
    """What the report form asks for."""

    quarter: Literal["Q1", "Q2", "Q3", "Q4"]
    year: int


class Steps(BaseModel):
    """How a change of a database is carried out."""

    batchSize: int = 100
    dryRun: bool = False


class Change(BaseModel):
    """What is answered to a proposed change."""

    approved: bool
    modifications: Steps = Steps()
    reason: str = ""


async def delete_rows(table: str, limit: int) -> str:
    """Pretend to delete rows."""
    await asyncio.sleep(0.5)
    return f"{min(limit, ROWS.get(table, 0))} rows of {table} deleted"


async def send_email(to: str) -> str:
    """Pretend to send an email."""
    await asyncio.sleep(0.3)
    return f"sent to {to}"


@bridge.agent("ops")
async def ops(run: FunctionRun) -> AsyncIterator[str]:
    """Deletes rows, after somebody has approved it (the limit can be edited)."""
    yield "Counting the rows of users. "
    count = await run.step("count", lambda: ROWS["users"])
    yield f"There are {count}."
    approval = await run.approve(
        "delete_rows",
        {"table": "users", "limit": count},
        message=f"Delete {count} rows of users?",
        parameters=DeleteRows,
    )
    if approval.approved:
        yield f"Done: {await run.tool(approval, delete_rows)}."
    else:
        yield f"Nothing was deleted{f' ({approval.reason})' if approval.reason else ''}."


@bridge.agent("report")
async def report(run: FunctionRun) -> AsyncIterator[str]:
    """Asks for a quarter with a form."""
    form = await run.ask("Which quarter shall the report cover?", schema=Report)
    if form is None:
        yield "No report then."
    else:
        yield f"The report for {form.quarter} {form.year} is on its way."


@bridge.agent("mailer")
async def mailer(run: FunctionRun) -> AsyncIterator[str]:
    """Sends two emails, each approved by itself, both asked at once."""

    async def send(to: str) -> str:
        approval = await run.approve(
            "send_email", {"to": to}, message=f"Write to {to}?", fn=send_email, key=to
        )
        return await run.tool(approval, send_email) if approval.approved else f"not sent to {to}"

    outcomes = await asyncio.gather(*(send(to) for to in ("ann@example.com", "bob@example.com")))
    yield f"{outcomes[0]}; {outcomes[1]}."


@bridge.agent("database")
async def database(run: FunctionRun) -> AsyncIterator[str]:
    """Proposes a change with a reason of its own, for which a page can have a card of its own."""
    change = await run.ask(
        "Delete the users who have not logged in since 2023?",
        reason="database_modification",
        schema=Change,
        metadata={
            "action": "DELETE",
            "table": "users",
            "affectedRows": 42,
            "query": "DELETE FROM users\nWHERE last_login < '2023-01-01'",
            "rollbackPlan": "Restore from the backup snapshot-2025-01-23",
            "riskLevel": "high",
        },
    )
    if change is None or not change.approved:
        yield "Nothing was changed."
    elif change.modifications.dryRun:
        yield f"Dry run: 42 rows would go, {change.modifications.batchSize} at a time."
    else:
        yield f"42 rows are gone, {change.modifications.batchSize} at a time."


GUIDE = r"""
agui-bridge demo on {url}   (Ctrl-C ends it; threads are kept in demo.db)
{playground}
1. Start a run. It ends with an interrupt: nothing is deleted yet.

curl -sN {url}/agents/ops -H 'Content-Type: application/json' -d '{{
  "threadId": "demo", "runId": "run-1", "protocolVersion": "1.0",
  "messages": [{{"id": "m1", "role": "user", "content": "Clean up the users"}}]}}'

2. See what waits for you, and keep the interrupt's id.

curl -s '{url}/interrupts?status=open'; echo
ID=$(curl -s {url}/agents/ops/threads/demo |
  python3 -c 'import json, sys; print(json.load(sys.stdin)["interrupts"][0]["id"])')

3. Approve it, with a smaller limit. Send it twice if you like: it runs once.

curl -sN {url}/agents/ops -H 'Content-Type: application/json' -d '{{
  "threadId": "demo", "runId": "run-2", "protocolVersion": "1.0", "messages": [],
  "resume": [{{"interruptId": "'$ID'", "status": "resolved", "payload":
    {{"approved": true, "editedArgs": {{"table": "users", "limit": 10}}}}}}]}}'

4. Read who asked and answered what, and when; then forget the thread.

curl -s {url}/agents/ops/threads/demo/interrupts; echo
curl -s -X DELETE {url}/agents/ops/threads/demo

Other agents to try: report (a form), mailer (two approvals at once), database (a reason of its
own). A page with cards for all of them is in examples/copilotkit.
"""


def main() -> None:
    """Serve the demo until interrupted."""
    parser = argparse.ArgumentParser(description="The agui-bridge demo.")
    parser.add_argument("--port", type=int, default=8787, help="0 takes a free one")

    def tell(port: int) -> None:
        url = f"http://127.0.0.1:{port}"
        browser = f"\nTry the agents in a browser: {url}/playground\n" if bridge.playground else ""
        if bridge.inbox_page:
            browser += f"\nDecide on what waits for people: {url}/inbox\n"
        print(GUIDE.format(url=url, playground=browser), flush=True)

    serve_here(bridge, parser.parse_args().port, tell)


if __name__ == "__main__":
    main()
