"""Agents that speak at a model's pace: as they are, scanned for requests, and buffered whole."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Final

from agui_bridge import Bridge, KeywordAdapter
from agui_bridge.adapters import Adapter, AdapterCapabilities, Run, RunItem

LENGTHS: Final = (8, 32, 128)
"""Tokens of a response."""

PACE: Final = 0.001
"""Seconds between two tokens."""


_SENTENCE: Final = ("The", " agent", " waits", ",", " and", " somebody", " answers", ". ")


class _Paced(Adapter):
    capabilities = AdapterCapabilities(stop=True)

    def __init__(self, count: int) -> None:
        self._count = count

    async def run(self, run: Run) -> AsyncIterator[RunItem]:
        for number in range(self._count):
            yield _SENTENCE[number % len(_SENTENCE)]
            await asyncio.sleep(PACE)

    async def aclose(self) -> None:
        pass


class _Buffered(_Paced):
    """Waits for the whole response before it says any of it, as the source of the format does."""

    async def run(self, run: Run) -> AsyncIterator[RunItem]:
        said = [item async for item in super().run(run)]
        for item in said:
            yield item


def add_detecting(bridge: Bridge) -> None:
    """Add `paced-N`, `scanned-N` and `buffered-N` for every length."""
    kinds: Mapping[str, type[_Paced]] = {
        "paced": _Paced,
        "buffered": _Buffered,
    }
    for count in LENGTHS:
        for kind, make in kinds.items():
            bridge.add(f"{kind}-{count}", make(count))
        bridge.add(f"scanned-{count}", KeywordAdapter(_Paced(count)))
