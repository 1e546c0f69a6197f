"""What of a thread is not in context, as far as a client's list is compared with it.

A thread may have had more than a process can hold: of what left the context only that is looked at
which a list names, or says again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from agui_bridge.frozen import dataclass
from agui_bridge.protocol.threads.messages.stored import StoredMessage, StoredMessages

__all__ = ["PastMessages", "told_anew"]


@dataclass(frozen=True, slots=True)
class PastMessages:
    """Messages that left the context.

    Attributes:
        named: ids of those that a list holds.
        said: user messages that say what a message of an unseen id says in the list.
        archived: ids of those among both that left for the thread's size; the others were taken
            back.
    """

    named: frozenset[str] = frozenset()
    said: tuple[StoredMessage, ...] = ()
    archived: frozenset[str] = frozenset()

    @property
    def ids(self) -> frozenset[str]:
        """Ids of all."""
        return self.named.union(message.id for message in self.said)

    @property
    def taken_back(self) -> frozenset[str]:
        """Ids of those that were taken back."""
        return self.ids - self.archived


def told_anew(
    stored: StoredMessages, named: Iterable[str], listed: Sequence[Mapping[str, Any]]
) -> list[Mapping[str, Any]]:
    """The user messages of a list that may say again, under a new id, what left the context.

    Each has an id that was never had, and something that was had follows it in the list.

    Args:
        stored: the messages in context.
        named: ids of those out of it that the list holds.
        listed: the client's list.
    """
    had = {*named}
    last = -1
    for index, message in enumerate(listed):
        calls = [*(call["id"] for call in message.get("toolCalls") or ())]
        if (
            message["id"] in stored.by_id
            or message["id"] in had
            or any(call in stored.carriers for call in (*calls, message.get("toolCallId")))
        ):
            last = index
    return [
        message
        for message in listed[: max(last, 0)]
        if message.get("role") == "user"
        and message["id"] not in stored.by_id
        and message["id"] not in had
    ]
