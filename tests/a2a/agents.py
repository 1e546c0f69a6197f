"""Agents that are reached over A2A, in any process; what they do is counted in a file."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel

from agui_bridge import (
    ApprovalRule,
    BearerTokens,
    Bridge,
    FunctionRun,
    Principal,
    Settings,
)
from agui_bridge.errors import AgentRefused
from tests.support.effects import Effects

TOKENS = BearerTokens({f"{name}-{'x' * 20}": Principal(name, name) for name in ("ann", "ben")})


class Order(BaseModel):
    """What is asked in a form."""

    size: Literal["S", "M", "L"]


def made(store: Any, effects: Effects, **options: Any) -> Bridge:
    """A bridge with the agents, as an A2A server."""
    bridge = Bridge(store, a2a=True, telemetry=False, **options)

    async def delete_rows(table: str) -> str:
        effects.note(f"deleted {table}")
        return f"rows of {table} deleted"

    @bridge.agent("ops", description="Deletes rows, once approved.")
    async def ops(run: FunctionRun) -> Any:
        yield "I will delete. "
        approval = await run.approve("delete_rows", {"table": run.text}, fn=delete_rows)
        if approval.approved:
            yield await run.tool(approval, delete_rows)
        else:
            yield f"Kept: {approval.reason or 'refused'}."

    @bridge.agent
    async def shop(run: FunctionRun) -> Any:
        order = await run.ask("Which size?", schema=Order)
        if order is None:
            yield "Nothing ordered."
            return
        effects.note(f"ordered {order.size}")
        run.result = {"size": order.size}
        yield f"Ordered {order.size}."

    @bridge.agent
    async def steps(run: FunctionRun) -> Any:
        effects.note("began")
        while not effects.may_end:
            yield "tick "
            await asyncio.sleep(0.02)
        yield "done"

    @bridge.agent
    async def echo(run: FunctionRun) -> Any:
        if run.text == "break":
            raise ValueError("a secret of the server's")
        if run.text == "refuse":
            raise AgentRefused("Not on a Friday.")
        said: Any = run.new_messages[-1].content
        parts = [] if isinstance(said, str) else [part.type for part in said]
        yield f"You said {run.text}{''.join(f' [{kind}]' for kind in parts)}."

    @bridge.agent
    async def fragile(run: FunctionRun) -> Any:
        await run.ask("Go on?", schema=Order)
        raise ValueError("a secret of the server's")

    @bridge.agent
    async def brief(run: FunctionRun) -> Any:
        await run.ask("Now?", schema=Order, expires_in=0.2)
        yield "In time."

    @bridge.agent
    async def nap(run: FunctionRun) -> Any:
        yield "Good night. "
        await run.sleep(3600)

    @bridge.agent
    async def count(run: FunctionRun) -> Any:
        number = await run.ask("How many?", schema={"type": "integer"})
        effects.note(repr(number))
        yield "Counted."

    @bridge.agent("all")
    async def everything(run: FunctionRun) -> Any:
        if run.text == "order":
            order = await run.ask("Which size?", schema=Order)
            effects.note("nothing" if order is None else f"ordered {order.size}")
            yield "Nothing." if order is None else f"Ordered {order.size}."
        elif run.text == "slow":
            for number in range(100_000):
                yield f"{number} "
                await asyncio.sleep(0.02)
        else:
            yield f"You said {run.text}."

    @bridge.approvals
    def rule(question: Any) -> ApprovalRule | None:
        table = (question.args or {}).get("table")
        return ApprovalRule("dba", approvers=("dba",)) if table == "salaries" else None

    return bridge


bridge = made(
    os.environ.get("A2A_STORE", "memory:"),
    Effects(Path(os.environ.get("A2A_EFFECTS", os.devnull))),
    settings=Settings(lease_seconds=float(os.environ.get("A2A_LEASE", "30"))),
)
"""That of other processes."""
