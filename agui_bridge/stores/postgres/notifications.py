"""Notifications that a thread has changed, between processes, by LISTEN and NOTIFY.

One connection of its own per store listens and notifies. A commit does not notify itself:
PostgreSQL lets transactions that do so commit only one after another. Notifications may be lost;
then who watches finds out by polling.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import os
from collections.abc import Awaitable, Callable
from functools import lru_cache
from typing import Any, Final

from agui_bridge.errors import StoreError
from agui_bridge.protocol.threads.records import ThreadKey
from agui_bridge.stores.postgres.errors import FAILURES, plainly
from agui_bridge.stores.watching import Wakeups

__all__ = ["CHANNEL", "Notifications", "digest"]

logger: Final = logging.getLogger("agui_bridge")

CHANNEL = "agui_bridge"
TEST = "test "
TEST_SECONDS = 2.0
FIRST_PAUSE = 0.1
LONGEST_PAUSE = 10.0
DEAF_PAUSE = 60.0
"""Before the next attempt where notifications don't arrive."""

ALIVE_SECONDS = 5.0
"""After so much silence the connection is asked whether it is still there."""

GATHER_SECONDS = 0.005
"""Changes that follow each other so soon share a notification."""

MOST_AT_ONCE = 400
"""A payload has less than 8000 bytes, a digest 16 and a space."""


MOST_PENDING = 10_000
"""Changes that wait for the connection; more than these are found by polling."""


@lru_cache(4096)
def digest(key: ThreadKey) -> str:
    """What stands for a key in a notification: short, and telling nobody of scopes and threads."""
    text = "\0".join((key.scope, key.agent, key.thread)).encode(errors="surrogatepass")
    return hashlib.blake2b(text, digest_size=8).hexdigest()


class Notifications:
    """Passes on what has changed here, and wakes those who wait for what changed elsewhere."""

    def __init__(
        self,
        connect: Callable[[], Awaitable[Any]],
        send_test: Callable[[str], Awaitable[object]],
        wakeups: Wakeups,
    ) -> None:
        """Do nothing yet.

        Args:
            connect: makes the connection.
            send_test: notifies with this payload on another connection.
            wakeups: who waits, by digest.
        """
        self._connect = connect
        self._send_test = send_test
        self._wakeups = wakeups
        self._alive = False
        self._task: asyncio.Task[None] | None = None
        self._pending: dict[str, None] = {}
        self._stir = asyncio.Event()
        self._closing = asyncio.Event()
        self._pid = 0
        self._token = ""
        self._heard = asyncio.Event()

    @property
    def alive(self) -> bool:
        """Whether notifications arrive, so that nobody needs to poll."""
        return self._alive

    def start(self) -> None:
        """Begin to listen, unless it has begun."""
        if self._task is None:
            self._task = asyncio.ensure_future(self._run())

    def tell(self, word: str) -> None:
        """Pass on that a thread has changed; never waits."""
        self.start()
        if len(self._pending) < MOST_PENDING:
            self._pending[word] = None
            self._stir.set()

    async def aclose(self) -> None:
        """Stop, and close the connection."""
        self._closing.set()
        self._stir.set()
        self._heard.set()
        if self._task is not None:
            # Not cancelled: the driver does not take it well in the middle of a handshake.
            await asyncio.wait({self._task})

    async def _run(self) -> None:
        pause = FIRST_PAUSE
        while not self._closing.is_set():
            try:
                deaf = await self._listen()
            except (*FAILURES, StoreError) as error:
                known = error if isinstance(error, StoreError) else plainly(error)
                logger.debug("the connection for notifications is lost: %s", known)
                deaf = False
            if self._alive:
                pause = FIRST_PAUSE
            self._alive = False
            if deaf:
                logger.info(
                    "notifications of PostgreSQL do not arrive (a pooler?): changes of other "
                    "processes are found by polling"
                )
            await _wait(self._closing, DEAF_PAUSE if deaf else pause)
            pause = min(pause * 2, LONGEST_PAUSE)

    async def _listen(self) -> bool:
        """Listen until the connection is lost; gives whether nothing can be heard on it."""
        connection = await self._connect()
        try:
            connection.add_termination_listener(lambda _: self._stir.set())
            self._pid = connection.get_server_pid()
            self._heard.clear()
            self._token = TEST + os.urandom(8).hex()
            await connection.add_listener(CHANNEL, self._hear)
            # Sent on another connection: behind a pooler it does not find its way here.
            await self._send_test(self._token)
            if not await _wait(self._heard, TEST_SECONDS):
                return True
            self._alive = True
            while not connection.is_closed() and not self._closing.is_set():
                await self._pass_on(connection)
            return False
        finally:
            connection.terminate()

    async def _pass_on(self, connection: Any) -> None:
        if await _wait(self._stir, ALIVE_SECONDS):
            await _wait(self._closing, GATHER_SECONDS)
        self._stir.clear()
        if connection.is_closed() or self._closing.is_set():
            return
        words = list(self._pending)[:MOST_AT_ONCE]
        if not words:
            await connection.execute("SELECT 1")
            return
        for word in words:
            del self._pending[word]
        if self._pending:
            self._stir.set()
        await connection.execute("SELECT pg_notify($1, $2)", CHANNEL, " ".join(words))

    def _hear(self, _connection: object, pid: int, _channel: str, payload: str) -> None:
        if pid == self._pid:
            # Our own: whoever waits here was woken before it was sent.
            return
        if payload == self._token:
            self._heard.set()
        for word in () if payload.startswith(TEST) else payload.split():
            self._wakeups.notify(word)


async def _wait(event: asyncio.Event, seconds: float) -> bool:
    """Wait for an event for so long at most; gives whether it came."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
    return event.is_set()
