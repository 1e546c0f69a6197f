"""What processes announce to each other, by LISTEN and NOTIFY, each on a channel of its own.

One connection of its own per store listens and notifies. A commit does not notify itself:
PostgreSQL lets transactions that do so commit only one after another. Notifications may be lost;
then who watches finds out by polling.

Up to version 18, PostgreSQL wakes every session of the database that listens to anything, and each
sees for itself that a notification is not for it. So as few are sent as there can be.
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

logger: Final = logging.getLogger("agui_bridge")

CHANNEL = "agui_bridge"
"""That of the version before, and what begins the names of those of single processes."""

NOTIFY = "SELECT pg_notify(one.channel, one.payload) FROM unnest($1::text[], $2::text[]) " + (
    "AS one (channel, payload)"
)
TEST = "test "
TEST_SECONDS = 2.0
FIRST_PAUSE = 0.1
LONGEST_PAUSE = 10.0
DEAF_PAUSE = 60.0
"""Before the next attempt where notifications don't arrive."""

ALIVE_SECONDS = 5.0
"""After so much silence the connection is asked whether it is still there, if anybody relied on
it meanwhile: a process that runs nothing and waits for nothing asks nothing."""

GATHER_SECONDS = 0.005
"""Words that follow each other so soon share a notification."""

MOST_AT_ONCE = 200
"""A payload has less than 8000 bytes, a word 36 at most, with a space."""

MOST_PENDING = 10_000
"""Words that wait for the connection; what more there is is found by polling."""


def channel_of(process: str) -> str:
    """Where a process listens; where everybody does, for no name."""
    return f"{CHANNEL}_{process}" if process else CHANNEL


@lru_cache(4096)
def digest(key: ThreadKey) -> str:
    """What stands for a key in a notification: short, and telling nobody of scopes and threads."""
    text = "\0".join((key.scope, key.agent, key.thread)).encode(errors="surrogatepass")
    return hashlib.blake2b(text, digest_size=8).hexdigest()


class Notifications:
    """Carries words between processes (`announcements.Post`), by one connection."""

    def __init__(
        self,
        connect: Callable[[], Awaitable[Any]],
        send_test: Callable[[str, str], Awaitable[object]],
        name: str,
        hear: Callable[[str], None],
        hear_all: Callable[[str], None],
    ) -> None:
        """Do nothing yet.

        Args:
            connect: makes the connection.
            send_test: notifies a channel with a payload on another connection.
            name: this process's.
            hear: called with each word that is for it alone.
            hear_all: called with each that is for everybody.
        """
        self._connect = connect
        self._send_test = send_test
        self._own = channel_of(name)
        self._hear_own = hear
        self._hear_all = hear_all
        self._alive = False
        self._used = False
        self._task: asyncio.Task[None] | None = None
        self._pending: dict[tuple[str, str], None] = {}
        self._stir = asyncio.Event()
        self._closing = asyncio.Event()
        self._pid = 0
        self._token = ""
        self._heard = asyncio.Event()

    @property
    def alive(self) -> bool:
        """Whether words arrive, so that nobody needs to poll for what is announced."""
        return self._alive

    def start(self) -> None:
        """Begin to listen, unless it has begun; somebody relies on it."""
        self._used = True
        if self._task is None:
            self._task = asyncio.ensure_future(self._run())

    def tell(self, process: str, word: str) -> None:
        """Send a word soon, to a process or to everybody; never waits."""
        self.start()
        if len(self._pending) < MOST_PENDING:
            self._pending[channel_of(process), word] = None
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
            for channel in (self._own, CHANNEL):
                await connection.add_listener(channel, self._hear)
            # Sent on another connection: behind a pooler it does not find its way here.
            await self._send_test(self._own, self._token)
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
        some = list(self._pending)[:MOST_AT_ONCE]
        if not some:
            if self._used:
                self._used = False
                await connection.execute("SELECT 1")
            return
        words: dict[str, list[str]] = {}
        for channel, word in some:
            del self._pending[channel, word]
            words.setdefault(channel, []).append(word)
        if self._pending:
            self._stir.set()
        payloads = [" ".join(some) for some in words.values()]
        await connection.execute(NOTIFY, list(words), payloads)

    def _hear(self, _connection: object, pid: int, channel: str, payload: str) -> None:
        if pid == self._pid:
            # Our own: whoever waits here was woken before it was sent.
            return
        if payload == self._token:
            self._heard.set()
        hear = self._hear_own if channel == self._own else self._hear_all
        for word in () if payload.startswith(TEST) else payload.split():
            hear(word)


async def _wait(event: asyncio.Event, seconds: float) -> bool:
    """Wait for an event for so long at most; gives whether it came."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
    return event.is_set()
