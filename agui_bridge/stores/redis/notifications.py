"""What processes announce to each other, each on a channel of its own.

One connection for all who watch listens; what is said goes out on the others. On a cluster that
can, channels are sharded: what is said to one process is passed on to no other server. What is
announced while the connection is broken is lost: whoever watches also polls.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from typing import Any, Final

from redis.exceptions import MovedError, RedisError, ResponseError

from agui_bridge.errors import StoreUnavailable
from agui_bridge.stores.redis.client import Client
from agui_bridge.stores.redis.rows import Keys
from agui_bridge.stores.redis.scripts.writing import TELL

logger: Final = logging.getLogger("agui_bridge")

FIRST_PAUSE = 0.1
LONGEST_PAUSE = 5.0
LISTEN_SECONDS = 5.0
CANCEL_SECONDS = 0.2

MOST_PENDING = 10_000
"""Words that wait for a connection; what more there is is found by polling."""

MESSAGES = ("message", "smessage")
LOST = ("unsubscribe", "sunsubscribe")
"""What a server says when a channel is not its own any more."""


class Notifications:
    """Carries words between processes (`announcements.Post`); listens from the first watcher on."""

    def __init__(
        self,
        client: Client,
        keys: Keys,
        name: str,
        hear: Callable[[str], None],
        hear_all: Callable[[str], None],
    ) -> None:
        """Listen to nothing yet.

        Args:
            client: says where.
            keys: the layout.
            name: this process's.
            hear: called with each word that is for it alone.
            hear_all: called with each that is for everybody.
        """
        self._client = client
        self._keys = keys
        self._own = keys.channel_of(name)
        self._hear_own = hear
        self._hear_all = hear_all
        self._alive = False
        self._used = False
        self._sharded = client.address.cluster
        self._pending: dict[str, dict[str, None]] = {}
        self._waiting = 0
        self._listening: asyncio.Task[None] | None = None
        self._telling: asyncio.Task[None] | None = None

    @property
    def alive(self) -> bool:
        """Whether words arrive."""
        return self._alive

    def start(self) -> None:
        """Listen, unless it does already; somebody relies on it."""
        self._used = True
        if self._listening is None:
            self._listening = asyncio.get_running_loop().create_task(self._listen())

    def tell(self, process: str, word: str) -> None:
        """Send a word soon, to a process or to everybody; never waits."""
        if self._waiting >= MOST_PENDING:
            return
        self._waiting += 1
        self._pending.setdefault(process, {})[word] = None
        if self._telling is None:
            self._telling = asyncio.get_running_loop().create_task(self._tell())

    async def aclose(self) -> None:
        """Say what is to be said still, and stop listening."""
        if self._telling is not None:
            await asyncio.wait({self._telling}, timeout=CANCEL_SECONDS)
        # See `_end_if_cancelled`: nobody waits here until something is heard.
        for task in (self._telling, self._listening):
            while task is not None and not task.done():
                task.cancel()
                await asyncio.wait({task}, timeout=CANCEL_SECONDS)

    async def _tell(self) -> None:
        try:
            while self._pending:
                pending, self._pending, self._waiting = self._pending, {}, 0
                await asyncio.gather(*(self._say(to, list(words)) for to, words in pending.items()))
        finally:
            self._telling = None

    async def _say(self, process: str, words: list[str]) -> None:
        channel = self._keys.channel_of(process)
        # The version before takes one at a time.
        texts = [" ".join(words)] if process else words
        with contextlib.suppress(StoreUnavailable):
            for text in texts:
                sharded = "1" if process and self._sharded else ""
                await self._client.run(TELL, [channel], text, sharded)

    async def _listen(self) -> None:
        pause = FIRST_PAUSE
        while True:
            with contextlib.suppress(RedisError, OSError, TimeoutError, StoreUnavailable):
                connection = await self._client.listener(self._own)
                try:
                    await self._subscribe(connection)
                    logger.debug("listening for what other processes announce")
                    self._alive, pause = True, FIRST_PAUSE
                    await self._hear_some(connection)
                finally:
                    self._alive = False
                    await connection.disconnect(nowait=True)
            _end_if_cancelled()
            await asyncio.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)

    async def _subscribe(self, connection: Any) -> None:
        await connection.send_command("SUBSCRIBE", self._keys.channel)
        await connection.read_response()
        if self._sharded:
            try:
                await connection.send_command("SSUBSCRIBE", self._own)
                await connection.read_response()
                return
            except MovedError:
                raise
            except ResponseError as error:
                logger.debug("this cluster has no sharded channels: %s", error)
                self._sharded = False
        await connection.send_command("SUBSCRIBE", self._own)
        await connection.read_response()

    async def _hear_some(self, connection: Any) -> None:
        """Hear what is announced until the connection is lost, or the channel is elsewhere."""
        asked = False
        while True:
            reply = await connection.read_response(
                timeout=LISTEN_SECONDS, disconnect_on_error=False
            )
            _end_if_cancelled()
            if reply is None:
                if asked:
                    return
                # After so much silence it is asked whether it is still there, if anybody relied
                # on it meanwhile.
                if self._used:
                    self._used = False
                    await connection.send_command("PING", check_health=False)
                    asked = True
                continue
            asked = False
            kind, *_, content = reply
            if kind in MESSAGES:
                self._hear(reply[1], content)
            elif kind in LOST:
                return

    def _hear(self, channel: str, text: str) -> None:
        # Anybody may publish anything there.
        hear = self._hear_own if channel == self._own else self._hear_all
        for word in text.split():
            hear(word)


def _end_if_cancelled() -> None:
    """End a task whose cancellation the client has taken for a failure, or for silence.

    Whoever cancels once, as `asyncio.run` does at its end, would wait for it for ever.
    """
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError
