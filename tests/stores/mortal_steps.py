"""Runs of ten steps in processes that end themselves with SIGKILL, each at its own point.

Reads lines of JSON, `{"url", "thread", "effects", "dies_at"?, "written"?, "act"?}`, and forks a
process for each: after the imports, so that it is there at once. Says how it ended.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from agui_bridge import FunctionRun
from agui_bridge.agents.function.adapter import FunctionAdapter
from agui_bridge.agents.function.checkpoints import idempotency_key
from agui_bridge.stores.base import Store
from agui_bridge.stores.open import open_store
from tests.support.agents import Bench
from tests.support.mortal import Mortal

STEPS = 10
LEASE = 2.0


class Killed(Mortal):
    """A process that really dies."""

    async def lives(self) -> None:
        if self.dead:
            os.kill(os.getpid(), signal.SIGKILL)


def stepping(
    store: Store, thread: str, effects: Path, *, killed: Killed | None = None, act: str = ""
) -> Bench:
    """A process with the agent.

    Args:
        store: where its thread is.
        thread: its id.
        effects: gets a line for each act.
        killed: ends the process.
        act: where it does so, such as `before 3`, `after 3`.
    """

    def do(thread: str, number: int) -> None:
        if killed is not None and act == f"before {number}":
            os.kill(os.getpid(), signal.SIGKILL)
        with effects.open("a") as file:
            file.write(json.dumps([thread, number, idempotency_key()]) + "\n")
        if killed is not None and act == f"after {number}":
            os.kill(os.getpid(), signal.SIGKILL)

    async def agent(run: FunctionRun) -> AsyncIterator[str]:
        for number in range(STEPS):
            yield f"{number} "
            await run.step("act", do, run.thread_id, number, idempotent=number % 3 == 2)
        yield "done"

    return Bench(
        FunctionAdapter(agent),
        store=store,
        thread=thread,
        checkpoint="step",
        lease_seconds=LEASE,
    )


async def begin(given: dict[str, Any]) -> None:
    """Begin a run, and die in it."""
    store = await open_store(given["url"], migrate=False)
    killed, mortal = Killed.store(
        store, dies_at=given.get("dies_at"), written=given.get("written", False)
    )
    assert isinstance(killed, Killed)
    effects, act = Path(given["effects"]), given.get("act", "")
    await stepping(mortal, given["thread"], effects, killed=killed, act=act).say("go")


def main() -> None:
    """Fork a process for each line."""
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            asyncio.run(begin(json.loads(line)))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    main()
