"""Who sees to it that people are told: level-triggered, at least once, across processes.

What is to be told follows from the stored questions, so nothing is written when a run pauses, and
a crash loses nothing: whoever sweeps next finds the question that nobody has planned for. A hint
after a pause makes it milliseconds.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from typing import Any, Final

from agui_bridge.channels import planning
from agui_bridge.channels.channel import ScopedChannels
from agui_bridge.channels.postman import LEASE_SECONDS, Postman
from agui_bridge.engine.presence import Duties
from agui_bridge.engine.streaming.clock import Clock
from agui_bridge.engine.telemetry import Telemetry
from agui_bridge.errors import Conflict, StoreError, StoreUnavailable
from agui_bridge.inbox.settings import Inbox
from agui_bridge.protocol.answers.asks import LONGEST_WAIT
from agui_bridge.protocol.contract.transitions import ESCALATED, Change
from agui_bridge.protocol.threads.approval_rule import Escalation, escalated
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.records import AuditEntry, Interrupt, InterruptStatus, ThreadKey
from agui_bridge.stores.base import Expected, Store
from agui_bridge.stores.deliveries import Asked, Delivery

logger: Final = logging.getLogger("agui_bridge")

_AT_ONCE: Final = 100
"""Questions that are planned for between two looks."""

_POSTPONED: Final = 1.0
"""Seconds until a step of an escalation that came before its turn."""

_MOST_WARNED: Final = 1000
"""Scopes of which a process says that nobody is told; more would only fill its log."""


class Dispatcher:
    """Plans what is to be told, and has a postman for each channel.

    Args:
        store: where questions and deliveries live.
        channels: by name, with whose questions each is told of.
        inbox: makes the links.
        telemetry: is told what became of each delivery.
        clock: what is waited by.
        interval: seconds between two looks at the store.
        mint: gives a new id.
        chance: gives numbers from 0 to 1, for the jitter.
        duties: what is known of the servers that do the same; by default there are no others.
    """

    def __init__(
        self,
        store: Store,
        channels: ScopedChannels,
        inbox: Inbox,
        *,
        telemetry: Telemetry,
        clock: Clock,
        interval: float,
        mint: Callable[[], str],
        chance: Callable[[], float] = random.random,
        duties: Duties | None = None,
    ) -> None:
        self._store = store
        self._channels = channels
        self._clock = clock
        self._interval = interval
        self._mint = mint
        self._postmen = {
            name: Postman(
                store, name, channel, inbox, scopes=channels.scopes[name], telemetry=telemetry,
                clock=clock, chance=chance, mint=mint,
            )
            for name, channel in channels.items()
        }  # fmt: skip
        self._hints: set[ThreadKey] = set()
        self._hinted = asyncio.Event()
        self._next_look = clock.monotonic()
        self._duty = (duties or Duties()).one()
        self._tasks: list[asyncio.Task[None]] = []
        self._unknown: set[str] = set()
        self._silent: set[str] = set()

    # --- life ---

    def start(self) -> None:
        """Begin to plan and to deliver."""
        self._tasks.append(asyncio.ensure_future(self._for_ever("planning", self._plan_next)))
        for name, postman in self._postmen.items():
            self._tasks.append(
                asyncio.ensure_future(self._for_ever(name, self._delivering(postman)))
            )

    async def aclose(self) -> None:
        """Stop; what was claimed and not sent is due again when its claim is over."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks.clear()
        for channel in self._channels.values():
            await channel.aclose()

    def leave(self) -> None:
        """Stop in an event loop that stands still or is closed."""
        for task in self._tasks:
            if not task.get_loop().is_closed():
                task.cancel()
        self._tasks.clear()

    def hint(self, key: ThreadKey) -> None:
        """Look at a thread at once: it may have asked something, or its question may be over.

        Args:
            key: the thread.
        """
        self._hints.add(key)
        self._hinted.set()

    async def _for_ever(self, name: str, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        while True:
            try:
                await work()
            except StoreError:
                logger.warning("channels (%s): no store; going on trying", name or "planning")
                await self._clock.sleep(self._interval)
            except Exception:
                logger.exception("channels (%s) failed; going on", name or "planning")
                await self._clock.sleep(self._interval)

    async def _plan_next(self) -> None:
        hinted, self._hints = self._hints, set()
        self._hinted.clear()
        due = bool(hinted)
        try:
            for key in hinted:
                await self._plan_thread(key)
            # Also on a busy server, where there is always a hint.
            if self._clock.monotonic() >= self._next_look:
                self._next_look = self._clock.monotonic() + self._interval
                if self._duty.falls_here():
                    due = True
                    await self.plan()
        finally:
            # What could not be planned keeps nothing else from being sent.
            for postman in self._postmen.values() if due else ():
                postman.wake()
        waiting = asyncio.ensure_future(self._hinted.wait())
        pause = asyncio.ensure_future(self._clock.sleep(self._interval))
        try:
            await asyncio.wait((waiting, pause), return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiting.cancel()
            pause.cancel()

    def _delivering(self, postman: Postman) -> Callable[[], Coroutine[Any, Any, None]]:
        async def work() -> None:
            if not await postman.deliver_some():
                await postman.rest()

        return work

    # --- one pass ---

    async def sweep(self) -> None:
        """Plan all there is, and send all that is due now."""
        await self.plan()
        for postman in self._postmen.values():
            while await postman.deliver_some():
                pass

    async def plan(self) -> None:
        """Plan for every question that is new, over, or to be escalated."""
        store = self._store.deliveries
        while asked := await store.unannounced(_AT_ONCE):
            for question in asked:
                await self._safely(self._plan_opening, question)
        while asked := await store.over(_AT_ONCE):
            for question in asked:
                await self._safely(self._plan_end, question)
        lease = self._mint()
        for delivery in await store.claim(
            planning.BRIDGE, lease, lease_seconds=LEASE_SECONDS, limit=_AT_ONCE
        ):
            try:
                await self._escalate(delivery)
            except StoreUnavailable:
                raise
            except Exception:
                # It is tried again when its claim is over; the others don't wait for it.
                logger.exception("channels: escalating failed (agent %s)", delivery.key.agent)

    async def _plan_thread(self, key: ThreadKey) -> None:
        loaded = await self._store.load(key)
        for ask in loaded.waiting:
            await self._plan_opening((key, ask.id))
        for asked in await self._store.deliveries.over(_AT_ONCE):
            await self._safely(self._plan_end, asked)

    async def _safely(
        self, plan: Callable[[Asked], Coroutine[Any, Any, None]], asked: Asked
    ) -> None:
        try:
            await plan(asked)
        except StoreUnavailable:
            raise
        except Exception:
            # One question that can't be read must not keep the others from being told.
            logger.exception("channels: planning failed (agent %s)", asked[0].agent)
            await self._store.deliveries.plan(asked)

    async def _plan_opening(self, asked: Asked) -> None:
        key, id = asked
        loaded = await self._store.load(key, [id])
        ask = loaded.interrupts.get(id)
        if ask is None:
            return
        self._warn(key.scope, planning.channels_of(ask, self._channels))
        told = self._channels.told_of(key.scope)
        await self._store.deliveries.plan(asked, planning.opening(key, ask, told))

    async def _plan_end(self, asked: Asked) -> None:
        key, id = asked
        loaded = await self._store.load(key, [id])
        ask = loaded.interrupts.get(id)
        if ask is None:
            return
        planned = await self._store.deliveries.of_question(asked)
        names = [one.channel for one in planned if one.closed_by is None]
        told = self._channels.told_of(key.scope)
        ends = planning.ending(key, ask, names, told, loaded.now)
        await self._store.deliveries.plan(asked, ends, over=True)

    async def _escalate(self, delivery: Delivery) -> None:
        """Take one step: the question changes first, then others are told."""
        finish = self._store.deliveries.finish
        asked = (delivery.key, delivery.interrupt)
        loaded = await self._store.load(delivery.key, [delivery.interrupt])
        ask = loaded.interrupts.get(delivery.interrupt)
        number = int(delivery.id.rpartition("-")[2])
        if ask is None or ask not in loaded.waiting or ask.rule is None:
            await finish(delivery, "dropped")
            return
        taken = escalated_times(ask)
        if taken < number - 1:
            await finish(delivery, "queued", retry_in=_POSTPONED)
            return
        step = ask.rule.escalate[number - 1]
        if taken < number:
            try:
                await escalate(self._store, loaded, ask, step, self._mint)
            except Conflict:
                await finish(delivery, "queued", retry_in=0.0)
                return
        self._warn(delivery.key.scope, step.notify)
        those = self._channels.told_of(delivery.key.scope)
        names = [name for name in step.notify if name in those]
        told = planning.escalated(delivery.key, ask, number, names, loaded.now)
        await self._store.deliveries.plan(asked, told)
        await finish(delivery, "sent")

    def _warn(self, scope: str, names: Sequence[str]) -> None:
        """Say once what keeps questions from being told where they should be."""
        for name in names:
            if name not in self._channels and name not in self._unknown:
                self._unknown.add(name)
                logger.warning(
                    "an approval rule names the channel %r, and there is none of this name: "
                    "nobody is told there", name
                )  # fmt: skip
        known = [name for name in names if name in self._channels]
        told = any(name in self._channels.told_of(scope) for name in known)
        if known and not told and scope not in self._silent and len(self._silent) < _MOST_WARNED:
            self._silent.add(scope)
            logger.warning(
                "channels: nobody is told of a question of scope %r: the channels that it is for "
                "(%s) are told of other scopes", scope, ", ".join(known)
            )  # fmt: skip


def escalated_times(ask: Interrupt) -> int:
    """How many steps of its escalation a question has taken.

    Args:
        ask: the question.
    """
    return sum(entry.event == ESCALATED for entry in ask.audit)


def escalated_question(ask: Interrupt, step: Escalation, now: float) -> Interrupt:
    """The question after a step.

    Args:
        ask: an open one with a rule.
        step: whom it adds, and how much time.
        now: store time (seconds).
    """
    assert ask.rule is not None, "a step is one of a rule's"
    rule = escalated(ask.rule, step)
    expires_at = ask.expires_at
    if expires_at is not None:
        # A time that no calendar has would break every page that shows the question.
        expires_at = max(expires_at, min(expires_at + step.extend, now + LONGEST_WAIT))
    entry = AuditEntry(
        InterruptStatus.OPEN, now, "bridge", via="rule", rule=rule.name, event=ESCALATED
    )
    return replace(ask, rule=rule, expires_at=expires_at, audit=(*ask.audit, entry))


async def escalate(
    store: Store, loaded: Loaded, ask: Interrupt, step: Escalation, mint: Callable[[], str]
) -> None:
    """Take a step, on exactly what was loaded.

    Args:
        store: where the thread lives.
        loaded: the thread, which waits for the question.
        ask: the question.
        step: of its rule.
        mint: gives a new id.

    Raises:
        Conflict: the thread has changed meanwhile.
    """
    record = loaded.record
    assert record is not None, "a question has a thread"
    change = Change(record, (escalated_question(ask, step, loaded.now),))
    await store.commit(record.key, change, Expected(version=record.version), mint())
