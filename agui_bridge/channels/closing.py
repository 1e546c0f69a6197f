"""Notices of a channel that was removed: found, and closed by somebody, as their history says.

No server sends them any more, and none changes the messages that were sent. Whoever closes them
says that this is known. They are never told as delivered for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Final

from agui_bridge.engine.presence import living
from agui_bridge.errors import ConfigurationError, Conflict
from agui_bridge.protocol.contract.transitions import Change
from agui_bridge.protocol.threads.records import AuditEntry, Interrupt, ThreadStatus
from agui_bridge.stores.base import Expected, Store
from agui_bridge.stores.deliveries import Delivery

_AT_ONCE: Final = 200
"""Notices between two looks."""

_MOST_COUNTED: Final = 1000
"""Notices of a scope that are counted."""

_TRIES: Final = 5
"""How often an entry is written whose question changes meanwhile."""


@dataclass(frozen=True, slots=True)
class LeftNotices:
    """What is left of a channel that was removed, in one scope.

    Attributes:
        scope: whose questions they are about.
        channel: its name.
        queued: notices that wait to be sent.
        dead: notices that were given up.
        sent: messages about questions that are open, which nobody will change.
        more: whether there are more than were counted.
    """

    scope: str
    channel: str
    queued: int
    dead: int
    sent: int
    more: bool = False


@dataclass(frozen=True, slots=True)
class Closed:
    """What came of closing notices.

    Attributes:
        unsent: so many will not be sent.
        sent: so many messages stay as they are.
        left: so many were not closed: they are being sent, or their thread is at work.
    """

    unsent: int
    sent: int
    left: int

    @property
    def told(self) -> str:
        """What it came to, in a sentence or two."""
        closed = self.unsent + self.sent
        told = []
        if closed:
            kinds = {"not sent": self.unsent, "sent, and not changed any more": self.sent}
            counted = "; ".join(f"{many} {kind}" for kind, many in kinds.items() if many)
            told.append(f"Closed: {closed} notice{'' if closed == 1 else 's'} ({counted}).")
        if self.left:
            told.append(
                f"Not closed: {self.left}, being sent, or of a thread that is at work. Try again "
                "later."
            )
        return " ".join(told)


async def configured_elsewhere(store: Store) -> frozenset[str]:
    """The names of the channels that servers have which run on a store, as they noted.

    Args:
        store: what they share.
    """
    found = await store.servers.look()
    return frozenset(name for server in living(found) for name in server.channels)


async def left_notices(store: Store, scope: str, names: Collection[str]) -> list[LeftNotices]:
    """What is left of channels that no server has, by the channel's name.

    Args:
        store: where they lie.
        scope: whose.
        names: of the channels that there are.
    """
    rows = await store.deliveries.left(scope, but=names, limit=_MOST_COUNTED)
    counts = Counter((one.channel, one.state) for one in rows)
    return [
        LeftNotices(
            scope,
            channel,
            counts[channel, "queued"],
            counts[channel, "dead"],
            counts[channel, "sent"],
            len(rows) == _MOST_COUNTED,
        )
        for channel in sorted({one.channel for one in rows})
    ]


async def close_notices(
    store: Store, scope: str, channel: str, actor: str, via: str, mint: Callable[[], str]
) -> Closed:
    """Close what is left of a channel's notices in a scope; each question's history says so.

    The history is written first: should this process die in between, whoever closes them next
    completes it in the name of who began.

    Args:
        store: where they lie.
        scope: whose; those of other scopes stay.
        channel: the channel's name, which no server may have.
        actor: who closes them.
        via: through what, for the history.
        mint: makes write ids.

    Raises:
        ConfigurationError: the history is sealed, and the store was opened without the keys.
        StoreUnavailable: the store did not answer.
    """
    unsent = sent = 0
    while True:
        rows = await store.deliveries.left(scope, channel=channel, limit=_AT_ONCE)
        before = unsent + sent
        for _, group in groupby(sorted(rows, key=_question), key=_question):
            of_one = list(group)
            closer = await _noted(store, of_one, actor, via, mint)
            if closer is None:
                continue
            for one in of_one:
                if await store.deliveries.close(one, closer):
                    sent += one.state == "sent"
                    unsent += one.state != "sent"
        if len(rows) < _AT_ONCE or unsent + sent == before:
            left = await store.deliveries.left(scope, channel=channel, limit=_AT_ONCE)
            return Closed(unsent, sent, len(left))


def _question(delivery: Delivery) -> tuple[str, str, str]:
    return delivery.key.agent, delivery.key.thread, delivery.interrupt


async def _noted(
    store: Store, rows: Sequence[Delivery], actor: str, via: str, mint: Callable[[], str]
) -> str | None:
    """Write into a question's history who closes these; gives who it says, None if it can't be."""
    key, id, channel = rows[0].key, rows[0].interrupt, rows[0].channel
    event = f"notices to {channel} closed"
    for _ in range(_TRIES):
        loaded = await store.load(key, [id])
        record, ask = loaded.record, loaded.interrupts.get(id)
        if record is None or ask is None or record.status is ThreadStatus.RUNNING:
            # Nobody but its run writes to a thread that is at work.
            return None
        if (begun := _begun(ask, event, rows)) is not None:
            return begun
        if record.chain is not None and store.audit.keys is None:
            raise ConfigurationError(
                "The history of these questions is sealed: name the configuration file, which "
                "says where the audit keys are. Nothing was closed."
            )
        entry = AuditEntry(ask.status, loaded.now, actor, via, event=event)
        change = Change(record, (replace(ask, audit=(*ask.audit, entry)),))
        try:
            await store.commit(key, change, Expected(version=record.version), mint())
        except Conflict:
            continue
        return actor
    return None


def _begun(ask: Interrupt, event: str, rows: Sequence[Delivery]) -> str | None:
    """Who closes these already, as the history says, and has not come to the end."""
    entry = next((entry for entry in reversed(ask.audit) if entry.event == event), None)
    if entry is None or any(one.updated_at > entry.at for one in rows):
        return None
    return entry.actor
