"""Opening a store whose server is there, but cuts the connection or is not ready yet."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from agui_bridge.errors import StoreUnavailable
from agui_bridge.stores.base import Store

__all__ = ["ConnectionCut", "open_patiently"]

logger: Final = logging.getLogger("agui_bridge")

FIRST_PAUSE: Final = 0.1
LONGEST_PAUSE: Final = 1.0


class ConnectionCut(StoreUnavailable):
    """The server was reached, and was gone again or not ready: the next try may pass."""


async def open_patiently(opening: Callable[[], Awaitable[Store]], seconds: float) -> Store:
    """Open a store; where its connection is cut, try again.

    Nobody who listens at the address may mean that it is wrong: that fails at once, unless a
    server was there before and may be restarting.

    Args:
        opening: tries once.
        seconds: after which it is not tried again.

    Raises:
        ConfigurationError: as `opening`.
        SchemaMismatch: as `opening`.
        StoreUnavailable: as `opening`, or it was time to give up.
    """
    loop = asyncio.get_running_loop()
    end, pause, cut = loop.time() + seconds, FIRST_PAUSE, False
    while True:
        try:
            return await opening()
        except StoreUnavailable as error:
            cut = cut or isinstance(error, ConnectionCut)
            if not cut or loop.time() + pause > end:
                raise
            logger.warning("the store can't be opened yet, it is tried again: %s", error)
        await asyncio.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE)
