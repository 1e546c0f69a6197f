"""What is done for runs at intervals: write behind what has finished, and renew the leases."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import math
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from agui_bridge.engine.run.leases import Owner
from agui_bridge.engine.streaming.clock import Clock, Timer, Turned, Wheel, Wheels
from agui_bridge.errors import Fenced, StoreError, StoreUnavailable
from agui_bridge.protocol.threads.history import History, StoredMessage
from agui_bridge.protocol.threads.records import StopRequest
from agui_bridge.stores.base import Store

logger: Final = logging.getLogger("agui_bridge")

_TURNS_IN_A_LEASE = 12
"""A lease is renewed after a third of it, up to one turn later: with those of the same turn."""

_SOONEST = 0.05
"""Seconds until a look that a lease is about to end gives rise to, at least."""

_MOST_TOGETHER = 500
"""Leases that one call of the store renews: it holds up other writes while it takes place."""


class KeptRun(Protocol):
    """A run, as far as it is kept up to date."""

    @property
    def owner(self) -> Owner:
        """The lease."""
        ...

    @property
    def history(self) -> History:
        """What has been said and is perhaps not stored yet."""
        ...

    def is_stored(self, changed: Callable[[], None]) -> bool:
        """Whether nothing is to be written now; if so, the next event calls `changed`, once."""
        ...

    async def write(self) -> None:
        """Store what has finished so far."""
        ...

    def notice_stop(self, stop: StopRequest) -> None:
        """Heed a stop request that another process took."""
        ...


class Keeper:
    """Keeps the runs of a process, their leases and the store up to date.

    There are many runs, and most wait most of the time. So those of one interval share a timer,
    which looks at those that have changed; a wheel finds those whose lease is to be renewed; and
    those that have nothing to write renew theirs together.

    Args:
        store: where the leases are.
        clock: what to wait by.

    Attributes:
        clock: the same.
        wheels: look at runs, and at streams, that say nothing.
    """

    def __init__(self, store: Store, clock: Clock) -> None:
        self.clock = clock
        self.wheels: Wheels = Wheels(clock)
        self._store = store
        self._rounds: dict[float, _Round] = {}

    def keep(
        self,
        kept: KeptRun,
        interval: float,
        changed: Callable[[], None],
        *,
        text_interval: float | None = None,
    ) -> Keeping:
        """Begin to keep a run, in the context of the caller.

        Args:
            kept: the run.
            interval: seconds between two looks.
            changed: called when the lease is lost, at the latest when it ends.
            text_interval: seconds between two looks at what it is saying, see `TextPace`.
        """
        rounds = self._rounds
        if interval not in rounds:
            # All runs of a process have leases of one length.
            wheel = self.wheels.of(kept.owner.lease_seconds / _TURNS_IN_A_LEASE)
            rounds[interval] = _Round(self._store, self.clock, interval, wheel)
        keeping = Keeping(kept, changed, rounds[interval], TextPace(text_interval))
        rounds[interval].add(keeping)
        return keeping


class Keeping:
    """A run that is being kept. It has a task only while it writes."""

    __slots__ = (
        *("_context", "_round", "_telling", "_writing"),
        *("changed", "place", "renewing", "run", "text"),
    )

    place: set[Turned]

    def __init__(
        self, run: KeptRun, changed: Callable[[], None], its_round: _Round, text: TextPace
    ) -> None:
        self.run: KeptRun = run
        self.changed: Callable[[], None] = changed
        self.renewing: bool = False
        self.text: TextPace = text
        self._round = its_round
        self._context = contextvars.copy_context()
        self._writing: asyncio.Task[None] | None = None
        self._telling: asyncio.Task[None] | None = None

    @property
    def busy(self) -> bool:
        """Whether its lease is being renewed, by a write or together with others."""
        return self.renewing or self._writing is not None

    def stir(self) -> None:
        """Have the run looked at next time: something has changed."""
        self._round.stir(self)

    def look(self, now: float) -> float:
        """Have the lease renewed once it is time."""
        left = self.run.owner.renew_at - now
        if left <= 0:
            self._round.stir(self, late=True)
        return left

    def write(self) -> None:
        """Begin to store what has finished so far."""
        loop = asyncio.get_running_loop()
        self._writing = loop.create_task(self._write(), context=self._context)

    async def _write(self) -> None:
        run = self.run
        try:
            await run.write()
        except Fenced:
            self.changed()
        except StoreUnavailable:
            pass
        except Exception:
            # The lease has to be renewed whatever cannot be written now.
            logger.exception("what the run has said so far can't be stored")
        else:
            if (stop := run.owner.record.stop_requested) is not None:
                run.notice_stop(stop)
        finally:
            self._writing = None

    def keep_text(self, now: float) -> bool:
        """Begin to keep what the run is saying, if it is time; whether to look again soon.

        It is no hurry, and never keeps a lease from being renewed: nobody waits for it.
        """
        if self._telling is not None:
            return True
        said = self.text.take(self.run.history, now)
        if said is not None:
            loop = asyncio.get_running_loop()
            self._telling = loop.create_task(self._tell(said), context=self._context)
        return said is not None or self.text.behind

    async def _tell(self, said: StoredMessage) -> None:
        try:
            await self.run.owner.keep_words(said)
        except StoreError as error:
            self.text.failed()
            logger.debug("what the run is saying can't be kept: %s", error)
        except Exception:
            logger.exception("what the run is saying can't be kept")
        finally:
            self._telling = None

    async def aclose(self) -> None:
        """Look no more; a write that is under way is carried through by the owner."""
        self._round.discard(self)
        if under_way := [task for task in (self._writing, self._telling) if task is not None]:
            for task in under_way:
                task.cancel()
            await asyncio.gather(*under_way, return_exceptions=True)


class _Round:
    """The runs that are looked at together, every `interval` seconds."""

    def __init__(self, store: Store, clock: Clock, interval: float, wheel: Wheel) -> None:
        self._store = store
        self._clock = clock
        self._interval = interval
        self._wheel = wheel
        self._kept: set[Keeping] = set()
        self._stirred: set[Keeping] = set()
        # Those whose lease should have been renewed by now: any of them may be about to end.
        self._late: set[Keeping] = set()
        self._renewals: set[asyncio.Task[None]] = set()
        self._timer: Timer | None = None

    def add(self, keeping: Keeping) -> None:
        self._kept.add(keeping)
        self._stirred.add(keeping)
        self._wheel.add(keeping, keeping.run.owner.renew_at - self._clock.monotonic())
        if self._timer is None:
            # Not in the context of this run: what follows is done for all of them.
            self._timer = contextvars.Context().run(self._set_timer, self._interval)

    def stir(self, keeping: Keeping, *, late: bool = False) -> None:
        # Also an end that is being told changes a run, which nobody looks at any more.
        if keeping in self._kept:
            self._stirred.add(keeping)
            if late:
                self._late.add(keeping)

    def discard(self, keeping: Keeping) -> None:
        self._kept.discard(keeping)
        self._stirred.discard(keeping)
        self._late.discard(keeping)
        self._wheel.discard(keeping)
        if not self._kept and self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _set_timer(self, seconds: float) -> Timer:
        return self._clock.call_later(seconds, self._look)

    def _look(self) -> None:
        # First: whatever fails below, the leases are looked at again.
        self._timer = self._set_timer(self._interval)
        now, due = self._clock.monotonic(), []
        ended = [keeping for keeping in self._late if now >= keeping.run.owner.deadline]
        for keeping in self._stirred.union(ended):
            owner = keeping.run.owner
            owner.notice_expiry()
            if owner.lost:
                keeping.changed()
            elif keeping.busy:
                continue
            elif not keeping.run.is_stored(keeping.stir):
                keeping.write()
            else:
                if not keeping.keep_text(now):
                    self._stirred.discard(keeping)
                if now < owner.renew_at:
                    self._late.discard(keeping)
                else:
                    keeping.renewing = True
                    due.append(keeping)
        if due:
            renewal = asyncio.get_running_loop().create_task(self._renew(due))
            self._renewals.add(renewal)
            renewal.add_done_callback(self._renewals.discard)
        self._watch_ends(now)

    def _watch_ends(self, now: float) -> None:
        """Look earlier where a lease ends before the next look."""
        owners = (keeping.run.owner for keeping in self._late)
        left = min((o.deadline for o in owners if not o.lost), default=math.inf) - now
        if left < self._interval and self._timer is not None:
            self._timer.cancel()
            self._timer = self._set_timer(max(_SOONEST, left))

    async def _renew(self, due: Sequence[Keeping]) -> None:
        try:
            for at in range(0, len(due), _MOST_TOGETHER):
                await self._renew_some(due[at : at + _MOST_TOGETHER])
        except StoreUnavailable as error:
            logger.debug("leases can't be renewed: %s", error)
        except Exception:
            logger.exception("leases can't be renewed")
        finally:
            for keeping in due:
                keeping.renewing = False

    async def _renew_some(self, due: Sequence[Keeping]) -> None:
        asked_at = self._clock.monotonic()
        owners = [keeping.run.owner for keeping in due]
        leases = {owner.token: owner.key for owner in owners if not owner.lost}
        renewed = await self._store.renew(leases, owners[0].lease_seconds)
        for keeping, owner in zip(due, owners, strict=True):
            if owner.token in renewed.tokens:
                owner.renewed(asked_at, renewed.now)
                self._late.discard(keeping)
            elif keeping in self._kept:
                # A run that has ended meanwhile has given its lease up itself.
                owner.lost = True
                keeping.changed()


MOST_CHARACTERS: Final = 65_536
"""Of a message that are kept on the way: it is written whole each time."""


class TextPace:
    """When one run's text is to be kept: once an interval at most, and only what has grown.

    A message reaches the store when it has finished. Until then whoever comes back through
    another process would see nothing of it, and a run that is lost would take it along.

    Args:
        interval: seconds between two writes, and before the first; None or 0 is never.

    Attributes:
        behind: whether something may have been said that is to be kept later on.
    """

    __slots__ = ("_interval", "_kept", "_next", "behind")

    def __init__(self, interval: float | None) -> None:
        self._interval = interval or 0.0
        self._next: float | None = None
        self._kept: tuple[str, int] | None = None
        self.behind: bool = False

    def take(self, history: History, now: float) -> StoredMessage | None:
        """What is to be kept now, if anything is.

        Args:
            history: what has been said.
            now: monotonic time.
        """
        if not self._interval:
            return None
        if self._next is None:
            self._next = now + self._interval
        self.behind = now < self._next
        if self.behind or (said := history.said_so_far(MOST_CHARACTERS)) is None:
            return None
        kept = (said.id, len(said.message["content"]))
        if kept == self._kept:
            return None
        self._kept, self._next = kept, now + self._interval
        return said

    def failed(self) -> None:
        """Take note that what was taken last is not kept."""
        self._kept, self.behind = None, True
