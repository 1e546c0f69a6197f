"""Waiting for what nothing tells of: never for ever, and what it was for is said at the end."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable

__all__ = ["PATIENCE", "eventually", "wait_until"]

PATIENCE = 20.0
"""Seconds that a test waits for anything before it fails."""


def wait_until(condition: Callable[[], object], seconds: float = PATIENCE) -> None:
    """Return once a condition holds.

    Raises:
        AssertionError: it does not within so many seconds; with the condition's source.
    """
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, _in_vain(condition, seconds)
        time.sleep(0.01)


async def eventually(
    condition: Callable[[], object | Awaitable[object]], seconds: float = PATIENCE
) -> None:
    """The same in a loop that goes on meanwhile; the condition may be a coroutine's."""
    try:
        async with asyncio.timeout(seconds) as limit:
            while True:
                holds = condition()
                if await holds if inspect.isawaitable(holds) else holds:
                    return
                await asyncio.sleep(0.001)
    except TimeoutError:
        if not limit.expired():
            raise
        raise AssertionError(_in_vain(condition, seconds)) from None


def _in_vain(condition: Callable[[], object], seconds: float) -> str:
    """What a test has waited for."""
    try:
        told = " ".join(inspect.getsource(condition).split())
    except (OSError, TypeError):
        told = repr(condition)
    return f"it did not come to this within {seconds:g} s: {told}"
