"""Messages of long threads, kept between two inputs, so that the store need not give them again.

A thread's messages change by commits alone, and each commit has a random id of its own, which
stands in the thread's record. The record is read anew for every input. If its commit is the one
that these messages are of, they are what the store has, whoever wrote in between.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Final

from agui_bridge.frozen import dataclass, replace
from agui_bridge.protocol.threads.history import History
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.messages.stored import StoredMessages
from agui_bridge.protocol.threads.records import ThreadKey, ThreadRecord
from agui_bridge.stores.base import Store

__all__ = ["KeptMessages"]

_FEWEST: Final = 100
"""Messages of a thread; to read fewer from the store costs next to nothing."""

_MOST_BYTES: Final = 16 * 1024 * 1024
"""Of all that is kept, as `_Kept.weight` takes them."""

_MESSAGE: Final = 700
"""Bytes that a message takes besides its text (measured: 573 with three members)."""


@dataclass(frozen=True, slots=True)
class _Kept:
    """Messages in context as one commit left them."""

    write_id: str
    messages: StoredMessages

    @property
    def weight(self) -> int:
        """About how many bytes they take in memory."""
        return _MESSAGE * len(self.messages) + self.messages.size


class KeptMessages:
    """Loads threads with their messages; of those that are kept, the record alone.

    Args:
        store: where the threads live.
        most_bytes: of what is kept; the thread that was idle longest goes first.
    """

    def __init__(self, store: Store, most_bytes: int = _MOST_BYTES) -> None:
        self._store = store
        self._most_bytes = most_bytes
        self._threads: OrderedDict[ThreadKey, _Kept] = OrderedDict()
        self.weight: int = 0

    @property
    def threads(self) -> list[ThreadKey]:
        """The threads whose messages are kept, the one that was idle longest first."""
        return list(self._threads)

    async def load(
        self, key: ThreadKey, interrupt_ids: Sequence[str] = (), receipt: str | None = None
    ) -> Loaded:
        """Take one consistent look at a thread, with its messages (see `Store.load`)."""
        if (kept := self._threads.get(key)) is not None:
            loaded = await self._store.load(key, interrupt_ids, receipt=receipt)
            if loaded.record is not None and loaded.record.write_id == kept.write_id:
                self._threads.move_to_end(key)
                return replace(loaded, messages=kept.messages)
            self._drop(key)
        loaded = await self._store.load(key, interrupt_ids, messages=True, receipt=receipt)
        messages = StoredMessages.of(loaded.messages)
        if loaded.record is not None and len(messages) >= _FEWEST:
            self._put(key, _Kept(loaded.record.write_id, messages))
        return replace(loaded, messages=messages)

    def keep(self, key: ThreadKey, record: ThreadRecord, history: History) -> None:
        """Keep what a run has stored, once its end is.

        Args:
            key: the thread.
            record: as the run committed it last.
            history: the run's; nothing changes it any more.
        """
        self._drop(key)
        if len(history.ids) < _FEWEST or record.run is not None:
            return
        if (messages := history.stored()) is not None:
            self._put(key, _Kept(record.write_id, messages))

    def _put(self, key: ThreadKey, kept: _Kept) -> None:
        self._drop(key)
        self._threads[key] = kept
        self.weight += kept.weight
        while self.weight > self._most_bytes:
            self._drop(next(iter(self._threads)))

    def _drop(self, key: ThreadKey) -> None:
        if (dropped := self._threads.pop(key, None)) is not None:
            self.weight -= dropped.weight
