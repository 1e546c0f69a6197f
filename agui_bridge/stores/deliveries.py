"""What is to be told to people about questions, the same for every backend.

A delivery belongs to a question and goes with its thread. Which there are follows from the
questions: whoever finds one that nobody has planned for works out its deliveries and inserts them
under fixed ids, so that two who do it at once write the same rows. A claim is a lease: one that
was sent by a process which died before it said so is due again when the lease is over.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Literal, Protocol

from agui_bridge.frozen import dataclass
from agui_bridge.protocol.threads.records import Json, ThreadKey

DeliveryState = Literal["queued", "sent", "dropped", "dead"]
"""Queued until it is sent, dropped because it is not to be told any more, or given up (dead)."""

STATES: tuple[DeliveryState, ...] = ("queued", "sent", "dropped", "dead")

Asked = tuple[ThreadKey, str]
"""A question: its thread, and its id there."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """One message about one question to one channel.

    Attributes:
        key: the question's thread.
        id: the same for whoever plans it; unique within the thread.
        interrupt: id of the question.
        channel: name of the channel; empty for what the bridge does itself.
        event: what is told: `opened`, `reminded`, …
        due_at: store time (seconds) from which on it is to be sent; while it is claimed, when the
            claim ends.
        state: see `DeliveryState`.
        attempts: how often it was claimed.
        lease: token of the claim.
        noted: what the channel noted when it was sent, to find its message again.
        error: why the last attempt failed.
        created_at: store time (seconds).
        updated_at: store time (seconds) of the last change.
        closed_by: who closed it, its channel being removed: nobody sends it, or changes the message
            that it was sent as; None of all others.
    """

    key: ThreadKey
    id: str
    interrupt: str
    channel: str
    event: str
    due_at: float
    state: DeliveryState = "queued"
    attempts: int = 0
    lease: str | None = None
    noted: Mapping[str, Json] | None = None
    error: str | None = None
    created_at: float = 0.0
    updated_at: float = 0.0
    closed_by: str | None = None


class DeliveryStore(Protocol):
    """Where deliveries lie; a part of a `Store`, by whose clock its times are."""

    async def unannounced(self, limit: int = 100) -> list[Asked]:
        """Questions of all scopes that wait for an answer and that nobody has planned for.

        Args:
            limit: as many at most, oldest first.
        """
        ...

    async def over(self, limit: int = 100) -> list[Asked]:
        """Questions that were planned for, are no longer open, and whose end nobody has planned.

        Args:
            limit: as many at most.
        """
        ...

    async def plan(
        self, asked: Asked, deliveries: Sequence[Delivery] = (), *, over: bool = False
    ) -> int:
        """Note that a question is planned for, and insert its deliveries, all or nothing.

        A delivery whose id is there already stays as it is. Of a question that is gone nothing
        is written. Of each, what is written is the id, channel, event and `due_at`.

        Args:
            asked: the question; the deliveries are its own.
            deliveries: may be none.
            over: whether this is the plan of its end, which is the last.

        Returns:
            How many are new.
        """
        ...

    async def claim(
        self, channel: str, lease: str, *, lease_seconds: float, limit: int = 10
    ) -> list[Delivery]:
        """Take deliveries of a channel that are due, for as long as a lease.

        Args:
            channel: its name.
            lease: token of the claim.
            lease_seconds: after these, whoever claims next may take them.
            limit: as many at most, those longest due first.
        """
        ...

    async def finish(
        self,
        delivery: Delivery,
        state: DeliveryState,
        *,
        retry_in: float | None = None,
        noted: Mapping[str, Json] | None = None,
        error: str | None = None,
    ) -> bool:
        """Say what became of a claimed delivery; one whose claim is another's by now stays.

        Args:
            delivery: as it was claimed; its `attempts` are stored as they are.
            state: `queued` for another try.
            retry_in: seconds until that.
            noted: what its channel wants to know of it later; None leaves what is noted.
            error: why it failed.

        Returns:
            Whether the claim still held.
        """
        ...

    async def of_question(self, asked: Asked) -> list[Delivery]:
        """The deliveries of a question, oldest first.

        Args:
            asked: the question.
        """
        ...

    async def list_deliveries(
        self, scope: str, *, state: DeliveryState | None = None, limit: int = 200
    ) -> list[Delivery]:
        """List a scope's deliveries, newest first.

        Args:
            scope: whose.
            state: None is any.
            limit: as many at most.
        """
        ...

    async def left(
        self,
        scope: str,
        *,
        channel: str | None = None,
        but: Collection[str] = (),
        limit: int = 200,
    ) -> list[Delivery]:
        """A scope's deliveries of which something is still to become, oldest first.

        They are queued, or dead, or sent about a question that is open, so that a message would
        have to be changed. Closed ones, and what the bridge does itself, are left out.

        Args:
            scope: whose.
            channel: only those to this one; None is any.
            but: none to these channels.
            limit: as many at most.
        """
        ...

    async def close(self, delivery: Delivery, actor: str) -> bool:
        """Close one that is left: what is not sent is dropped, what is sent stays as it is.

        Args:
            delivery: as it was listed.
            actor: who closes it.

        Returns:
            Whether it was closed: not if it has changed since, or is being sent.
        """
        ...

    async def scopes(self) -> list[str]:
        """The scopes that have any deliveries, in order."""
        ...
