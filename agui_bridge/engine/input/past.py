"""What an input is compared with besides the messages in context.

Source: docs/contract.md, "Going back".
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping
from dataclasses import field
from typing import Any, Final

from agui_bridge.engine.input.submission import Submission
from agui_bridge.frozen import dataclass
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.messages.past import PastMessages, told_anew
from agui_bridge.protocol.threads.messages.stored import StoredMessage, StoredMessages
from agui_bridge.protocol.threads.records import ThreadStatus
from agui_bridge.stores.base import Place, Store

__all__ = ["NO_PAST", "Past", "past_of"]

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
    after: Place | None = None
    while True:
        rows = await store.list_interrupts(
            key.scope, agent=key.agent, thread=key.thread, after=after, limit=_PAGE
        )
        found |= {call for row in rows if (call := row.interrupt.call_id) is not None}
        if len(rows) < _PAGE:
            return found
        after = rows[-1].place
