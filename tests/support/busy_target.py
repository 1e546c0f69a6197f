"""A target whose agent calls a tool every 100 ms, and which notes when stops are stored and heard.

    python -m tests.support.busy_target --port … --effects … --store … [--deaf]

`--deaf` cuts what the store tells of stop requests of other processes. The lines in the effects
file are `{"what": "call" | "stored" | "heard", "thread": …, "at": seconds since the epoch}`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import time
from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path
from typing import Any

import agui_bridge.bridge.bridge as http_app
from agui_bridge import Bridge, FunctionRun, Settings
from agui_bridge.engine.run.execution import Execution
from agui_bridge.http.server import serve
from agui_bridge.protocol.threads.records import StopRequest, ThreadKey, ThreadRecord
from agui_bridge.stores.open import open_store

__all__ = ["PAUSE"]

PAUSE = 0.1
"""Seconds between the beginnings of two calls."""


class NotingStore:
    """A store that says when a stop request was stored.

    Args:
        inner: the store.
        note: takes what happened, and the thread.
        deaf: whether nobody is told of stop requests.
    """

    def __init__(self, inner: Any, note: Any, *, deaf: bool) -> None:
        self._inner = inner
        self._note = note
        self._deaf = deaf

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def request_stop(self, key: ThreadKey, stop: StopRequest) -> ThreadRecord | None:
        """Store it, then note it."""
        record: ThreadRecord | None = await self._inner.request_stop(key, stop)
        self._note("stored", key.thread)
        return record

    async def watch_stops(self) -> AsyncGenerator[None, None]:
        """What the store has, or nothing at all."""
        if self._deaf:
            await asyncio.Event().wait()
        async for _ in self._inner.watch_stops():
            yield


def main() -> None:
    """Serve the target until something ends it."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--effects", type=Path, required=True)
    parser.add_argument("--store", required=True)
    parser.add_argument("--lease", type=float, default=30.0)
    parser.add_argument("--deaf", action="store_true")
    options = parser.parse_args()

    def note(what: str, thread: str) -> None:
        line = json.dumps({"what": what, "thread": thread, "at": time.time()}) + "\n"
        file = os.open(options.effects, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(file, line.encode())
        os.close(file)

    async def open_noting(url: str, *, migrate: bool = True) -> Any:
        return NotingStore(await open_store(url, migrate=migrate), note, deaf=options.deaf)

    notice_stop = Execution.notice_stop

    def noticed(execution: Execution, stop: StopRequest) -> None:
        if not execution.run.stop.requested:
            note("heard", execution.owner.key.thread)
        notice_stop(execution, stop)

    http_app.open_store = open_noting  # type: ignore[assignment]
    Execution.notice_stop = noticed  # type: ignore[method-assign]
    bridge = Bridge(options.store, settings=Settings(lease_seconds=options.lease))

    @bridge.agent(name="target")
    async def target(run: FunctionRun) -> AsyncIterator[str]:
        async def tool(number: int) -> str:
            note("call", run.thread_id)
            return f"did {number}"

        for number in range(600):
            run.iteration = number + 1
            await run.call("work", {"number": number}, tool)
            await asyncio.sleep(PAUSE)
        yield "done"

    serve(bridge, "127.0.0.1", options.port, log_level="warning")


if __name__ == "__main__":
    main()
