"""A server for idle streams: its agent says a word and then waits until it is stopped.

python -m loadtest.waiting_agent --port 8799
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import AsyncIterator

from agui_bridge import Bridge, FunctionRun, Settings
from agui_bridge.http.server import serve


def main() -> None:
    """Serve until killed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    options = parser.parse_args()
    bridge = Bridge("memory:", settings=Settings(max_runs_per_scope=10_000, keep_alive=5.0))

    @bridge.agent("target")
    async def target(run: FunctionRun) -> AsyncIterator[str]:
        yield "waiting"
        if run.text == "wait":
            await asyncio.Event().wait()

    serve(bridge, "127.0.0.1", options.port, log_level="warning")


if __name__ == "__main__":
    main()
