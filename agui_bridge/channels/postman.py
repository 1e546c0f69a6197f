"""Who sends what is due on one channel: claims, looks again, sends, says what became of it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final, Literal, get_args

from agui_bridge.channels.channel import Channel, ToldScopes, Undelivered
from agui_bridge.channels.notice import ENDS, Event, Links, Notice
from agui_bridge.engine.streaming.clock import Clock
from agui_bridge.engine.telemetry import Telemetry
from agui_bridge.inbox.settings import Inbox
from agui_bridge.stores.base import Store
from agui_bridge.stores.deliveries import Delivery

logger: Final = logging.getLogger("agui_bridge")

_EVENTS: Final[Mapping[str, Event]] = {event: event for event in get_args(Event)}
"""Those that this version knows; one that is newer may have planned others."""

LEASE_SECONDS: Final = 90.0
"""How long a claim holds: longer than a send may take."""

_SEND_SECONDS: Final = 30.0
_MOST_AT_ONCE: Final = 10
_ABREAST_SECONDS: Final = 10.0
"""No more is claimed than can be begun in this time."""

_IN_FLIGHT: Final = 1.0
"""Seconds until an end is looked at again whose opening is being sent."""

_NO_TIME: Final = 0.001
"""Seconds that are not worth a sleep."""

_LONGEST_ERROR: Final = 300


class Postman:
    """Delivers on one channel.

    Args:
        store: where questions and deliveries live.
        name: the channel's.
        channel: sends.
        inbox: makes the links.
        scopes: whose questions the channel is told of.
        telemetry: is told what became of each delivery.
        clock: what is waited by.
        chance: gives numbers from 0 to 1, for the jitter.
        mint: gives a new id.
    """

    def __init__(
        self,
        store: Store,
        name: str,
        channel: Channel,
        inbox: Inbox,
        *,
        scopes: ToldScopes,
        telemetry: Telemetry,
        clock: Clock,
        chance: Callable[[], float],
        mint: Callable[[], str],
    ) -> None:
        self._store = store
        self._name = name
        self._channel = channel
        self._inbox = inbox
        self._scopes = scopes
        self._telemetry = telemetry
        self._clock = clock
        self._chance = chance
        self._mint = mint
        self._gone = False
        self._next_send = 0.0
        self._silent_until = 0.0
        self._soonest: float | None = None
        self._woken = asyncio.Event()

    def wake(self) -> None:
        """Something may be due."""
        self._woken.set()

    async def rest(self) -> None:
        """Wait until something may be due: what it has put off, or what it is woken for."""
        if self._soonest is None:
            await self._woken.wait()
            return
        woken = asyncio.ensure_future(self._woken.wait())
        longest = max(self._soonest - self._clock.monotonic(), 0.0)
        pause = asyncio.ensure_future(self._clock.sleep(longest))
        try:
            await asyncio.wait((woken, pause), return_when=asyncio.FIRST_COMPLETED)
        finally:
            woken.cancel()
            pause.cancel()

    async def deliver_some(self) -> int:
        """Claim some of what is due, and send it; says how many those were."""
        self._woken.clear()
        if self._soonest is not None and self._soonest <= self._clock.monotonic():
            self._soonest = None
        silence = self._silent_until - self._clock.monotonic()
        if silence > 0:
            self._due_in(silence)
            return 0
        most = int(self._channel.per_second * _ABREAST_SECONDS)
        claimed = await self._store.deliveries.claim(
            self._name,
            self._mint(),
            lease_seconds=LEASE_SECONDS,
            limit=max(1, min(most, _MOST_AT_ONCE)),
        )
        await asyncio.gather(*(self._deliver(delivery) for delivery in claimed))
        return len(claimed)

    async def _deliver(self, delivery: Delivery) -> None:
        # Looked at after the wait: a closed question is never announced.
        await self._take_turn()
        notice = await self._notice(delivery)
        if isinstance(notice, Notice):
            await self._send(delivery, notice)
        elif notice == "later":
            self._due_in(_IN_FLIGHT)
            await self._store.deliveries.finish(_untried(delivery), "queued", retry_in=_IN_FLIGHT)
        else:
            await self._done(_untried(delivery), "dropped")

    async def _notice(self, delivery: Delivery) -> Notice | Literal["drop", "later"]:
        """What to tell now; `later` while an earlier notice is still under way."""
        key = delivery.key
        if key.scope not in self._scopes:
            # Planned before the channel's scopes were what they are.
            return "drop"
        loaded = await self._store.load(key, [delivery.interrupt])
        ask = loaded.interrupts.get(delivery.interrupt)
        event = _EVENTS.get(delivery.event)
        if ask is None or event is None:
            return "drop"
        ends = event in ENDS
        if not ends and (not ask.is_open or ask.expired(loaded.now)):
            return "drop"
        others = [
            one
            for one in await self._store.deliveries.of_question((key, delivery.interrupt))
            if one.channel == delivery.channel and one.id != delivery.id
        ]
        if ends and any(one.state == "queued" and one.lease is not None for one in others):
            return "later"
        if ends and not any(one.attempts for one in others):
            # Who never heard of it needn't hear that it is over.
            return "drop"
        return Notice(
            delivery.id,
            event,
            delivery.created_at,
            key,
            ask,
            Links(self._inbox, key, ask.id),
            tuple(one.noted for one in others if one.noted is not None),
            delivery.noted,
        )

    async def _send(self, delivery: Delivery, notice: Notice) -> None:
        if self._gone:
            await self._done(delivery, "dead", "the address is gone (HTTP 410)")
            return
        try:
            async with asyncio.timeout(_SEND_SECONDS):
                noted = await self._channel.send(notice)
        except Undelivered as failure:
            await self._failed(delivery, failure)
        except TimeoutError:
            await self._failed(delivery, Undelivered("no answer in time"))
        except Exception as error:
            # A function of the user's, such as the one that finds recipients.
            logger.exception("channel %s failed", self._name)
            await self._failed(delivery, Undelivered(f"{type(error).__name__} was raised"))
        else:
            await self._store.deliveries.finish(delivery, "sent", noted=noted)
            self._telemetry.told(self._name, delivery.event, "sent")

    async def _failed(self, delivery: Delivery, failure: Undelivered) -> None:
        if failure.gone and not self._gone:
            self._gone = True
            logger.error(
                "channel %s answered 410 Gone: nothing is sent there until the bridge is started "
                "anew", self._name
            )  # fmt: skip
        reason = str(failure)[:_LONGEST_ERROR]
        if failure.retry_after:
            resting = self._clock.monotonic() + min(failure.retry_after, LEASE_SECONDS * 40)
            self._silent_until = max(self._silent_until, resting)
        pause = retry_in(delivery.attempts, self._chance(), failure.retry_after)
        if failure.final or pause is None:
            await self._done(delivery, "dead", reason, failure)
            return
        logger.warning(
            "channel %s: delivery %s failed (%s); the next try is in %.0f s",
            self._name, delivery.id, reason, pause,
        )  # fmt: skip
        self._due_in(pause)
        await self._store.deliveries.finish(
            delivery, "queued", retry_in=pause, noted=failure.noted, error=reason
        )
        self._telemetry.told(self._name, delivery.event, "retried")

    async def _done(
        self,
        delivery: Delivery,
        state: Literal["dropped", "dead"],
        error: str | None = None,
        failure: Undelivered | None = None,
    ) -> None:
        if state == "dead":
            logger.error("channel %s: delivery %s is dead (%s)", self._name, delivery.id, error)
        noted = failure.noted if failure is not None else None
        await self._store.deliveries.finish(delivery, state, noted=noted, error=error)
        self._telemetry.told(self._name, delivery.event, state)

    async def _take_turn(self) -> None:
        """Wait for as long as the channel's rate says."""
        now = self._clock.monotonic()
        mine = max(now, self._next_send)
        self._next_send = mine + 1 / self._channel.per_second
        if mine - now > _NO_TIME:
            await self._clock.sleep(mine - now)

    def _due_in(self, seconds: float) -> None:
        at = self._clock.monotonic() + seconds
        self._soonest = at if self._soonest is None else min(self._soonest, at)


def _untried(delivery: Delivery) -> Delivery:
    """A delivery whose claim was no try: nothing was sent."""
    return replace(delivery, attempts=delivery.attempts - 1)


_MINUTE: Final = 60.0
_HOUR: Final = 3600.0

SCHEDULE: Final = (
    *(5.0, 5 * _MINUTE, 30 * _MINUTE),
    *(2 * _HOUR, 5 * _HOUR, 10 * _HOUR, 14 * _HOUR, 20 * _HOUR, 24 * _HOUR),
)
"""Seconds before the second try, the third, …: ten tries in 75.6 hours."""

_JITTER: Final = 0.1


def retry_in(attempts: int, chance: float, retry_after: float | None = None) -> float | None:
    """Seconds until the next try; None when there is none.

    Source: https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-
    webhooks.md

    Args:
        attempts: how many there were.
        chance: from 0 to 1: many that failed together don't come back together.
        retry_after: what the receiver asked for, in seconds.
    """
    if attempts > len(SCHEDULE):
        return None
    pause = SCHEDULE[max(attempts, 1) - 1] * (1 + _JITTER * chance)
    return max(pause, min(retry_after or 0.0, SCHEDULE[-1]))
