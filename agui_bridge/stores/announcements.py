"""What one process of a store announces to the others, and what it hears of them.

A process listens on a channel of its own. For one version it also listens on the channel of the
version before, on which every process tells all others of every change, and speaks there while one
of that kind may be there: `Server.hears_all` of those that noted themselves, and records of those
that note nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Final, Protocol

from agui_bridge.errors import Conflict, StoreError, WritesLost
from agui_bridge.frozen import dataclass
from agui_bridge.protocol.contract.transitions import Change
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.records import StopRequest, ThreadStatus, process_of
from agui_bridge.stores.base import Expected, Renewed
from agui_bridge.stores.servers import UNNOTED, Servers, ServerStore
from agui_bridge.stores.watching import ANY_STOP, QUIET, Look, Wakeups

# --- who wants to hear of which run, among the processes that share a store: no IO, no clock ---
#
# A lease's token begins with the name of the process that holds it. Whoever begins to wait for a
# run of another process tells that process so, with a word on its channel, and tells it again as
# long as it waits. The owner tells the end to those, and to nobody else. A word may be lost, late
# or doubled: the store decides, a word only brings the next look forward, and whoever waits also
# polls.
#
#     i:RUN:PROCESS   PROCESS waits for the end of a run
#     s:RUN:PROCESS   the same, and a stop of it is requested in the store
#     e:RUN           a run is over here, or was never here
#
# RUN is a digest of the token: the channels of PostgreSQL are open to every user of the database.
#
# An end may fall between a look and the arrival of the word that it gave rise to. So a process that
# is told of a run which it does not run (any more) answers at once.

KEPT_SECONDS: Final = 3.0
"""For so long a process is told of a run after it said that it waits."""

AGAIN_SECONDS: Final = KEPT_SECONDS / 2
"""After so long it says so again, if it still waits."""

DEAF: Final = "0"
"""Names the holder of a lease who hears nothing: nothing is announced to it."""

_WORD: Final = re.compile(r"(?:([is]):([0-9a-f]{16}):([0-9a-f]{16})|e:([0-9a-f]{16}))")


@dataclass(frozen=True, slots=True)
class Told:
    """A word for one process.

    Attributes:
        to: the name of the process.
        word: see the head of this file.
    """

    to: str
    word: str


@dataclass(frozen=True, slots=True)
class Heard:
    """What is to be done about a word that was heard.

    Attributes:
        answer: what is to be told to whoever said it.
        watched: the thread at which those who wait look now.
        stop: whether a stop was requested of a run of this process.
    """

    answer: Told | None = None
    watched: str | None = None
    stop: bool = False


@lru_cache(4096)
def digest_of(token: str) -> str:
    """What stands for a lease in a word: 16 characters."""
    return hashlib.blake2b(token.encode(errors="surrogatepass"), digest_size=8).hexdigest()


class Interests:
    """What one process knows of who waits for whom. Times are monotonic, in seconds.

    Args:
        name: the process's.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        # Runs of this process, until when they are theirs unless the lease is renewed; the first
        # to end comes first, or nearly so.
        self._running: dict[str, float] = {}
        # Who waits for each of them, and until when.
        self._waiting: dict[str, dict[str, float]] = {}
        # Runs of others that this process waits for: the thread, and when it said so.
        self._told: dict[str, tuple[str, float]] = {}
        self._owners: dict[str, str] = {}

    # --- the owner's side ---

    def runs(self, token: str, until: float, now: float) -> None:
        """A run of this process begins or goes on, until its lease is over."""
        run = digest_of(token)
        self._running.pop(run, None)
        self._running[run] = until
        # A run whose end nobody could store is not told of as over.
        while self._running and self._running[first := next(iter(self._running))] <= now:
            self._drop(first)

    def goes_on(self, token: str, until: float, now: float) -> None:
        """The lease of a run is renewed: nothing, if the run has ended meanwhile."""
        if digest_of(token) in self._running:
            self.runs(token, until, now)

    def is_running(self, token: str) -> bool:
        """Whether it is known as a run of this process."""
        return digest_of(token) in self._running

    def over(self, token: str, now: float) -> list[Told]:
        """A run of this process is over, or no longer its own; gives what is to be told."""
        run = digest_of(token)
        waiting = self._drop(run)
        return [Told(process, f"e:{run}") for process, until in waiting.items() if until > now]

    def _drop(self, run: str) -> dict[str, float]:
        self._running.pop(run, None)
        return self._waiting.pop(run, {})

    # --- the side of those who wait ---

    def look(self, thread: str, token: str | None, now: float) -> Told | None:
        """Somebody who waits has looked at a thread; gives what is to be told, if anything.

        Args:
            thread: what stands for it.
            token: of the lease of the run that was found; None where nothing runs.
            now: the time.
        """
        if token is None or (process := process_of(token)) == DEAF:
            self._owners.pop(thread, None)
            return None
        run = digest_of(token)
        known = self._told.get(run)
        if known is not None and now - known[1] < AGAIN_SECONDS:
            return None
        return self._tell("i", run, thread, process, now)

    def stop(self, thread: str, token: str, now: float) -> Told | None:
        """A stop of a run was stored; gives what is to be told.

        Args:
            thread: what stands for its thread.
            token: of its lease.
            now: the time.
        """
        process = process_of(token)
        return None if process == DEAF else self._tell("s", digest_of(token), thread, process, now)

    def hears_of(self, thread: str) -> bool:
        """Whether the owner of a thread's run was told that it is waited for here."""
        return self._owners.get(thread) in self._told

    def _tell(
        self, kind: str, run: str, thread: str, process: str | None, now: float
    ) -> Told | None:
        self._told.pop(run, None)
        self._told[run] = thread, now
        self._owners[thread] = run
        while self._told[first := next(iter(self._told))][1] <= now - KEPT_SECONDS:
            gone, _ = self._told.pop(first)
            if self._owners.get(gone) == first:
                del self._owners[gone]
        if process is None or process == self.name:
            # One of the version before tells everybody; within a process nothing need be said.
            return None
        return Told(process, f"{kind}:{run}:{self.name}")

    # --- both ---

    def hear(self, word: str, now: float) -> Heard:
        """A word has come on this process's channel, where anybody may say anything."""
        match = _WORD.fullmatch(word)
        if match is None:
            return Heard()
        kind, run, process, ended = match.groups()
        if ended is not None:
            # Another run than the one that is waited for is passed over.
            known = self._told.get(ended)
            return Heard(watched=known[0] if known is not None else None)
        if self._running.get(run, now) <= now:
            return Heard(answer=Told(process, f"e:{run}"))
        self._waiting.setdefault(run, {})[process] = now + KEPT_SECONDS
        return Heard(stop=kind == "s")


