"""Changes that other processes announce, by one connection for all who watch."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from typing import Any, Final

from redis.exceptions import RedisError

from agui_bridge.protocol.threads.records import ThreadKey
from agui_bridge.stores.redis.client import Client
from agui_bridge.stores.redis.keys import key_of
from agui_bridge.stores.watching import ANY_STOP

__all__ = ["Notifications"]

logger: Final = logging.getLogger("agui_bridge")

FIRST_PAUSE = 0.1
LONGEST_PAUSE = 5.0
LISTEN_SECONDS = 5.0
CANCEL_SECONDS = 0.2


class Notifications:
    """Listens from the first watcher on, and connects again when the connection breaks.

    What is announced in between is lost: whoever watches also polls.
    """

    def __init__(
        self, client: Client, channel: str, heard: Callable[[ThreadKey | str], None]
    ) -> None:
        """Listen to nothing yet.

        Args:
            client: says where.
            channel: on which changes are announced.
            heard: called on the event loop with each thread that has changed, and with `ANY_STOP`
                for each stop request.
        """
        self._client = client
        self._channel = channel
        self._heard = heard
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Listen, unless it does already."""
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._listen())

    async def aclose(self) -> None:
        """Stop listening."""
        # See `_end_if_cancelled`: nobody waits here until something is heard.
        while self._task is not None and not self._task.done():
            self._task.cancel()
            await asyncio.wait({self._task}, timeout=CANCEL_SECONDS)

    async def _listen(self) -> None:
        pause = FIRST_PAUSE
        while True:
            with contextlib.suppress(RedisError, OSError, TimeoutError):
                redis = self._client.subscriber()
                try:
                    async with redis.pubsub() as messages:
                        await messages.subscribe(self._channel)
                        logger.debug("listening for changes of threads")
                        while True:
                            await self._hear_some(messages)
                            _end_if_cancelled()
                            pause = FIRST_PAUSE
                finally:
                    await redis.aclose(close_connection_pool=True)
            _end_if_cancelled()
            await asyncio.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)

    async def _hear_some(self, messages: Any) -> None:
        """Hear what is announced for some seconds."""
        # This looks after the connection; but for each message that takes thrice the reading.
        message = await messages.get_message(ignore_subscribe_messages=True, timeout=LISTEN_SECONDS)
        if message is None:
            return
        self._hear(message["data"])
        read, clock = messages.connection.read_response, asyncio.get_running_loop().time
        until = clock() + LISTEN_SECONDS
        while (left := until - clock()) > 0:
            reply = await read(timeout=left, disconnect_on_error=False)
            if reply is None:
                return
            kind, *_, content = reply
            if kind == "message":
                self._hear(content)

    def _hear(self, tag: str) -> None:
        # Anybody may publish anything there.
        if tag.count("/") == 2:
            self._heard(key_of(tag))
        elif tag == ANY_STOP:
            self._heard(ANY_STOP)


def _end_if_cancelled() -> None:
    """End a task whose cancellation the client has taken for a failure, or for silence.

    Whoever cancels once, as `asyncio.run` does at its end, would wait for it for ever.
    """
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError
