"""What is told of a run that another process carries out: its text, as far as that is kept.

That process keeps it now and then, beside the thread (`engine/run/text_pace.py`). It is no message
of the thread yet: it may be longer by the time it is one, and then that counts.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from agui_bridge.engine.heavy_reads import HeavyReads
from agui_bridge.engine.streaming.event_stream import EventStream
from agui_bridge.protocol.lifecycle.made_events import delta_event, end_event, start_event
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.records import ThreadKey
from agui_bridge.stores.base import Store, StoredMessage

__all__ = ["RunElsewhere", "messages_so_far"]

Message = Mapping[str, Any]


def messages_so_far(loaded: Loaded, words: StoredMessage | None) -> list[Message]:
    """The messages of a thread, with the one that its run is saying.

    Args:
        loaded: the thread.
        words: what `Store.words` gave, asked for before the thread was loaded.
    """
    messages: list[Message] = [stored.message for stored in loaded.messages]
    stored = {message.id for message in loaded.messages}
    if words is not None and loaded.run is not None and words.id not in stored:
        messages.append(words.message)
    return messages


class RunElsewhere:
    """Tells one reader what a thread's runs are saying in other processes.

    A message is opened once, grows as what is kept of it does, and is closed when it is stored.

    Args:
        store: where the thread lives.
        reads: loads it whole.
        key: the thread.
        stream: the reader's.
    """

    def __init__(
        self, store: Store, reads: HeavyReads, key: ThreadKey, stream: EventStream
    ) -> None:
        self._store = store
        self._reads = reads
        self._key = key
        self._stream = stream
        self._open: dict[str, str] = {}
        # Told whole, or within the snapshot.
        self._told: set[str] = set()
        self._latest: str | None = None

    def shown(self, messages: Iterable[StoredMessage]) -> None:
        """Take note of the messages of the snapshot that the reader has."""
        self._told.update(message.id for message in messages)

    async def follow(self, over: Callable[[Loaded], bool]) -> None:
        """Tell what is said until something holds: when it changes, and once a second.

        What is open then stays open, for `end`.

        Args:
            over: whether there is nothing more to wait for, by what the thread is now.
        """
        async with contextlib.aclosing(self._store.watch(self._key)) as changes:
            async for _ in changes:
                if over(await self._store.load(self._key)):
                    return
                await self._look()
                await self._stream.drained()

    async def _look(self) -> None:
        words = await self._store.words(self._key)
        saying = words.id if words is not None else None
        if self._latest not in (None, saying):
            async with self._reads.whole(self._key) as loaded:
                self._close(loaded.messages)
        self._latest = saying
        if words is not None and words.id not in self._told:
            self._tell(words)

    def end(self, messages: Iterable[StoredMessage] = ()) -> None:
        """Close what is open: with the rest of it, where it is among the messages."""
        self._close(messages)
        for message_id in tuple(self._open):
            self._end(message_id)

    def _tell(self, words: StoredMessage) -> None:
        message, known = words.message, self._open.get(words.id)
        if known is None:
            start = {"messageId": words.id, "role": message["role"]}
            if "name" in message:
                start["name"] = message["name"]
            self._stream.send(start_event("text", start))
        self._grow(words.id, message["content"])

    def _grow(self, message_id: str, text: object) -> None:
        known = self._open.setdefault(message_id, "")
        # What was replaced meanwhile is put right by the snapshot at the end.
        if isinstance(text, str) and len(text) > len(known) and text.startswith(known):
            self._stream.send(delta_event("text", message_id, None, text[len(known) :]))
            self._open[message_id] = text

    def _close(self, messages: Iterable[StoredMessage]) -> None:
        if self._open:
            for stored in messages:
                if stored.id in self._open:
                    self._grow(stored.id, stored.message.get("content"))
                    self._end(stored.id)

    def _end(self, message_id: str) -> None:
        del self._open[message_id]
        self._told.add(message_id)
        self._stream.send(end_event("text", message_id, None))
