"""What a framework with a history of its own can have of a conversation, and what it may lack.

A run that ends by itself has told its framework all of it. What was said by one that was stopped,
failed or lost, and the results that the bridge supplied since, the framework may not have.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from agui_bridge.frozen import dataclass
from agui_bridge.protocol.threads.messages.archived import (
    KnownCalls,
    StoredMessage,
    StoredMessages,
)


@dataclass(frozen=True, slots=True)
class CompletedPart:
    """How far the conversation was when a run last ended by itself.

    Attributes:
        until: position of its last message.
        open_calls: ids of the tool calls that had no result then.
    """

    until: int
    open_calls: tuple[str, ...] = ()

    @classmethod
    def of(cls, calls: KnownCalls, until: int) -> CompletedPart:
        """What a run leaves that ends by itself.

        Args:
            calls: those of the whole conversation.
            until: position of its last message.
        """
        return cls(until, tuple(call for call in calls.ids if call not in calls.answered))

    def before(self, stored: Sequence[StoredMessage], gone: Collection[str]) -> CompletedPart:
        """The same once messages are gone from the conversation.

        Args:
            stored: the messages of the conversation.
            gone: ids of those that leave it.
        """
        left = [m.position for m in stored if m.id not in gone and m.message["role"] != "tool"]
        return CompletedPart(min(self.until, max(left, default=0)), self.open_calls)

    def but(self, calls: Collection[str]) -> CompletedPart:
        """The same where the results of calls came later, in place of what was told of them."""
        return CompletedPart(self.until, tuple(dict.fromkeys((*self.open_calls, *calls))))

    @classmethod
    def lacks(
        cls,
        kept: CompletedPart | None,
        stored: Sequence[StoredMessage],
        now: Sequence[Mapping[str, Any]],
    ) -> set[str]:
        """Ids of the messages that a framework may lack: of the assistant, and results of calls.

        Args:
            kept: None where no run has ended by itself.
            stored: the conversation as it is stored.
            now: as it is now, with results that were supplied meanwhile.
        """
        known, until = StoredMessages.of(stored).by_id, kept.until if kept is not None else -1
        later = {m.id for m in stored[bisect_right(stored, until, key=lambda m: m.position) :]}
        open_calls = set(kept.open_calls) if kept is not None else set[str]()
        found: set[str] = set()
        for message in now:
            if message["role"] == "assistant" and message["id"] in later:
                found.add(message["id"])
                open_calls |= {call["id"] for call in message.get("toolCalls") or ()}
            elif message["role"] == "tool" and (
                message["toolCallId"] in open_calls or message["id"] not in known
            ):
                found.add(message["id"])
        return found
