"""Agents that are asked over MCP, in this process and others; what they do is counted in a file."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel

from agui_bridge import ApprovalRule, BearerTokens, Bridge, FunctionRun, Principal, Settings
from agui_bridge.inbox import Inbox
from tests.support.effects import Effects

ADDRESS = "https://agents.example"
TOKENS = BearerTokens({f"{name}-{'x' * 20}": Principal(name, name) for name in ("ann", "ben")})


class Order(BaseModel):
    """What is asked in a form."""

    size: Literal["S", "M", "L"]
    number: int
    gift: bool = False


class Route(BaseModel):
    """What no form of MCP can ask."""

    stops: list[dict[str, str]]


def made(store: Any, effects: Effects, **options: Any) -> Bridge:
    """A bridge with the agents, an inbox and MCP."""
    bridge = Bridge(store, inbox=Inbox(url=ADDRESS), mcp=True, **options)

    async def delete_rows(table: str, limit: int) -> str:
        effects.note(f"deleted {table}")
        return f"{limit} rows of {table} deleted"

    @bridge.agent("ops", description="Deletes rows, once approved.")
    async def ops(run: FunctionRun) -> Any:
        yield "I will delete. "
        args = {"table": run.text, "limit": 3}
        approval = await run.approve("delete_rows", args, fn=delete_rows)
        if approval.approved:
            yield await run.tool(approval, delete_rows)
        else:
            yield f"Kept: {approval.reason or 'refused'}."

    @bridge.agent
    async def shop(run: FunctionRun) -> Any:
        order = await run.ask("Which one?", schema=Order)
        if order is None:
            yield "Nothing ordered."
            return
        effects.note(f"ordered {order.size}")
        yield f"{order.number} of {order.size}, gift: {order.gift}."

    @bridge.agent
    async def route(run: FunctionRun) -> Any:
        found = await run.ask("Which stops?", schema=Route)
        yield "none" if found is None else f"{len(found.stops)} stops"

    @bridge.agent
    async def words(run: FunctionRun) -> Any:
        yield f"You said {await run.ask('Which word?')}."

    @bridge.agent
    async def slow(run: FunctionRun) -> Any:
        effects.note("began")
        for number in range(100_000):
            yield f"{number} "
            await asyncio.sleep(0.01)

    async def dig_up() -> str:
        effects.note("began")
        while not effects.may_end:
            await asyncio.sleep(0.01)
        effects.note("ended")
        return "dug"

    @bridge.agent
    async def dig(run: FunctionRun) -> Any:
        approval = await run.approve("dig_up", {}, fn=dig_up)
        if approval.approved:
            yield await run.tool(approval, dig_up)

    @bridge.agent
    async def echo(run: FunctionRun) -> Any:
        yield f"You said {run.text}."

    @bridge.agent
    async def broken(run: FunctionRun) -> Any:
        yield "so far"
        raise ValueError("a secret of the server's")

    @bridge.approvals
    def rule(question: Any) -> ApprovalRule | None:
        table = (question.args or {}).get("table")
        return ApprovalRule("dba", approvers=("dba",)) if table == "salaries" else None

    return bridge


bridge = made(
    os.environ.get("MCP_STORE", "memory:"),
    Effects(Path(os.environ.get("MCP_EFFECTS", os.devnull))),
    settings=Settings(lease_seconds=float(os.environ.get("MCP_LEASE", "30"))),
)
"""That of other processes."""
