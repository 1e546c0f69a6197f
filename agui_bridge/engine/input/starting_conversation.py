"""The conversation that a run begins with: what is stored, and what the input adds.

Source: docs/contract.md, "Messages and state".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from agui_bridge.engine.input.submission import Submission
from agui_bridge.frozen import dataclass
from agui_bridge.protocol.json_values import WireEvent, copied
from agui_bridge.protocol.threads.client_messages import (
    ClientMessages,
    merge_client_messages,
    merge_for_client_history,
)
from agui_bridge.protocol.threads.content_parts import with_unknown_parts
from agui_bridge.protocol.threads.history import History, StoredMessage
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.messages.stored import StoredMessages
from agui_bridge.protocol.threads.records import Json, ThreadStatus
from agui_bridge.protocol.verifier.shapes import wire_names

__all__ = ["StartingConversation"]


@dataclass(frozen=True, slots=True)
class StartingConversation:
    """What an input brings to a thread, worked out before admission.

    Attributes:
        client: what counts of the client's list.
        sent: the client's list itself.
    """

    loaded: Loaded
    client: ClientMessages
    sent: tuple[dict[str, Json], ...]

    @classmethod
    def of(cls, loaded: Loaded, submission: Submission) -> StartingConversation:
        """Compare the client's list with what is stored.

        Only an idle thread can be gone back in: while a question is open, what follows the
        client's last message includes the very call that it is about.
        """
        sent = tuple(
            _known_members(raw, message)
            for raw, message in zip(
                submission.parsed.messages, submission.parsed.input.messages, strict=True
            )
        )
        client = merge_client_messages(
            loaded.messages,
            sent,
            pending_calls=loaded.pending_calls,
            allow_rewind=loaded.status is ThreadStatus.IDLE and not submission.parsed.entries,
        )
        return cls(loaded, client, sent)

    @property
    def has_new_message(self) -> bool:
        """Whether there is a user message of an id that the store lacks."""
        return any(message["role"] == "user" for message in self.client.added)

    def said(self) -> list[StoredMessage]:
        """What people newly say, as it is stored behind what was said before."""
        if not self.has_new_message:
            return []
        history = History(self.loaded.messages)
        for message in self.client.added:
            if message["role"] == "user":
                history.add(message)
        return history.take_dirty()

    @property
    def results(self) -> dict[str, Any]:
        """The frontend's tool results, content by tool call id."""
        return {m["toolCallId"]: m["content"] for m in self.client.added if m["role"] == "tool"}

    @property
    def handoff(self) -> Json:
        """What an adapter needs to go on with the frontend's results, if it waits for any."""
        record = self.loaded.record
        return record.handoff if record is not None else None

    @property
    def awaits_handoff(self) -> bool:
        """Whether a handoff still goes on with what it left: calls that were approved before it."""
        record = self.loaded.record
        if record is None or record.handoff is None:
            return False
        return any(
            call["id"] in record.pending_calls
            for stored in self.loaded.messages
            if stored.id not in self.client.superseded
            for call in stored.message.get("toolCalls") or ()
        )

    def unseen_results(self) -> list[WireEvent]:
        """Stored results of calls that the client's list has, and which it lacks, as events."""
        listed = {message["id"] for message in self.sent}
        if listed.isdisjoint(StoredMessages.of(self.loaded.messages).by_id):
            return []
        called = {
            call["id"]
            for stored in self.loaded.messages
            if stored.id in listed
            for call in stored.message.get("toolCalls") or ()
        }
        return [
            {
                "type": "TOOL_CALL_RESULT",
                "messageId": stored.id,
                "toolCallId": stored.message["toolCallId"],
                "content": stored.message["content"],
                "role": "tool",
            }
            for stored in self.loaded.messages
            if stored.message["role"] == "tool"
            and stored.id not in listed
            and stored.id not in self.client.superseded
            and stored.message["toolCallId"] in called
        ]

    def open_history(self, *, rewind: bool) -> History:
        """The stored messages with the new ones added, as the run's own history."""
        record, messages = self.loaded.record, self.loaded.messages
        if rewind and (gone := set(self.client.superseded)):
            messages = tuple(message for message in messages if message.id not in gone)
        history = History(messages, record.state if record is not None else None)
        for message in self.client.added:
            history.add(message)
        return history

    def shows_all(self, shown: Sequence[Mapping[str, Json]]) -> bool:
        """Whether an agent is shown all that was said before, as it was said.

        Where the client's list is the context, it may have gone back in it unseen.
        """
        before = [m.message for m in self.loaded.messages if m.id not in self.client.superseded]
        seen = _said(shown)
        return all(seen.get(id, ...) == content for id, content in _said(before).items())

    def for_agent(self, history: History, mode: str) -> list[Mapping[str, Json]]:
        """The conversation as the agent sees it, by the agent's history setting."""
        if mode == "server":
            return list(history.messages)
        record = self.loaded.record
        now = {message["id"]: message for message in history.messages}
        return list(
            merge_for_client_history(
                [
                    stored._replace(message=now.get(stored.id, stored.message))
                    for stored in self.loaded.messages
                ],
                self.sent,
                pending_calls=record.pending_calls if record is not None else (),
            )
        )


def _said(messages: Iterable[Mapping[str, Json]]) -> dict[str, Json]:
    """What people and the agent said, by message id."""
    return {m["id"]: m.get("content") for m in messages if m["role"] in ("user", "assistant")}


def _known_members(raw: Mapping[str, Json], message: BaseModel) -> dict[str, Json]:
    """A client's message with the members that its role has, in their wire names, none null.

    What else it carries is not checked, and would be believed once stored: a user message
    with `toolCalls`, for one. Most messages are clean, and are not dumped again; one of parts
    may hold a null deeper down, which clients refuse.
    """
    plain = not any(item is None or isinstance(item, list) for item in raw.values())
    described = wire_names(type(message))
    if plain and raw.keys() <= described:
        # A copy: agents get the input too, and may write into it.
        own: dict[str, Json] = copied(raw)
        return own
    unknown = (message.model_extra or {}).keys() - described
    known = message.model_dump(mode="json", by_alias=True, exclude=unknown)
    return with_unknown_parts(known, raw)
