"""What was archived of a thread for its size, page by page, for people who scroll back.

Source: docs/contract.md, "Size".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from agui_bridge.frozen import dataclass
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.messages.archived import archived_for
from agui_bridge.protocol.threads.messages.stored import StoredMessage, StoredMessages
from agui_bridge.protocol.threads.records import Json, ThreadKey
from agui_bridge.stores.base import Store

__all__ = ["EarlierPage", "earlier_page", "earlier_than"]

_BYTES: Final = 1024 * 1024
"""Of a page, as they are stored; one message may be larger."""


@dataclass(frozen=True, slots=True)
class EarlierPage:
    """Some of the messages of a thread that stand below a position, in context or not.

    Attributes:
        messages: in order.
    """

    messages: Sequence[StoredMessage]

    @property
    def earlier(self) -> str | None:
        """Where the page before this one ends; None where nothing is left."""
        return str(self.messages[0].position) if self.messages else None

    def shown(self, loaded: Loaded) -> list[Mapping[str, Json]]:
        """Those that were archived, and are not in the thread as it is loaded."""
        stand = StoredMessages.of(loaded.messages).by_id
        return [
            stored.message
            for stored in self.messages
            if stored.id not in stand and archived_for(stored.message) is not None
        ]


async def earlier_page(store: Store, key: ThreadKey, before: int) -> EarlierPage:
    """Read a page.

    Raises:
        StoreUnavailable: the store did not answer.
    """
    return EarlierPage(await store.history(key, before=before, most_bytes=_BYTES))


def earlier_than(loaded: Loaded) -> str | None:
    """Where the first page ends; None where nothing was archived for the thread's size."""
    until = loaded.record.archived_until if loaded.record is not None else None
    return None if until is None else str(until + 1)
