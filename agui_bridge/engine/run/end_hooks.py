"""Telling those who want to know that a run is over, and why.

Source: NexAU's RFC-0001, "after_agent hooks"; docs/stopping.md.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from agui_bridge.adapters import Run
from agui_bridge.hooks import HookThreads
from agui_bridge.protocol.threads.run_ends import EndReason

logger: Final = logging.getLogger("agui_bridge")

RunEndHook = Callable[[Run, EndReason], Awaitable[None] | None]
"""Called once for each run, when its end is stored and its stream is complete; a plain one in a
thread."""

_THREADS: Final = HookThreads("run-end")

_PATIENCE: Final = 30.0
"""Seconds after which a hook is left: behind one that hangs, the others would not be told."""


async def tell_run_end(hooks: Sequence[RunEndHook], run: Run, reason: EndReason) -> None:
    """Call the hooks one after the other; what one raises is logged and ends nothing.

    Args:
        hooks: whom to tell.
        run: the run, whose end is stored (or can't be).
        reason: why it is over.
    """
    for hook in hooks:
        limit = asyncio.timeout(_PATIENCE)
        try:
            async with limit:
                await _THREADS.call(hook, run, reason)
        except Exception:
            name = getattr(hook, "__qualname__", type(hook).__name__)
            what = f"was cancelled after {_PATIENCE:g} s" if limit.expired() else "failed"
            logger.exception("on_run_end hook %s %s (run %r)", name, what, run.run_id)
