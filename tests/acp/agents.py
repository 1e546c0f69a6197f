"""The agents that editors speak to here, as the module of a bridge; and what its tools did."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tests.support.effects import lines_of

__all__ = ["effects_of", "lay_out"]

AGENTS: Final = """
import asyncio, os, pathlib
from agui_bridge import ApprovalRule, Bridge, Remember, Settings

HERE = pathlib.Path(__file__).parent
bridge = Bridge(
    f"sqlite:///{HERE / 'agents.db'}",
    settings=Settings(flush_interval=0.05, lease_seconds=3.0, shutdown_grace=2.0, cancel_grace=1.0),
)

def note(what):
    with open(HERE / "effects", "a") as file:
        file.write(what + "\\\\n")

@bridge.approvals
def rules(question):
    if question.agent == "ruled":
        return ApprovalRule(name="boss", approvers=("boss",))
    if question.agent == "remembering":
        return ApprovalRule(name="r", remember=(Remember("thread"),))
    if question.agent == "several":
        return ApprovalRule(name="two", quorum=2)
    return None

async def asks(run):
    yield f"About {run.text}. "
    args = {"table": run.text, "limit": 7}
    approval = await run.approve("delete", args, message=f"Delete {run.text}?")
    if approval.approved:
        async def delete(table, limit):
            note(f"deleted {table} {limit}")
            return f"{limit} of {table}"
        yield "Done: " + await run.tool(approval, delete)
    else:
        yield "Kept."

for name in ("asks", "ruled", "remembering", "several"):
    bridge.agent(name)(asks)

@bridge.agent
async def echo(run):
    yield f"You said: {run.text}"

@bridge.agent
async def slow(run):
    async def work():
        note("began")
        await asyncio.sleep(0)
        return "worked"
    await run.call("work", {}, work)
    for number in range(100_000):
        yield f"{number} "
        await asyncio.sleep(0.01)

@bridge.agent
async def form(run):
    schema = {
        "type": "object",
        "required": ["name", "count"],
        "properties": {
            "name": {"type": "string", "title": "Name"},
            "count": {"type": "integer", "minimum": 3},
        },
    }
    answer = await run.ask("Who, and how many?", schema=schema)
    yield f"Got {answer!r}"

@bridge.agent
async def confirm(run):
    yield "Yes!" if await run.confirm("Really?") else "No!"
"""


def lay_out(folder: Path) -> None:
    """Write the module into a folder."""
    (folder / "agents.py").write_text(AGENTS.replace("\\\\n", "\\n"))


def effects_of(folder: Path) -> list[str]:
    """What the tools did, seen outside of any stream."""
    return lines_of(folder / "effects")
