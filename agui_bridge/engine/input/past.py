"""What an input is compared with besides the messages in context.

Source: docs/contract.md, "Going back".
"""

from __future__ import annotations

import json
import math
from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import field
from typing import Any, Final

from agui_bridge.engine.input.submission import Submission
from agui_bridge.frozen import dataclass, replace
from agui_bridge.protocol.threads.history import History
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.messages.archived import (
    PastMessages,
    StoredMessage,
    StoredMessages,
    told_anew,
)
from agui_bridge.protocol.threads.records import ThreadKey, ThreadRecord, ThreadStatus
from agui_bridge.stores.base import Place, QuestionFilter, Store

_PAGE: Final = 200

_PAGE_BYTES: Final = 4 * 1024 * 1024
"""Of a thread's messages that are looked at together."""


@dataclass(frozen=True, slots=True)
class Past:
    """What a thread has had.

    Attributes:
        messages: those that left the context.
        asked: ids of the calls that anybody was asked about.
    """

    messages: PastMessages = field(default_factory=PastMessages)
    asked: Collection[str] = ()


NO_PAST: Final = Past()


async def past_of(store: Store, loaded: Loaded, submission: Submission) -> Past:
    """Read what an input is to be compared with; most threads never went back, and have none.

    Args:
        store: where the thread lives.
        loaded: the thread, with its messages in context.
        submission: the input.

    Raises:
        StoreUnavailable: the store did not answer.
    """
    record = loaded.record
    if record is None or not submission.parsed.messages:
        return NO_PAST
    messages = PastMessages()
    if record.past is not False:
        messages = await _messages(store, loaded, submission, record.archived_until)
    asked: set[str] = set()
    if submission.agent.settings.going_back == "ungated" and loaded.status is ThreadStatus.IDLE:
        asked = await _asked(store, submission)
    return Past(messages, asked)


async def _messages(
    store: Store, loaded: Loaded, submission: Submission, archived_until: int | None
) -> PastMessages:
    """What a list names of what left the context, and what it says again."""
    stored, listed = StoredMessages.of(loaded.messages), submission.parsed.messages
    unseen = list(dict.fromkeys(m["id"] for m in listed if m["id"] not in stored.by_id))
    positions = await store.positions(submission.key, unseen) if unseen else {}
    said: list[StoredMessage] = []
    if anew := told_anew(stored, positions, listed):
        said = await _said_again(store, submission, stored, {_content(m) for m in anew})
    everywhere = {**positions, **{message.id: message.position for message in said}}
    until = -math.inf if archived_until is None else archived_until
    return PastMessages(
        named=frozenset(positions),
        said=tuple(said),
        archived=frozenset(id for id, position in everywhere.items() if position <= until),
    )


async def _said_again(
    store: Store, submission: Submission, stored: StoredMessages, contents: Collection[str]
) -> list[StoredMessage]:
    """The first user message of each content that left the context, page by page."""
    found: dict[str, StoredMessage] = {}
    before: int | None = None
    while page := await store.history(submission.key, before=before, most_bytes=_PAGE_BYTES):
        for message in reversed(page):
            if message.message["role"] == "user" and message.id not in stored.by_id:
                content = _content(message.message)
                if content in contents:
                    found[content] = message
        before = page[0].position
    return sorted(found.values(), key=lambda message: message.position)


def _content(message: Mapping[str, Any]) -> str:
    return json.dumps(message.get("content"), sort_keys=True)


async def _asked(store: Store, submission: Submission) -> set[str]:
    key, found = submission.key, set[str]()
    which = QuestionFilter(agent=key.agent, thread=key.thread)
    after: Place | None = None
    while True:
        rows = await store.list_interrupts(key.scope, which, after=after, limit=_PAGE)
        found |= {call for row in rows if (call := row.interrupt.call_id) is not None}
        if len(rows) < _PAGE:
            return found
        after = rows[-1].place


_FEWEST: Final = 100
"""Messages of a thread; to read fewer from the store costs next to nothing."""

_MOST_BYTES: Final = 16 * 1024 * 1024
"""Of all that is kept, as `_CachedMessages.weight` takes them."""

_MESSAGE: Final = 700
"""Bytes that a message takes besides its text (measured: 573 with three members)."""


@dataclass(frozen=True, slots=True)
class _CachedMessages:
    """Messages in context as one commit left them."""

    write_id: str
    messages: StoredMessages

    @property
    def weight(self) -> int:
        """About how many bytes they take in memory."""
        return _MESSAGE * len(self.messages) + self.messages.size


class MessageCache:
    """Loads threads with their messages; of those that are kept, the record alone.

    A thread's messages change by commits alone, and each commit has a random id of its own,
    which stands in the thread's record. The record is read anew for every input. If its commit
    is the one that these messages are of, they are what the store has, whoever wrote in
    between.

    Args:
        store: where the threads live.
        most_bytes: of what is kept; the thread that was idle longest goes first.
    """

    def __init__(self, store: Store, most_bytes: int = _MOST_BYTES) -> None:
        self._store = store
        self._most_bytes = most_bytes
        self._threads: OrderedDict[ThreadKey, _CachedMessages] = OrderedDict()
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
            self._put(key, _CachedMessages(loaded.record.write_id, messages))
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
            self._put(key, _CachedMessages(record.write_id, messages))

    def _put(self, key: ThreadKey, kept: _CachedMessages) -> None:
        self._drop(key)
        self._threads[key] = kept
        self.weight += kept.weight
        while self.weight > self._most_bytes:
            self._drop(next(iter(self._threads)))

    def _drop(self, key: ThreadKey) -> None:
        if (dropped := self._threads.pop(key, None)) is not None:
            self.weight -= dropped.weight
