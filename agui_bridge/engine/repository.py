"""The threads of one engine: how they are loaded, and how what becomes of them is committed.

Nothing else of the engine knows that

- only so many bytes of one scope's long threads are in hand at once: to compare an input with one,
  and to show that, takes several times its size for a moment, and what waits for its turn keeps
  what it has loaded,
- work on them, on the loop and in the store, takes turns (`HeavyTurns`),
- messages of long threads are kept between two inputs (`MessageCache`), and the pauses of small
  ones until they are answered (`KeptPauses`),
- a store that takes no writes is not asked each time (`WriteCheck`), and one that does not answer
  is asked again.

Telemetry observes the store beneath.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Final, TypeVar
from weakref import WeakValueDictionary

from agui_bridge.engine.fairness import (
    HeavyTurns,
    ScopeQueue,
    is_heavy_thread,
    is_large,
    is_long_thread,
)
from agui_bridge.engine.input.past import NO_PAST, MessageCache, Past, past_of
from agui_bridge.engine.input.submission import Submission, receipt_of
from agui_bridge.engine.remembered import keep_grants
from agui_bridge.engine.streaming.clock import Clock, StoreTime
from agui_bridge.errors import StoreUnavailable, WritesRefused
from agui_bridge.frozen import dataclass, replace
from agui_bridge.protocol.contract.transitions import Change
from agui_bridge.protocol.json_values import copied
from agui_bridge.protocol.threads.history import History
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.messages.archived import StoredMessages
from agui_bridge.protocol.threads.records import Interrupt, ThreadKey, ThreadRecord
from agui_bridge.stores.base import ABSENT, Committed, Expected, Store

# --- whether the store takes writes: remembered from the last one, and tried now and then ---
#
# A database that only reads or whose disk is full answers every read. What needs a write is refused
# at once while that is known, and readiness tells of it.

LOOK_SECONDS: Final = 1.0
"""Seconds between two looks at least: a look writes, and anybody may ask for readiness."""


class WriteCheck:
    """What one process knows of its store's willingness to write."""

    def __init__(self, store: Store, clock: Clock) -> None:
        """Suppose that it takes writes.

        Args:
            store: is looked at with `Store.ping`.
            clock: what to measure by.
        """
        self._store = store
        self._clock = clock
        self._refusal: str | None = None
        self._looked_at = -math.inf
        self._looking = asyncio.Lock()

    async def look(self) -> None:
        """Learn whether the store answers and takes writes; of a recent look it is remembered.

        Raises:
            WritesRefused: it takes none.
            StoreUnavailable: it does not answer.
        """
        async with self._looking:
            if self._clock.monotonic() >= self._looked_at + LOOK_SECONDS:
                try:
                    await self._store.ping()
                except WritesRefused as error:
                    self._note(str(error))
                else:
                    self._note(None)
        if self._refusal is not None:
            raise WritesRefused(self._refusal)

    async def let_write(self) -> None:
        """Pass at once, unless it is known that writes fail.

        Raises:
            WritesRefused: they do.
            StoreUnavailable: the store does not even answer any more.
        """
        if self._refusal is not None:
            await self.look()

    async def commit(
        self, key: ThreadKey, change: Change, expected: Expected, write_id: str
    ) -> Committed:
        """Commit (see `Store.commit`), and remember what it tells.

        Args:
            key: the thread.
            change: what to write.
            expected: the guard.
            write_id: random, of this change alone.

        Raises:
            Conflict: the guard does not hold.
            StoreUnavailable: whether the change arrived is unknown.
        """
        try:
            committed = await self._store.commit(key, change, expected, write_id)
        except WritesRefused as error:
            self._note(str(error))
            raise
        self._refusal = None
        return committed

    def _note(self, refusal: str | None) -> None:
        self._refusal = refusal
        self._looked_at = self._clock.monotonic()


# --- pauses that this process has stored: an answer to one is decided without a second reading ---
#
# What is kept may be out of date: meanwhile somebody may have answered through another process, or
# stopped or deleted the thread. So one thing alone is decided on it, a claim. The claim's commit
# names the version that is kept, and the store judges by its own clock whether an answer is in time
# (`Change.not_after`). What is out of date is refused there, and decided anew on what the store
# has; so is whatever else comes of a look at what is kept.
#
# Source: docs/contract.md, "Admission".

_MOST: Final = 256
"""Pauses; the one that was asked first goes first."""

_MESSAGES: Final = 100
"""Of a thread with as many nothing is kept: with its messages it takes much room for one answer."""


@dataclass(frozen=True, slots=True)
class _KeptPause:
    loaded: Loaded
    time: StoreTime


