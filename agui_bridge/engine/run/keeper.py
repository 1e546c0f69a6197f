"""What a run does at intervals: write behind what has finished, and renew the lease."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Final, Protocol

from agui_bridge.engine.run.leases import Owner
from agui_bridge.engine.streaming.clock import Clock, Timer
from agui_bridge.errors import Fenced, StoreUnavailable
from agui_bridge.protocol.threads.history import History
from agui_bridge.protocol.threads.records import StopRequest

__all__ = ["Keeper"]

logger: Final = logging.getLogger("agui_bridge")


class Kept(Protocol):
    """A run, as far as it is kept up to date."""

    @property
    def owner(self) -> Owner:
        """The lease."""
        ...

    @property
    def history(self) -> History:
        """What has been said and is perhaps not stored yet."""
        ...

    async def write(self) -> None:
        """Store what has finished so far."""
        ...

    def notice_stop(self, stop: StopRequest) -> None:
        """Heed a stop request that another process took."""
        ...


class Keeper:
    """Keeps a run's lease and the store up to date.

    It has a task only while it writes: most runs wait most of the time, and there are many.

    Args:
        kept: the run.
        clock: what to wait by.
        interval: seconds between two looks.
        changed: called when the lease is over.
    """

    __slots__ = ("_changed", "_clock", "_interval", "_kept", "_timer", "_writing")

    def __init__(
        self, kept: Kept, clock: Clock, interval: float, changed: Callable[[], None]
    ) -> None:
        self._kept = kept
        self._clock = clock
        self._interval = interval
        self._changed = changed
        self._writing: asyncio.Task[None] | None = None
        self._timer: Timer = clock.call_later(interval, self._look)

    def _look(self) -> None:
        owner, history = self._kept.owner, self._kept.history
        if owner.lost:
            self._changed()
        elif owner.renewal_due or history.has_finished or history.state_dirty:
            self._writing = asyncio.get_running_loop().create_task(self._write())
        else:
            self._timer = self._clock.call_later(self._interval, self._look)

    async def _write(self) -> None:
        kept = self._kept
        try:
            await kept.write()
        except Fenced:
            self._changed()
            return
        except StoreUnavailable:
            pass
        except Exception:
            # The lease has to be renewed whatever cannot be written now.
            logger.exception("what the run has said so far can't be stored")
        else:
            if (stop := kept.owner.record.stop_requested) is not None:
                kept.notice_stop(stop)
        self._writing = None
        self._timer = self._clock.call_later(self._interval, self._look)

    async def aclose(self) -> None:
        """Look no more; a write that is under way is carried through by the owner."""
        self._timer.cancel()
        if self._writing is not None:
            self._writing.cancel()
            await asyncio.gather(self._writing, return_exceptions=True)
            # It may have set the next look before it heard of this.
            self._timer.cancel()
