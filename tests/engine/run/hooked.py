"""A store that lets a test look at, hold up or break every call."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence

from agui_bridge.errors import StoreUnavailable
from agui_bridge.protocol.contract.transitions import Change
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.records import StopRequest, ThreadKey, ThreadRecord, ThreadStatus
from agui_bridge.stores.base import Committed, Expected, Renewed
from agui_bridge.stores.memory import MemoryStore

__all__ = ["HookedStore", "claims", "ends", "settles"]

Hook = Callable[[Change], Awaitable[None]]


async def _nothing(change: Change) -> None:
    pass


async def _at_once() -> None:
    pass


class HookedStore(MemoryStore):
    """A memory store with hooks around its commits.

    Attributes:
        before: awaited before a commit is taken; what it raises, the commit raises.
        after: awaited after it was taken: what it raises is a lost acknowledgement.
        before_renewal: awaited before leases are renewed.
        commits: every change that was taken, with the write id that it came under.
        tries: the write id of every try.
        renewals: the tokens of every renewal that was tried.
        down: whether every call fails.
    """

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        super().__init__(clock)
        self.before: Hook = _nothing
        self.after: Hook = _nothing
        self.before_renewal: Callable[[], Awaitable[None]] = _at_once
        self.commits: list[tuple[str, Change]] = []
        self.tries: list[str] = []
        self.renewals: list[list[str]] = []
        self.down = False

    def fail(self, when: Callable[[Change], bool], *, times: int = 1, written: bool) -> None:
        """Let the next commits of a kind fail, before or after they are written."""
        left = times

        async def hook(change: Change) -> None:
            nonlocal left
            if left and when(change):
                left -= 1
                raise StoreUnavailable("no answer")

        if written:
            self.after = hook
        else:
            self.before = hook

    async def load(
        self,
        key: ThreadKey,
        interrupt_ids: Sequence[str] = (),
        *,
        messages: bool = False,
        receipt: str | None = None,
    ) -> Loaded:
        self._check()
        return await super().load(key, interrupt_ids, messages=messages, receipt=receipt)

    async def commit(
        self, key: ThreadKey, change: Change, expected: Expected, write_id: str
    ) -> Committed:
        self.tries.append(write_id)
        self._check()
        await self.before(change)
        committed = await super().commit(key, change, expected, write_id)
        self.commits.append((write_id, change))
        await self.after(change)
        return committed

    async def renew(self, leases: Mapping[str, ThreadKey], seconds: float) -> Renewed:
        self.renewals.append(list(leases))
        self._check()
        await self.before_renewal()
        return await super().renew(leases, seconds)

    async def request_stop(self, key: ThreadKey, stop: StopRequest) -> ThreadRecord | None:
        self._check()
        return await super().request_stop(key, stop)

    async def ping(self) -> float:
        self._check()
        return await super().ping()

    def _check(self) -> None:
        if self.down:
            raise StoreUnavailable("down")


def claims(change: Change) -> bool:
    """Whether a commit is a run's claim."""
    return change.record.run is not None and change.record.run.ends_at == 0.0


def settles(change: Change) -> bool:
    """Whether a commit stores the result of a gated call while the run goes on."""
    return change.record.run is not None and not claims(change) and bool(change.interrupts)


def ends(change: Change) -> bool:
    """Whether a commit is a run's last."""
    return change.record.status is not ThreadStatus.RUNNING


class Held:
    """Keeps commits of a kind waiting until it is told to let them through."""

    def __init__(self, store: HookedStore, when: Callable[[Change], bool]) -> None:
        self.waiting, self.go = asyncio.Event(), asyncio.Event()

        async def hook(change: Change) -> None:
            if when(change):
                self.waiting.set()
                await self.go.wait()

        store.before = hook
