"""A target whose runs leave a task with their framework, which is a folder beside the effects.

`begin X` begins the task X, says so, and goes on until its process ends. The task asks whether it
may act; each time that it does is a line of the effects.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

from agui_bridge import Bridge, Settings
from agui_bridge.adapters import AdapterCapabilities, Pause, Run, RunItem
from agui_bridge.protocol.answers.decisions import Approve
from agui_bridge.protocol.threads.records import Json
from tests.e2e.target import serve_for_target
from tests.support.agents import approval, result


class Leaving:
    """The adapter; every process has one of its own."""

    capabilities = AdapterCapabilities(looks=True)

    def __init__(self, effects: Path) -> None:
        self._effects = effects
        self._tasks = effects.parent / "tasks"
        self._tasks.mkdir(exist_ok=True)

    async def run(self, run: Run) -> AsyncIterator[RunItem]:
        """Begin a task, ask what it asks, or let it act."""
        if run.looks:
            yield Pause([approval(f"call-{run.left}")], run.left)
        elif run.resume is not None:
            task = str(run.resume.continuation)
            (self._tasks / task).unlink()
            run.left = None
            if all(isinstance(it, Approve) for it in run.resume.decisions.values()):
                with self._effects.open("a") as file:
                    file.write(json.dumps({"task": task}) + "\n")
                yield result(f"call-{task}", "done")
        elif run.text.startswith("begin "):
            task = run.text.removeprefix("begin ")
            (self._tasks / task).touch()
            run.left = task
            yield "Begun."
            await asyncio.Event().wait()
        else:
            yield "Hello."

    async def look(self, left: Json) -> bool:
        """Whether the task still asks."""
        return (self._tasks / str(left)).exists()

    async def aclose(self) -> None:
        """Hold nothing."""


def _bridge(store: str, effects: Path, lease: float) -> Bridge:
    bridge = Bridge(store, settings=Settings(lease_seconds=lease, sweep_interval=0.3))
    bridge.add("target", Leaving(effects))
    return bridge


def main() -> None:
    """Serve until interrupted."""
    serve_for_target(_bridge)


if __name__ == "__main__":
    main()
