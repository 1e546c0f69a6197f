"""Which servers work on the store beside this one: an older version ignores what it does not know.

Each server notes itself. An older one is known by what it noted; one from before servers noted
anything, by the records that it writes.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import re
from collections.abc import Callable, Collection, Iterable
from typing import Final

from agui_bridge import __version__
from agui_bridge.engine.streaming.clock import Clock
from agui_bridge.errors import StoreError
from agui_bridge.frozen import replace
from agui_bridge.protocol.threads.records import RECORD_FORMAT
from agui_bridge.stores.base import Store
from agui_bridge.stores.servers import UNNOTED, Server, Servers, server_id

# --- whose duty it is to do what any server could do ---
#
# Sweep, tell people, look for older versions.
#
# No process in particular has to do these, and if each did them, the store would be asked the more
# the more processes wait. Each server knows the others of its kind, which could do the same, since
# all note themselves in the store. They stand in the order of their ids. The first does its duty at
# each interval, the second at every third one, the third at every sixth, and so on, each half as
# often as the one before. So all together ask less than twice as often as one server that is alone.
#
# Nothing is claimed and nothing handed over. When the first dies or stands still, the second still
# does it at every third interval, until it has found out (`presence.ALIVE_SECONDS`) and is the
# first. Two who do it at once do no harm: what they write are compare-and-swaps.

ALONE: Final = 1

SECOND: Final = 3
"""The second in order does its duty at every so many intervals."""

_LAST: Final = 40
"""Those further behind don't come to it in any time that matters; keeps the numbers small."""


def kind_of(*can: Iterable[str]) -> str:
    """What stands for servers that can do the same work.

    Args:
        can: what it depends on, such as the names of the agents, in no order.
    """
    text = "\n".join("\0".join(sorted(names)) for names in can)
    return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=4).hexdigest()


def share_of(own: Server, alive: Iterable[Server]) -> int:
    """At every how many intervals a server does its duty.

    Args:
        own: as it noted itself.
        alive: the servers that run, it among them or not.
    """
    if not own.kind:
        return ALONE
    before = sum(one.kind == own.kind and one.id < own.id for one in alive)
    return SECOND << min(before - 1, _LAST) if before else ALONE


class Duties:
    """What is known in one server of its place among the others.

    Attributes:
        share: see `share_of`; of a server that knows of no others it is each interval.
    """

    def __init__(self) -> None:
        """Know of nobody else."""
        self.share: int = ALONE

    def one(self) -> Duty:
        """One kind of work, which counts its own intervals."""
        return Duty(self)


class Duty:
    """One kind of work that is done now and then by one of the servers.

    Args:
        duties: what is known of the others.
    """

    def __init__(self, duties: Duties) -> None:
        self._duties = duties
        self._passed = 0

    def falls_here(self) -> bool:
        """Whether it is to be done here; to be asked once in each interval."""
        self._passed += 1
        if self._passed < self._duties.share:
            return False
        self._passed = 0
        return True


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

    def __init__(
        self,
        store: Store,
        clock: Clock,
        id: str,
        channels: Collection[str],
        *,
        duties: Duties | None = None,
        kind: Callable[[], str] = str,
    ) -> None:
        """Note nothing yet.

        Args:
            store: what is shared.
            clock: what is waited by.
            id: random, of this server alone.
            channels: names of its channels.
            duties: is told of its place among the others.
            kind: says what stands for those that share its duties now (`duties.kind_of`).
        """
        self.older: tuple[str, ...] = ()
        self._store = store
        self._clock = clock
        self._id = id
        self._kind = kind
        self._duties = duties or Duties()
        self._looks = self._duties.one()
        self._server = Server(server_id(kind(), id), __version__, RECORD_FORMAT, tuple(channels))
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
                found = await self._note()
                # A record of a version that notes nothing tells of it: one server looks for those.
                if self._looks.falls_here() or not self._looked:
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

    async def _note(self) -> Servers:
        id = server_id(self._kind(), self._id)
        if id != self._server.id:
            # It can do other work than before: an agent was added.
            await self._store.servers.forget(self._server.id)
            self._server = replace(self._server, id=id)
        found = await self._store.servers.note(self._server)
        self._duties.share = share_of(self._server, living(found))
        return found

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