# --- announcements to those who wait ---

logger: Final = logging.getLogger("agui_bridge")

EVERYBODY: Final = ""
"""In place of a process's name: the channel of the version before."""

LOOK_SECONDS: Final = 60.0
"""For so long it counts who was seen to work on the store; servers look twice in this time."""

ALIVE_SECONDS: Final = 100.0
"""After these a server that has not noted itself is gone (`engine/presence.py`)."""

WRITES_SECONDS: Final = 600.0
"""For so long a record of a version that notes nothing tells that it may be there."""


def everybody_listens(found: Servers) -> bool:
    """Whether a server may be there that hears only what everybody hears.

    Args:
        found: a look at the servers.
    """
    return any(
        one.hears_all and one.seen_at > found.now - ALIVE_SECONDS for one in found.noted
    ) or any(one.format == UNNOTED and one.at > found.now - WRITES_SECONDS for one in found.written)


class Post(Protocol):
    """Carries words to other processes, and hears what they say."""

    @property
    def alive(self) -> bool:
        """Whether words arrive, so that nobody needs to poll for what is announced."""
        ...

    def start(self) -> None:
        """Begin to listen, unless it has begun; called again by whoever relies on it."""
        ...

    def tell(self, process: str, word: str) -> None:
        """Send a word soon, to a process or to `EVERYBODY`; never waits, and may lose it."""
        ...

    async def aclose(self) -> None:
        """Stop listening."""
        ...


MakePost = Callable[[str, Callable[[str], None], Callable[[str], None]], Post]
"""Makes what carries words: of the name, and what is called with each word that is heard on the
process's own channel, and on everybody's."""


