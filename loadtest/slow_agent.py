"""The agent of the test of hostile neighbours: it takes its time, longer than a short lease."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Final

from agui_bridge import FunctionRun

QUIET_SCOPE: Final = "quiet"

_WORDS: Final = 16
_WORD_SECONDS: Final = 0.25
"""Four seconds: with a lease of three, a run ends well only if that was renewed in time."""


async def target(run: FunctionRun) -> AsyncIterator[str]:
    """Say a word now and then; to the others, only one."""
    yield "word "
    if run.principal.scope == QUIET_SCOPE:
        for _ in range(_WORDS):
            await asyncio.sleep(_WORD_SECONDS)
            yield "word "
