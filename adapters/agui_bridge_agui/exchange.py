"""One run at an endpoint: its events, and a stop that reaches it.

The stream is read by a task of its own, so that a stop is heard while the agent is silent.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Mapping
from enum import Enum
from typing import Final

from agui_bridge.adapters import Run
from agui_bridge.protocol.json_values import WireEvent
from agui_bridge.protocol.threads.records import Json
from agui_bridge_agui.http_client import HttpClient

_WAITING: Final = 64
"""Events that wait for the run at most; a slow client holds the endpoint back."""

_AFTER_THE_END: Final = 2.0
"""Seconds that a stream may stay open after its run has finished: a late error may come."""


class _Mark(Enum):
    """What is no event: the end of the stream, and a stop, for which one looks up."""

    END = "end"
    STOP = "stop"


_Item = WireEvent | Exception | _Mark


class Exchange:
    """A posted input and the stream that answers it.

    Args:
        server: where to.
        body: the input.
        run: the bridge's run.
        busy: tells whether the agent carries something out that should not be cut off.
    """

    def __init__(
        self, server: HttpClient, body: Mapping[str, Json], run: Run, busy: Callable[[], bool]
    ) -> None:
        self._server = server
        self._body = body
        self._run = run
        self._busy = busy
        self._told = False
        self._ended = False
        self._queue: asyncio.Queue[_Item] = asyncio.Queue(_WAITING)
        self._stopping = asyncio.Event()

    async def events(self) -> AsyncGenerator[WireEvent, None]:
        """Give the events to the end of the stream, or until a stop has done its work.

        Raises:
            NotDelivered: no agent has seen the input.
            UpstreamError: the server failed, or the stream broke.
        """
        reader = asyncio.create_task(self._read())
        watcher = asyncio.create_task(self._watch())
        finished = False
        try:
            while not (self._stopping.is_set() and not self._told and not self._busy()):
                item = await self._next(_AFTER_THE_END if finished else None)
                if item is _Mark.END:
                    return
                if isinstance(item, _Mark):
                    continue
                if isinstance(item, Exception):
                    if finished:
                        return
                    raise item
                finished = item["type"] in ("RUN_FINISHED", "RUN_ERROR")
                yield item
        finally:
            watcher.cancel()
            try:
                if self._run.stop.requested and not finished and not self._ended:
                    await self._ask_to_stop(force=True)
            finally:
                reader.cancel()
                await asyncio.gather(reader, watcher, return_exceptions=True)

    async def _next(self, patience: float | None) -> _Item:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(patience):
                return await self._queue.get()
        return _Mark.END

    async def _read(self) -> None:
        last: _Item = _Mark.END
        try:
            events = self._server.events(self._body, self._run.trace_headers)
            async with contextlib.aclosing(events):
                async for event in events:
                    await self._queue.put(event)
        except Exception as error:
            # Whatever it is, it is raised where the events are taken.
            last = error
        self._ended = True
        await self._queue.put(last)

    async def _watch(self) -> None:
        """Pass a stop on; wake whoever waits for an event."""
        await self._run.stop
        self._told = await self._ask_to_stop(force=self._run.stop.force)
        self._stopping.set()
        await self._queue.put(_Mark.STOP)

    async def _ask_to_stop(self, *, force: bool) -> bool:
        thread = str(self._body["threadId"])
        return await self._server.stop(thread, self._run.trace_headers, force=force)
