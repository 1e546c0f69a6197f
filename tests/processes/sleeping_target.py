"""A target whose runs sleep, and act when they are woken: each time is a line of the effects.

`SECONDS NAME` sleeps for so long. With `--sweep 0` its process wakes nobody.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import AsyncIterator
from pathlib import Path

from agui_bridge import Bridge, FunctionRun, Settings
from agui_bridge.http.server import serve


def make_sleeping(store: str, effects: Path, lease: float, sweep: float) -> Bridge:
    """The bridge with its one agent."""
    bridge = Bridge(store, settings=Settings(lease_seconds=lease, sweep_interval=sweep))

    def act(name: str, woken: str) -> None:
        with effects.open("a") as file:
            file.write(json.dumps({"name": name, "woken": woken}) + "\n")

    @bridge.agent("target")
    async def target(run: FunctionRun) -> AsyncIterator[str]:
        seconds, _, name = run.text.partition(" ")
        woken = await run.sleep(float(seconds))
        await run.step("act", act, name, woken)
        yield f"Woken: {woken}."

    return bridge


def main() -> None:
    """Serve it until interrupted."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int)
    parser.add_argument("--effects", type=Path)
    parser.add_argument("--lease", type=float)
    parser.add_argument("--store")
    parser.add_argument("--sweep", type=float, default=0.3)
    given = parser.parse_args()
    bridge = make_sleeping(given.store, given.effects, given.lease, given.sweep)
    serve(bridge, "127.0.0.1", given.port, log_level="warning")


if __name__ == "__main__":
    main()
