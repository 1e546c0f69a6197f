"""What a client is told when carrying out its input fails in the bridge itself."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from agui_bridge.engine.streaming.event_stream import EventStream
from agui_bridge.errors import Refused, StoreUnavailable

__all__ = ["failures_told"]

logger: Final = logging.getLogger("agui_bridge")


@contextmanager
def failures_told(stream: EventStream) -> Iterator[None]:
    """Tell failures on a stream that has begun, else to who reads the pipe; then close the pipe.

    Raises:
        asyncio.CancelledError: passed on, once it is told.
    """
    try:
        yield
    except (Refused, StoreUnavailable) as error:
        if stream.begun:
            stream.fail(error.code if isinstance(error, Refused) else "STORE_UNAVAILABLE")
        else:
            stream.pipe.fail(error)
    except asyncio.CancelledError:
        # The server shuts down, and this one would have waited longer than it may.
        if stream.begun and stream.terminal is None:
            stream.fail("SHUTTING_DOWN")
        raise
    except Exception as error:
        logger.exception("the bridge itself failed")
        if stream.begun:
            stream.fail("INTERNAL_ERROR")
        else:
            stream.pipe.fail(error)
    finally:
        stream.pipe.close()