class KeptPauses:
    """Keeps the small pauses that were stored last, each for one answer."""

    def __init__(self) -> None:
        self._pauses: OrderedDict[ThreadKey, _KeptPause] = OrderedDict()

    def __contains__(self, key: ThreadKey) -> bool:
        return key in self._pauses

    def keep(
        self, record: ThreadRecord, asks: Iterable[Interrupt], history: History, time: StoreTime
    ) -> None:
        """Keep a pause as it was just stored.

        Args:
            record: the thread's, as the run's end left it.
            asks: the questions.
            history: the run's; nothing changes it any more.
            time: the store's.
        """
        if len(history.ids) >= _MESSAGES or (messages := history.stored()) is None:
            return
        if record.batch is None or is_large(_values_of(record)):
            return
        # An agent may still have what it handed over.
        batch = replace(record.batch, continuation=copied(record.batch.continuation))
        state, handoff, memo = copied([record.state, record.handoff, record.memo])
        own = replace(record, batch=batch, state=state, handoff=handoff, memo=memo)
        loaded = Loaded(own, time.now(), {ask.id: _own(ask) for ask in asks}, messages=messages)
        self._pauses.pop(record.key, None)
        self._pauses[record.key] = _KeptPause(loaded, time)
        if len(self._pauses) > _MOST:
            self._pauses.popitem(last=False)

    def take(self, key: ThreadKey, interrupt_ids: Collection[str]) -> Loaded | None:
        """The look that an answer is decided on first; the next one reads the store.

        Args:
            key: the thread.
            interrupt_ids: what is answered; empty for any other input.
        """
        kept = self._pauses.pop(key, None)
        if kept is None or not interrupt_ids:
            return None
        if not kept.loaded.interrupts.keys() >= {*interrupt_ids}:
            return None
        return replace(kept.loaded, now=kept.time.now())


def _own(ask: Interrupt) -> Interrupt:
    """A question whose schema and metadata nobody else has; its call was copied before."""
    schema, metadata = copied([ask.response_schema, ask.metadata])
    return replace(ask, response_schema=schema, metadata=metadata)


def _values_of(record: ThreadRecord) -> list[object]:
    """What an agent may have made large."""
    batch = record.batch and record.batch.continuation
    return [batch, record.state, record.handoff, record.memo, record.ended and record.ended.result]


# --- the repository ---

T = TypeVar("T")

_FIRST_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 1.0
"""Seconds between two tries of a store that does not answer."""

_READERS: Final = 2
"""At most so many per scope load a thread to show it: one is in work, one in the store."""


_REMEMBERED: Final = 10_000
"""Threads that were long when they were read last."""

_MESSAGE: Final = 700
"""Bytes that a message takes besides its text, about."""


async def until_answered(
    ask: Callable[[], Awaitable[T]], clock: Clock, give_up: Callable[[], bool]
) -> T:
    """Ask a store, again and again while it does not answer.

    A commit has one write id for all tries: one whose acknowledgement was lost counts as done.

    Args:
        ask: asks it once.
        clock: what to wait by.
        give_up: asked after every failed try.

    Raises:
        StoreUnavailable: it was time to give up; whether a change arrived is unknown.
    """
    pause = _FIRST_PAUSE
    while True:
        try:
            return await ask()
        except StoreUnavailable:
            if give_up():
                raise
            await clock.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)


@dataclass(frozen=True, slots=True)
class Look:
    """A thread as an input finds it.

    Attributes:
        loaded: the thread, with its messages in context.
        past: what else the input is compared with.
        heavy: whether work on it takes turns.
        kept: whether it was not read for this input: a claim alone may be decided on it.
    """

    loaded: Loaded
    past: Past
    heavy: bool
    kept: bool = False


