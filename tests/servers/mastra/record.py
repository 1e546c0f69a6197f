"""Records what a real Mastra server says in each scenario: `python -m tests.servers.mastra.record`.

With names it records only those. Then `UPDATE_GOLDEN=1` with tests/adapters/mastra/test_recorded.py
writes what the bridge makes of them.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path

import httpx

from tests.servers.mastra.recording import RECORDINGS, Recorder
from tests.servers.mastra.scenario import events_of
from tests.servers.mastra.scenarios import SCENARIOS
from tests.support.mastra import MastraProcess


async def record(mastra: MastraProcess, name: str) -> None:
    """Carry one scenario out, and keep what the server said."""
    recorder = Recorder()
    async with httpx.AsyncClient(transport=recorder) as client:
        events = await events_of(name, SCENARIOS[name], mastra.url, client)
    recorder.write(name)
    last = events[-1]
    ending = last.get("message") or last["outcome"]["type"]
    print(f"{name}: {len(recorder.exchanges)} exchanges, {ending}")


def main(names: list[str]) -> None:
    """Record these scenarios, or all."""
    RECORDINGS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, MastraProcess(Path(folder)).running() as mastra:
        for name in names or SCENARIOS:
            asyncio.run(record(mastra, name))


if __name__ == "__main__":
    main(sys.argv[1:])
