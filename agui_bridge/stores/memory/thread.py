"""One thread as it is kept in memory."""

from __future__ import annotations

from dataclasses import dataclass, field

from agui_bridge.protocol.threads.history import StoredMessage
from agui_bridge.protocol.threads.records import Interrupt, Receipt, ThreadRecord
from agui_bridge.stores.deliveries import Delivery

__all__ = ["StoredThread"]


@dataclass(slots=True)
class StoredThread:
    """A thread's rows.

    Attributes:
        record: the thread's own.
        interrupts: by id.
        raised_at: the time of each interrupt's first commit.
        receipts: by batch.
        messages: by id.
        superseded: ids of the messages that are not in context.
        announced: by interrupt whether its end is planned for too.
        deliveries: by id.
        words: what a run is saying, behind the token of its lease.
    """

    record: ThreadRecord
    interrupts: dict[str, Interrupt] = field(default_factory=dict)
    raised_at: dict[str, float] = field(default_factory=dict)
    receipts: dict[str, Receipt] = field(default_factory=dict)
    messages: dict[str, StoredMessage] = field(default_factory=dict)
    superseded: set[str] = field(default_factory=set)
    announced: dict[str, bool] = field(default_factory=dict)
    deliveries: dict[str, Delivery] = field(default_factory=dict)
    words: tuple[str, StoredMessage] | None = None

    def batch(self) -> list[Interrupt]:
        """The interrupts of the record's own batch."""
        batch = self.record.batch.id if self.record.batch else None
        return [ask for ask in self.interrupts.values() if ask.batch == batch]
