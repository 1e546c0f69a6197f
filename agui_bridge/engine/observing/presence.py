"""Which servers work on the store beside this one: an older version ignores what it does not know.

Each server notes itself. An older one is known by what it noted; one from before servers noted
anything, by the records that it writes.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Collection
from typing import Final

from agui_bridge import __version__
from agui_bridge.engine.streaming.clock import Clock
from agui_bridge.errors import StoreError
from agui_bridge.protocol.threads.records import RECORD_FORMAT
from agui_bridge.stores.base import Store
from agui_bridge.stores.servers import UNNOTED, Server, Servers

__all__ = ["ALIVE_SECONDS", "BEAT_SECONDS", "Presence", "living", "older_beside"]

logger: Final = logging.getLogger("agui_bridge")

BEAT_SECONDS: Final = 30.0
"""Between two times that a server notes itself, and looks who else did."""

ALIVE_SECONDS: Final = 100.0
"""After these a server that has not noted itself is gone: three beats were missed."""

_WRITES_SECONDS: Final = 600.0
"""For how long a record of an older version tells that the one who wrote it may be there still."""

_REMEDY: Final = "It may let people answer whom newer rules forbid: replace it (docs/upgrading.md)."


def living(found: Servers) -> list[Server]:
    """The servers that run, as far as they noted themselves.

    Args:
        found: a look at them.
    """
    return [one for one in found.noted if one.seen_at > found.now - ALIVE_SECONDS]


def older_beside(found: Servers) -> list[str]:
    """What is to be told of older versions that write to a store beside this one, in sentences.

    They stay the same as long as the same versions are there.

    Args:
        found: a look at the servers.
    """
    own = _rank(RECORD_FORMAT, __version__)
    alive = living(found)
    new = [one for one in alive if _rank(one.format, one.version) >= own]
    older = {one.version for one in alive if _rank(one.format, one.version) < own}
    told = [
        f"A server of agui-bridge {version} works on this store, beside version {__version__}. "
        f"{_REMEDY}"
        for version in sorted(older)
    ]
    # Before the first new one had started, everything was written by older ones.
    since = max(min((one.since for one in new), default=found.now), found.now - _WRITES_SECONDS)
    if any(one.format == UNNOTED and one.at > since for one in found.written):
        told.append(
            "A server of an older agui-bridge, which does not tell its version, has written to "
            f"this store since a server of version {__version__} runs. {_REMEDY}"
        )
    return told


class Presence:
    """One server among those that share a store.

    Attributes:
        older: what is to be told of older versions beside it, as of the last look.
    """

    def __init__(self, store: Store, clock: Clock, id: str, channels: Collection[str]) -> None:
        """Note nothing yet.

        Args:
            store: what is shared.
            clock: what is waited by.
            id: random, of this server alone.
            channels: names of its channels.
        """
        self.older: tuple[str, ...] = ()
        self._store = store
        self._clock = clock
        self._server = Server(id, __version__, RECORD_FORMAT, tuple(channels))
        self._task: asyncio.Task[None] | None = None
        self._looked = False
        self._failed = False
        self._looking = asyncio.Lock()

    def start(self) -> None:
        """Begin to note it, now and every `BEAT_SECONDS`."""
        self._task = asyncio.ensure_future(self._beat_for_ever())

    async def known(self) -> tuple[str, ...]:
        """What is to be told of older versions; the first look is waited for, and no other."""
        if not self._looked:
            await self._beat()
        return self.older

    async def aclose(self) -> None:
        """Note that it ends; a server that can't is gone after `ALIVE_SECONDS`."""
        task = self._task
        self.leave()
        if task is not None:
            await asyncio.gather(task, return_exceptions=True)
        if self._looked:
            try:
                await self._store.servers.forget(self._server.id)
            except StoreError:
                logger.debug("a server that ends could not say so")

    def leave(self) -> None:
        """Note it no more, in an event loop that may stand still or be closed."""
        task, self._task = self._task, None
        if task is not None and not task.get_loop().is_closed():
            task.cancel()

    async def _beat_for_ever(self) -> None:
        while True:
            await self._beat()
            await self._clock.sleep(BEAT_SECONDS)

    async def _beat(self) -> None:
        async with self._looking:
            try:
                await self._store.servers.note(self._server)
                found = await self._store.servers.look()
            except Exception as error:
                # Whatever is wrong with a row of its own: it serves without it, and tries again.
                if not self._failed:
                    logger.warning(
                        "the server could not note itself, so others do not see its version (%s); "
                        "it goes on trying", error, exc_info=not isinstance(error, StoreError)
                    )  # fmt: skip
                self._failed = True
                return
            self._failed, self._looked = False, True
            self._tell(tuple(older_beside(found)))

    def _tell(self, older: tuple[str, ...]) -> None:
        for sentence in older:
            if sentence not in self.older:
                logger.warning("%s", sentence)
        if self.older and not older:
            logger.info("no older version of agui-bridge is seen on this store any more")
        self.older = older


def _rank(format: int, version: str) -> tuple[int, tuple[int, ...]]:
    """What versions are compared by."""
    return format, tuple(int(number) for number in re.findall(r"\d+", version)[:3])