class Announcements:
    """What one process announces, and hears, in one event loop.

    Args:
        wakeups: who waits in this process, by what stands for threads.
        make: makes what carries words; None where nothing is announced.
        servers: who works on the store.
    """

    def __init__(self, wakeups: Wakeups, make: MakePost | None, servers: ServerStore) -> None:
        self.name: str = os.urandom(8).hex() if make is not None else DEAF
        self._interests = Interests(self.name)
        self._wakeups = wakeups
        self._servers = servers
        self._post = make(self.name, self._hear, self._hear_all) if make is not None else None
        self._untold: set[str] = set()
        self._looking: asyncio.Task[None] | None = None

    @property
    def alive(self) -> bool:
        """Whether what is announced arrives."""
        return self._post is not None and self._post.alive

    def start(self) -> None:
        """Begin to listen, unless it has begun."""
        if self._post is not None:
            self._post.start()

    def hears_of(self, thread: str) -> bool:
        """Whether the changes that somebody waits for at a thread are announced here."""
        return self.alive and self._interests.hears_of(thread)

    def look(self, thread: str, poll: Look) -> Look:
        """What a watcher polls by: nothing, as long as the owner is to tell it.

        Args:
            thread: what stands for it.
            poll: reads something that differs whenever the thread has changed.
        """
        asked = False

        async def look() -> object:
            nonlocal asked
            first, asked = not asked, True
            # At first the one who watches looks: then it is known whether the owner is to tell.
            if self.hears_of(thread) or (first and self.alive):
                return QUIET
            return await poll()

        return look

    @contextlib.contextmanager
    def writing(self, thread: str, change: Change, expected: Expected) -> Iterator[None]:
        """A commit of this process, by which a run may begin, go on or end.

        Args:
            thread: what stands for the thread.
            change: what is written.
            expected: the guard.
        """
        run, began = change.record.run, False
        taken = change.record.hold if change.lease_seconds is not None else None
        if (own := run or taken) is not None and process_of(own.token) == self.name:
            # Before it is written: whoever sees it may say at once that they wait for its end.
            self.start()
            began = not self._interests.is_running(own.token)
            now = time.monotonic()
            self._interests.runs(own.token, now + (change.lease_seconds or 0.0), now)
        try:
            yield
        except BaseException as error:
            if began and own is not None:
                self._over(own.token)
            lost = isinstance(error, Conflict) and not isinstance(error, WritesLost)
            if lost and expected.lease is not None:
                self._over(expected.lease)
            raise
        else:
            if expected.lease is not None and run is None:
                self._over(expected.lease)
        finally:
            # Also after a cancellation or a lost connection: it may have been written.
            self.changed(thread, told=not is_on_the_way(change, expected))
            if change.held_by is not None:
                self._tell_holder(change)

    def renewed(self, asked: Iterable[str], seconds: float, held: Renewed) -> None:
        """Leases of this process were renewed, those that hold.

        Args:
            asked: the tokens of those that were to be renewed.
            seconds: how long they hold.
            held: what the store said.
        """
        # Stops of these runs are to be heard.
        self.start()
        now = time.monotonic()
        for token in asked:
            if token in held.tokens:
                self._interests.goes_on(token, now + seconds, now)
            else:
                self._over(token)

    def looked(self, thread: str, loaded: Loaded) -> None:
        """Somebody has looked at a thread: if it is waited for, its owner is told so.

        Args:
            thread: what stands for it.
            loaded: as it was found.
        """
        if self._post is not None and self._wakeups.is_watched(thread):
            self._post.start()
            awaited = loaded.run or loaded.hold
            token = awaited.token if awaited is not None else None
            self._say(self._interests.look(thread, token, time.monotonic()))

    def stop_requested(self, thread: str, stop: StopRequest) -> None:
        """A stop was stored: whoever runs it is told.

        Args:
            thread: what stands for its thread.
            stop: the request.
        """
        self._wakeups.notify(ANY_STOP)
        if self._post is not None and process_of(stop.token) is None:
            # It is everybody's to hear, since who runs it listens to nothing else.
            self._wakeups.notify(thread)
            self._post.tell(EVERYBODY, thread)
            self._post.tell(EVERYBODY, ANY_STOP)
            return
        self._say(self._interests.stop(thread, stop.token, time.monotonic()))
        self.changed(thread)

    def changed(self, thread: str, *, told: bool = True) -> None:
        """A thread has changed: those who wait here look, and servers of the version before.

        Args:
            thread: what stands for it.
            told: whether anybody elsewhere may wait for such a change.
        """
        self._wakeups.notify(thread)
        if self._post is None or not told:
            return
        found = self._servers.loaded.latest(LOOK_SECONDS)
        if found is None:
            self._untold.add(thread)
            if self._looking is None:
                self._looking = asyncio.get_running_loop().create_task(self._look())
        elif everybody_listens(found):
            self._post.tell(EVERYBODY, thread)

    async def aclose(self) -> None:
        """Stop listening."""
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.wait({self._looking})
        if self._post is not None:
            await self._post.aclose()

    async def _look(self) -> None:
        """Find out whether a server of the version before is there."""
        try:
            needed = everybody_listens(await self._servers.look())
        except StoreError as error:
            logger.debug("who works on the store can't be seen: %s", error)
            needed = True
        finally:
            self._looking = None
        untold, self._untold = self._untold, set()
        for thread in untold if needed else ():
            if self._post is not None:
                self._post.tell(EVERYBODY, thread)

    def _tell_holder(self, change: Change) -> None:
        """A pause that a process holds is answered, or over: it looks at once."""
        assert change.held_by is not None, "somebody is to be told"
        process = process_of(change.held_by)
        if process == self.name:
            if change.record.hold is None:
                self._over(change.held_by)
        elif process not in (None, DEAF):
            self._say(Told(process, f"e:{digest_of(change.held_by)}"))

    def _over(self, token: str) -> None:
        for told in self._interests.over(token, time.monotonic()):
            self._say(told)

    def _say(self, told: Told | None) -> None:
        if told is not None and self._post is not None:
            self._post.tell(told.to, told.word)

    def _hear(self, word: str) -> None:
        heard = self._interests.hear(word, time.monotonic())
        self._say(heard.answer)
        if heard.watched is not None:
            self._wakeups.notify(heard.watched)
        if heard.stop:
            self._wakeups.notify(ANY_STOP)

    def _hear_all(self, word: str) -> None:
        self._wakeups.notify(word)


def is_on_the_way(change: Change, expected: Expected) -> bool:
    """Whether an owner writes down what its run has said so far: nobody waits for that.

    Args:
        change: what is written.
        expected: the guard.
    """
    return expected.lease is not None and change.record.status is ThreadStatus.RUNNING
