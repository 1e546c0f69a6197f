"""The agent of these tests behind the adapter, with what it did."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from agui_bridge import Bridge, Settings
from agui_bridge_acp import AcpAdapter
from tests.support.effects import lines_of
from tests.support.waiting import PATIENCE

AGENT = Path(__file__).parent / "agent.py"


class Bench:
    """Where agents work.

    Args:
        folder: theirs.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def adapter(self, **options: Any) -> AcpAdapter:
        given = {
            "command": [sys.executable, str(AGENT), str(self.folder)],
            "cwd": self.folder,
            "homes": self.folder / "homes",
        }
        return AcpAdapter(**{**given, **options})

    @property
    def heard(self) -> str:
        """What the agent's model was told last, as JSON."""
        return (self.folder / "heard.json").read_text()

    def living(self) -> list[int]:
        """The ids of the agents that run."""
        return [pid for pid in map(int, lines_of(self.folder / "pids")) if _lives(pid)]

    async def kill_agents(self) -> None:
        """Kill all agents, without a warning."""
        for pid in self.living():
            os.kill(pid, signal.SIGKILL)
        await self.until_nobody_lives()

    async def until_nobody_lives(self) -> None:
        """Wait until all agents have ended."""
        async with asyncio.timeout(PATIENCE):
            while self.living():
                await asyncio.sleep(0.02)

    @property
    def effects(self) -> list[Any]:
        """What its calls did, and the answers that it got."""
        return [json.loads(line) for line in lines_of(self.folder / "effects")]


def _lives(pid: int) -> bool:
    """Whether a process runs: one that has ended may not have been waited for yet."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


@contextlib.asynccontextmanager
async def bridged(
    bench: Bench, *, holds: bool = False, lease: float = 30.0, **options: Any
) -> AsyncIterator[Bridge]:
    """A bridge on a store that others share; its questions end the agent's turn, or are held."""
    settings = Settings(hold_seconds=900.0 if holds else 0.0, lease_seconds=lease)
    store = f"sqlite:///{bench.folder / 'threads.db'}"
    bridge = Bridge(store, settings=settings, telemetry=False)
    bridge.add("coder", bench.adapter(**options))
    await bridge.open()
    try:
        yield bridge
    finally:
        await bridge.aclose()
