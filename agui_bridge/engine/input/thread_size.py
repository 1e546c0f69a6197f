"""The bound of a thread's size: what leaves the context at a claim, and what is told of it.

Source: docs/contract.md, "Size".
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable
from typing import Final

from agui_bridge.engine.input.past import Past
from agui_bridge.engine.input.starting_conversation import StartingConversation
from agui_bridge.engine.input.submission import Submission
from agui_bridge.frozen import dataclass
from agui_bridge.protocol.json_values import WireEvent, beyond
from agui_bridge.protocol.threads.history import History, StoredMessage
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.messages.archived import StoredMessages, size_of
from agui_bridge.protocol.threads.messages.sizes import SOON, bytes_of, oldest_turns, told_size

logger: Final = logging.getLogger("agui_bridge")

_MOST_PER_CHARACTER: Final = 6
"""Bytes that a character takes as JSON at most."""

_MESSAGE: Final = 512
"""Bytes that a message takes besides what its members hold, at most: their names."""


def bring(loaded: Loaded, submission: Submission, past: Past) -> StartingConversation:
    """What an input brings to its thread, unless that would not fit though all else left.

    Args:
        loaded: the thread.
        submission: the input.
        past: what else of the thread it is compared with.

    Raises:
        Refused: PAYLOAD_TOO_LARGE; nothing has changed.
    """
    incoming = StartingConversation.of(loaded, submission, past)
    brought = (*incoming.client.added, *incoming.client.late)
    most = submission.agent.settings.max_thread_bytes
    if brought and not _is_small(brought, most) and (size := bytes_of(brought)) > most:
        raise beyond(
            "PAYLOAD_TOO_LARGE",
            "messages",
            found=size,
            limit=most,
            unit="bytes as JSON",
            setting="max_thread_bytes",
        )
    return incoming


@dataclass(frozen=True, slots=True)
class ThreadSize:
    """How large a conversation is with which a run begins.

    Attributes:
        bytes: of its messages as JSON.
        most: how many it may have.
        left: the messages that left it for that, as they are stored.
    """

    bytes: int
    most: int
    left: tuple[StoredMessage, ...] = ()

    @classmethod
    def of(
        cls,
        history: History,
        incoming: StartingConversation,
        most: int,
        *,
        starts: bool,
        repairs: Iterable[WireEvent] = (),
    ) -> ThreadSize:
        """Measure a conversation, and take out of it what has to leave.

        Args:
            history: the conversation; the oldest turns are taken out of it.
            incoming: what the input brings.
            most: bytes of it as JSON.
            starts: whether the input begins a run; else it answers questions, and all stays.
            repairs: results that were supplied to it, as events.
        """
        began = StoredMessages.of(incoming.loaded.messages)
        brought = (*incoming.client.added, *incoming.client.late)
        if _is_small(brought, most, began.size + _MESSAGE * len(began)):
            return cls(0, most)
        left: list[StoredMessage] = []
        if starts:
            gone = oldest_turns(
                history.messages,
                most,
                stays=_staying(incoming, repairs),
                waits={*incoming.loaded.pending_calls, *incoming.returned},
            )
            left = history.archive(gone, "size")
        return cls(bytes_of(history.messages), most, tuple(left))

    @property
    def is_near(self) -> bool:
        """Whether people are told of it."""
        return bool(self.left) or self.bytes > self.most * SOON

    def told(self, thread: str) -> WireEvent | None:
        """The event that says that the bound is near, or was passed, if it is; the log has it too.

        Args:
            thread: the thread's id.
        """
        if not self.is_near:
            return None
        if self.left:
            logger.warning(
                "%d messages of thread %.80r have left the context and are archived: it would have "
                "taken more than %d bytes as JSON (max_thread_bytes); it takes %d now",
                *(len(self.left), thread, self.most, self.bytes),
            )
        else:
            logger.warning(
                "thread %.80r takes %d bytes as JSON; above %d (max_thread_bytes) its oldest turns "
                "leave the context",
                *(thread, self.bytes, self.most),
            )
        return told_size(self.bytes, self.most, len(self.left))


def _is_small(messages: Collection[dict[str, object]], most: int, more: int = 0) -> bool:
    """Whether messages are far from the bound, found out without making JSON of them."""
    stored = [StoredMessage("", 0, message) for message in messages]
    characters = more + size_of(stored) + _MESSAGE * len(stored)
    return characters * _MOST_PER_CHARACTER < most * SOON


def _staying(incoming: StartingConversation, repairs: Iterable[WireEvent]) -> set[str]:
    """Ids of the messages that this run is about."""
    record = incoming.loaded.record
    unheard = record.unheard if record is not None else ()
    brought = [message["id"] for message in incoming.client.added]
    supplied = [event["messageId"] for event in repairs if "messageId" in event]
    again = [incoming.client.again] if incoming.client.again is not None else []
    return {*unheard, *brought, *supplied, *again}