class Repository:
    """Loads and commits the threads of a store.

    Args:
        store: where they live.
        clock: what to wait by.
        turns: gives work on the loop its turns.
        mint: makes write ids.
        room: bytes of one scope's long threads that are in hand at once.
        patience: seconds for which a store that does not answer is asked again.

    Attributes:
        store: the same.
        kept: the messages that are kept.
        pauses: the pauses that are kept.
        writes: whether the store takes writes.
    """

    def __init__(
        self,
        store: Store,
        clock: Clock,
        turns: HeavyTurns,
        mint: Callable[[], str],
        *,
        room: int,
        patience: float,
    ) -> None:
        self.store = store
        self.kept: MessageCache = MessageCache(store)
        self.pauses: KeptPauses = KeptPauses()
        self._long = _LongThreads(room)
        self.writes: WriteCheck = WriteCheck(store, clock)
        self._clock = clock
        self._turns = turns
        # Apart: a store that is slow keeps no other input from being read.
        self._store_turns = HeavyTurns()
        self._mint = mint
        self._patience = patience
        # A scope's stands here for as long as somebody reads, or waits to.
        self._readers: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    def hold(self, key: ThreadKey) -> AbstractAsyncContextManager[None]:
        """Have a thread in hand for the length of a block, once there is room for it.

        One that is not known to be long never waits.
        """
        return self._long.hold(key)

    async def load(self, submission: Submission) -> Look | None:
        """Take a look at an input's thread; None is to look again, once there is room (`hold`).

        Raises:
            StoreUnavailable: the store did not answer.
        """
        key = submission.key
        async with self.turn(key.scope, submission.heavy or key in self._long):
            kept = self.pauses.take(key, submission.answers_to)
            loaded = kept or await self.kept.load(
                key, submission.answers_to, receipt_of(submission)
            )
            past = await past_of(self.store, loaded, submission)
        if self._long.note(key, loaded):
            return None
        heavy = is_heavy_thread(loaded, submission)
        return Look(loaded, past, heavy, kept=kept is not None)

    async def reload(self, submission: Submission) -> Look:
        """Look again at what was just committed, to tell it.

        Raises:
            StoreUnavailable: the store did not answer.
        """
        loaded = await self.kept.load(submission.key, submission.answers_to)
        return Look(loaded, NO_PAST, is_heavy_thread(loaded, submission))

    @contextlib.asynccontextmanager
    async def whole(self, key: ThreadKey) -> AsyncIterator[Loaded]:
        """Load a thread with its messages to show it, and have it in hand for a block.

        The block is one stretch of work, without waiting for anything in it. How long a thread is,
        is known once it is here: so the number of a scope's is bounded before.

        Raises:
            StoreUnavailable: the store did not answer.
        """
        free = self._readers.setdefault(key.scope, asyncio.Semaphore(_READERS))
        async with free:
            while True:
                async with self.hold(key):
                    async with self.turn(key.scope, key in self._long):
                        loaded = await self.store.load(key, messages=True)
                    if self._long.note(key, loaded):
                        del loaded
                        continue
                    async with self._turns.turn(key.scope, key in self._long):
                        yield loaded
                        return

    def keep(
        self, record: ThreadRecord, history: History, asked: Sequence[Interrupt], time: StoreTime
    ) -> None:
        """Keep what the next input on a thread is compared with, once a run's end is stored.

        Args:
            record: the thread's, as the run's end left it.
            history: the run's; nothing changes it any more.
            asked: the questions that the run ended with, as they are stored.
            time: the store's.
        """
        self.kept.keep(record.key, record, history)
        if asked:
            self.pauses.keep(record, asked, history, time)

    def turn(self, scope: str, heavy: bool) -> AbstractAsyncContextManager[None]:
        """Wait for a turn of the store, and have it for the length of a block."""
        return self._store_turns.turn(scope, heavy)

    async def commit(self, key: ThreadKey, change: Change, loaded: Loaded) -> Committed:
        """Commit on exactly what was decided on, and keep the decisions that it remembers.

        Raises:
            Conflict: the thread has changed meanwhile; decide again.
            WritesRefused: the store takes no writes.
            StoreUnavailable: whether the change arrived is unknown.
        """
        await self.writes.let_write()
        record, write_id = loaded.record, self._mint()
        expected = Expected(version=record.version) if record is not None else ABSENT
        until = self._clock.monotonic() + self._patience
        committed = await until_answered(
            lambda: self.writes.commit(key, change, expected, write_id),
            self._clock,
            lambda: self._clock.monotonic() >= until,
        )
        await keep_grants(self.store.grants, key, change.interrupts, committed.now)
        return committed

    async def write(
        self, key: ThreadKey, change: Change, expected: Expected, write_id: str, *, heavy: bool
    ) -> Committed:
        """Commit what a run has to say, once, in its turn (see `Store.commit`).

        Args:
            key: the thread.
            change: what to write.
            expected: the guard.
            write_id: random, of this change alone.
            heavy: whether the thread holds much: between two of its writes the store is
                everybody's.

        Raises:
            Conflict: the guard does not hold.
            StoreUnavailable: whether the change arrived is unknown.
        """
        if not heavy:
            return await self.writes.commit(key, change, expected, write_id)
        async with self.turn(key.scope, heavy):
            return await self.writes.commit(key, change, expected, write_id)


class _LongThreads:
    """Knows the threads that were long when they were read last.

    How long one is, is known once it was loaded: that look is thrown away, and another one taken
    when there is room.

    Args:
        most_bytes: of one scope's long threads that are in hand at once; one alone may be larger.
    """

    def __init__(self, most_bytes: int) -> None:
        self._queue = ScopeQueue(most_bytes)
        self._sizes: OrderedDict[ThreadKey, int] = OrderedDict()

    def __contains__(self, key: ThreadKey) -> bool:
        return key in self._sizes

    def hold(self, key: ThreadKey) -> AbstractAsyncContextManager[None]:
        """Have a thread in hand for the length of a block, once there is room for it.

        One that is not known to be long never waits.
        """
        return self._queue.hold(key.scope, self._sizes.get(key, 0))

    def note(self, key: ThreadKey, loaded: Loaded) -> bool:
        """Take note of how long a thread is; whether it is, and was not known to be."""
        known = self._sizes.pop(key, None)
        if not is_long_thread(loaded):
            return False
        messages = StoredMessages.of(loaded.messages)
        self._sizes[key] = messages.size + _MESSAGE * len(messages)
        if len(self._sizes) > _REMEMBERED:
            self._sizes.popitem(last=False)
        return known is None
