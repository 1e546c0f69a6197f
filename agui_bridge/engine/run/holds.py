"""The pauses that this process holds: the framework's side waits here for what people answer.

A pause is stored like any other, and beside it who holds it, and until when. So it is never needed
that the holder lives: who finds the hold over goes on from the continuation alone. While it lives,
an answer that another process takes is stored there (`answered`), and the holder carries it out,
since the framework's side is here.

| the holder | by |
|---|---|
| renews its holds, all at once | `Store.renew`; a hold that was over is never renewed |
| hears that something has come | a word of whoever changed the thread, or its next look |
| finds all answers | an input that nobody sends, which claims as any other does |
| finds the pause answered elsewhere, stopped or expired | `Holds.closed` of the adapter |
| lets go: too long, too many, shutdown | `closed` first, then the hold ends in the store |

The claim decides who carries an answer out, and the framework's side gets none before it. So
nothing depends on when a hold is seen to be over: at worst a side that waits is ended in vain.

Source: docs/contract.md, "Held pauses".
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from agui_bridge.adapters import HoldEnd, Holds as HoldingAdapter, Pause
from agui_bridge.engine.input.settings import Settings
from agui_bridge.engine.input.submission import Agent
from agui_bridge.engine.streaming.clock import Clock
from agui_bridge.errors import Refused, StoreError
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.records import (
    Interrupt,
    InterruptStatus,
    Json,
    ThreadKey,
    ThreadRecord,
    lease_token,
)
from agui_bridge.protocol.threads.run_ends import Ending, Finished
from agui_bridge.stores.base import Store

logger: Final = logging.getLogger("agui_bridge")

_PATIENCE: Final = 10.0
"""Seconds that an adapter may take to end what waits."""

_LOOK_SECONDS: Final = 2.0
"""Between two looks at a pause of which nothing is heard."""

_OWN_STREAM_SECONDS: Final = 10.0
"""For so long a run whose pause nobody has to answer may take to go on in its own stream."""

_SILENCE: Final = 0.9
"""Seconds after which an item of `Store.watch` tells nothing but that a second has passed."""

_MOST_TOGETHER: Final = 500
"""Holds that one call of the store renews."""

GoOn = Callable[[Agent, ThreadKey, Loaded], Awaitable[None]]
Spawn = Callable[[Coroutine[None, None, None]], object]


@dataclass(eq=False, slots=True)
class Held:
    """One pause that is held here, or about to be.

    Attributes:
        token: of the hold.
        asks: ids of its questions, once they are stored.
        until: monotonic time at which it is let go.
        goes_on_from: monotonic time before which answers are left to the stream that asked.
    """

    key: ThreadKey
    agent: Agent
    continuation: Json
    token: str
    until: float
    asks: list[str] = field(default_factory=list)
    goes_on_from: float = 0.0
    watching: asyncio.Task[None] | None = None


class Holds:
    """The holds of one process.

    Args:
        store: where the pauses are.
        clock: what to wait by.
        settings: of the bridge.
        mint: makes ids.
        go_on: begins an input that nobody sends; returns once it is claimed, or of no use.
        spawn: has work carried out beside.
    """

    def __init__(
        self,
        store: Store,
        clock: Clock,
        settings: Settings,
        mint: Callable[[], str],
        go_on: GoOn,
        spawn: Spawn,
    ) -> None:
        self._store = store
        self._clock = clock
        self._lease_seconds = settings.lease_seconds
        self._most = settings.max_held
        self._mint = mint
        self._go_on = go_on
        self._spawn = spawn
        # The one that was asked first comes first.
        self._held: dict[str, Held] = {}
        self._renewing: asyncio.Task[None] | None = None
        self._closing = False

    def __len__(self) -> int:
        return len(self._held)

    # --- from a run that pauses, to one that goes on ---

    async def reserve(
        self, key: ThreadKey, agent: Agent, pause: Pause | None, driven: Ending
    ) -> Held | None:
        """Take a hold on a pause that is about to be stored; None where it is not to be held.

        What waits for it is ended then, before anybody can answer.

        Args:
            key: the thread.
            agent: who asks.
            pause: what its adapter ended with.
            driven: how it ended.
        """
        if pause is None or not pause.held:
            return None
        seconds = agent.settings.hold_seconds
        if self._closing or not seconds or not isinstance(driven, Finished):
            end: HoldEnd = "let go" if isinstance(driven, Finished) else "stopped"
            await close_waiting(agent, pause.continuation, end)
            return None
        token = lease_token(self._store.process, self._mint())
        until = self._clock.monotonic() + seconds
        self._held[token] = held = Held(key, agent, pause.continuation, token, until)
        return held

    def begin(self, held: Held, record: ThreadRecord, asked: Sequence[Interrupt]) -> None:
        """Look after a pause that was stored with its hold; give up one that was not.

        Args:
            held: what was reserved.
            record: the thread's, as the run has left it.
            asked: the questions; none where nobody has to answer them.
        """
        if held.token not in self._held:
            # It was let go while it was being stored, or is answered already, which ends no hold.
            self._spawn(self._end([held]))
            return
        if record.hold is None or record.hold.token != held.token:
            del self._held[held.token]
            self._spawn(close_waiting(held.agent, held.continuation, "let go"))
            return
        held.asks = [ask.id for ask in asked]
        if not asked:
            # Two that go on at once would have one refused: the client of the run that paused.
            held.goes_on_from = self._clock.monotonic() + _OWN_STREAM_SECONDS
        held.watching = asyncio.create_task(self._watch(held))
        if self._renewing is None or self._renewing.done():
            self._renewing = asyncio.create_task(self._renew())
        if len(self._held) > self._most:
            oldest = next(iter(self._held.values()))
            logger.info("a question is held no longer: %d more are (max_held)", self._most)
            self._spawn(self.let_go([oldest]))

    def are_elsewhere(self, loaded: Loaded) -> bool:
        """Whether another process holds the pause that a thread is in."""
        return loaded.hold is not None and loaded.hold.token not in self._held

    def take(self, loaded: Loaded) -> bool:
        """Give what waits to the run whose claim is stored; whether this process held the pause.

        Args:
            loaded: the thread as it was claimed.
        """
        hold = loaded.record.hold if loaded.record is not None else None
        held = self._held.pop(hold.token, None) if hold is not None else None
        if held is not None and held.watching is not None:
            held.watching.cancel()
        return held is not None

    async def let_go(self, those: list[Held]) -> None:
        """Hold pauses no longer: first what waits is ended, then the holds are."""
        mine = [held for held in those if self._held.pop(held.token, None) is not None]
        if not mine:
            return
        for held in mine:
            if held.watching is not None and held.watching is not asyncio.current_task():
                held.watching.cancel()
        await asyncio.gather(*(close_waiting(h.agent, h.continuation, "let go") for h in mine))
        await self._end(mine)

    async def _end(self, those: Sequence[Held]) -> None:
        """End holds there and then: a sweeper finds what was answered meanwhile."""
        with contextlib.suppress(StoreError):
            await self._store.renew({held.token: held.key for held in those}, 0.0)

    async def let_go_all(self) -> None:
        """Hold none of them any longer."""
        await self.let_go(list(self._held.values()))

    async def aclose(self) -> None:
        """Let go of all, and hold nothing any more."""
        self._closing = True
        if self._renewing is not None:
            self._renewing.cancel()
        await self.let_go_all()

    # --- while it is held ---

    async def _watch(self, held: Held) -> None:
        """Look at a pause when it may have changed, and now and then, until it is not held."""
        heard_at = looked_at = -_LOOK_SECONDS
        async with contextlib.aclosing(self._store.watch(held.key)) as hints:
            async for _ in hints:
                now = self._clock.monotonic()
                hinted, heard_at = now - heard_at < _SILENCE, now
                if not hinted and now - looked_at < _LOOK_SECONDS:
                    continue
                looked_at = now
                try:
                    if await self._look(held):
                        return
                except Refused as error:
                    logger.info("a question that is held goes on later: %s", error)
                except StoreError as error:
                    logger.debug("a pause that is held can't be looked at: %s", error)
                except Exception:
                    logger.exception("a pause that is held can't be looked at")

    async def _look(self, held: Held) -> bool:
        """Do what is due; whether that was the last look."""
        loaded = await self._store.load(held.key, held.asks)
        if held.token not in self._held:
            return True
        if loaded.hold is None or loaded.hold.token != held.token:
            del self._held[held.token]
            await close_waiting(held.agent, held.continuation, _end_of(loaded, held))
            return True
        now = self._clock.monotonic()
        if loaded.only_answered and now >= held.goes_on_from:
            # The claim takes the hold, and cancels this.
            await self._go_on(held.agent, held.key, loaded)
        elif now >= held.until:
            await self.let_go([held])
        return held.token not in self._held

    async def _renew(self) -> None:
        while True:
            await self._clock.sleep(self._lease_seconds / 3)
            begun = [held for held in self._held.values() if held.watching is not None]
            for at in range(0, len(begun), _MOST_TOGETHER):
                some = islice(begun, at, at + _MOST_TOGETHER)
                leases = {held.token: held.key for held in some}
                try:
                    # Whoever is refused finds out with its next look.
                    await self._store.renew(leases, self._lease_seconds)
                except StoreError as error:
                    logger.debug("holds can't be renewed: %s", error)


async def close_waiting(agent: Agent, continuation: Json, end: HoldEnd) -> None:
    """Have an adapter end what waits for a pause; what it raises is logged."""
    adapter = agent.adapter
    assert isinstance(adapter, HoldingAdapter), "only such adapters have anybody wait"
    try:
        async with asyncio.timeout(_PATIENCE):
            await adapter.closed(continuation, end)
    except Exception:
        logger.warning("agent %r did not end what waited for an answer", agent.name, exc_info=True)


def _end_of(loaded: Loaded, held: Held) -> HoldEnd:
    """Why a pause is held by this process no more."""
    asks = [loaded.interrupts[id] for id in held.asks if id in loaded.interrupts]
    if not asks:
        return "stopped"  # With its thread.
    if all(ask.status in (InterruptStatus.OPEN, InterruptStatus.ANSWERED) for ask in asks):
        return "let go"
    if all(ask.status is InterruptStatus.EXPIRED for ask in asks):
        return "expired"
    receipt = loaded.receipts.get(asks[0].batch)
    if receipt is not None and receipt.outcome == "cancelled":
        return "stopped"
    return "answered elsewhere"
