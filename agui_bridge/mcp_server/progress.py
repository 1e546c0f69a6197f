"""What a client is told while an agent works: the words and calls of a run, now and then.

Source: Model Context Protocol 2026-07-28, "Progress".
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any, Final

from mcp.server import ServerRequestContext

from agui_bridge.engine.streaming.pipe import Pipe
from agui_bridge.protocol.wire.sse import Decoder
from agui_bridge.text.visible import visible

_PAUSE: Final = 0.5
"""Seconds between two notifications, at least."""

HEARTBEAT: Final = 10.0
"""Seconds of silence after which a client is told that the agent still works."""

_LONGEST: Final = 200


class ProgressTeller:
    """Tells one client how its call gets on; does nothing where it did not ask to be told."""

    def __init__(self, context: ServerRequestContext[Any, Any]) -> None:
        self._session = context.session
        self.wanted: bool = bool(context.meta and "progress_token" in context.meta)
        self._told = 0
        self._last = float("-inf")
        self._words = ""

    async def take(self, event: Mapping[str, Any]) -> None:
        """Take the next event of the run."""
        match event["type"]:
            case "TEXT_MESSAGE_START":
                self._words = ""
            case "TEXT_MESSAGE_CONTENT":
                self._words += event["delta"]
                await self._tell(self._words, asyncio.get_running_loop().time() - self._last)
            case "TOOL_CALL_START":
                await self._tell(f"calls {event['toolCallName']}", _PAUSE)

    async def tell_silence(self) -> None:
        """Say that it still works."""
        await self._tell("still working", _PAUSE)

    async def _tell(self, message: str, since: float) -> None:
        if not self.wanted or since < _PAUSE:
            return
        self._told += 1
        self._last = asyncio.get_running_loop().time()
        shown = visible(message)
        shown = shown if len(shown) <= _LONGEST else f"…{shown[1 - _LONGEST :]}"
        await self._session.report_progress(self._told, None, shown)


async def read_to_end(pipe: Pipe, teller: ProgressTeller) -> None:
    """Read a run's stream to its end, and tell of it.

    Raises:
        Refused: no stream could be begun.
        StoreUnavailable: the same.
    """
    decoder = Decoder()
    while True:
        try:
            async with asyncio.timeout(HEARTBEAT):
                chunk = await pipe.read()
        except TimeoutError:
            await teller.tell_silence()
            continue
        if not chunk:
            return
        if teller.wanted:
            for frame in decoder.feed(chunk):
                await teller.take(json.loads(frame.data))
