"""A thread's messages and state, folded from wire events.

The messages are what ``@ag-ui/client`` 1.0.0 holds after the same events (its ``apply``),
so that a snapshot never surprises a client. Message dicts are never mutated: a change
makes a new one, and what was handed out stays as it was.
"""

from bisect import bisect
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import count
from types import EllipsisType, MappingProxyType
from typing import Any, Final

from agui_bridge.protocol.json_patch import apply_patch
from agui_bridge.protocol.json_values import WireEvent
from agui_bridge.protocol.threads.messages.archived import (
    KnownCalls,
    StoredMessage as StoredMessage,
    StoredMessages,
    archived_for,
    as_archived,
    marked_as,
)
from agui_bridge.protocol.threads.messages.entries import (
    Entries,
    StreamedMessage,
    renamed,
    some_of,
    with_encrypted,
    with_metadata,
    words_of,
)

STRIDE: Final = 10_000
"""The distance between the positions of two messages, with room for tool results."""

Rewritten = tuple[Mapping[str, Any], Mapping[str, Any]]
"""A message as it was told, and as the agent told it anew."""

TRUNCATED: Final[Mapping[str, Any]] = MappingProxyType({"agui_bridge": {"truncated": True}})
"""The metadata of a message whose streaming was stopped."""


class History:
    """The messages and the state of one thread while a run changes them."""

    def __init__(self, messages: Sequence[StoredMessage] = (), state: Any = None) -> None:
        """Begin with what is stored: the messages in context, sorted by position."""
        stored = StoredMessages.of(messages)
        self._entries = Entries(stored)
        self._carriers: dict[str, str] = {**stored.carriers}
        self._messages: list[dict[str, Any]] | None = None
        self._known: KnownCalls | None = stored.calls
        self._dropped: list[str] = []
        self._rewritten: dict[str, Mapping[str, Any]] = {}
        self._state = state
        self._state_dirty = False
        self._changed: Callable[[], None] | None = None

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The messages in their order, those still streaming as far as they have come.

        The list is not to be changed: it is kept until something changes the messages.
        """
        if self._messages is None:
            self._messages = self._entries.messages()
        return self._messages

    @property
    def ids(self) -> Collection[str]:
        """Ids of the messages, at any time."""
        return self._entries.ids

    @property
    def calls(self) -> KnownCalls:
        """Its tool calls: kept until one or a result comes, for a thread may be long."""
        if self._known is None:
            self._known = KnownCalls.of(entry.message for entry in self._entries.in_order())
        return self._known

    @property
    def state(self) -> Any:
        """The shared state, a JSON value that is never mutated."""
        return self._state

    @property
    def last_position(self) -> int:
        """Position of the last message that is no tool's result."""
        return self._entries.last

    def take_state(self) -> Any:
        """Return the state in order to store it."""
        self._state_dirty = False
        return self._state

    def take_dirty(self, *, include_open: bool = False) -> list[StoredMessage]:
        """Return the messages that have changed since the last time, in order.

        Those that are still streaming are left for later, or with ``include_open``
        returned as far as they have come.
        """
        taken = []
        for entry in self._entries.changing():
            if entry.dirty and (include_open or not entry.open):
                entry.dirty = False
                taken.append(entry.stored())
        return taken

    def is_stored(self, changed: Callable[[], None]) -> bool:
        """Whether all that has finished was taken; if so, the next event calls `changed`, once."""
        finished = any(entry.dirty and not entry.open for entry in self._entries.changing())
        self._changed = None if finished or self._state_dirty else changed
        return self._changed is not None

    def tell_next(self, changed: Callable[[], None]) -> None:
        """Have the next event call `changed`, once, whether or not all is taken."""
        self._changed = changed

    def stored(self) -> StoredMessages | None:
        """The messages as they are stored; None while not all that has changed is."""
        return None if self._dropped else self._entries.stored(self._carriers, self.calls)

    def take_rewritten(self, taken: Iterable[StoredMessage]) -> list[Rewritten]:
        """Return what a MESSAGES_SNAPSHOT wrote anew of the messages that `take_dirty` returned."""
        found: list[Rewritten] = []
        for message in taken:
            before, after = self._rewritten.get(message.id), message.message
            if before is not None and words_of(before) != words_of(after):
                found.append((before, after))
                # If it says more from here on, the last row is to tell of that, too.
                self._rewritten[message.id] = after
        return found

    def put_back(
        self,
        messages: Sequence[StoredMessage],
        rewritten: Iterable[Rewritten] = (),
        dropped: Iterable[str] = (),
    ) -> None:
        """Take back what was taken, because it could not be stored."""
        for message in messages:
            if (entry := self._entries.get(message.id)) is not None:
                entry.dirty = True
        self._rewritten.update((before["id"], before) for before, _ in rewritten)
        self._dropped += dropped

    def said_so_far(self, most: int) -> StoredMessage | None:
        """The assistant's message that is streamed now, without its tool calls; None if none is.

        Of several the last. A message of a subagent is left out: it is told with what began that.

        Args:
            most: characters of it at most.
        """
        for entry in reversed(self._entries.changing()):
            if entry.open and entry.message["role"] == "assistant":
                text = entry.settle().get("content")
                if isinstance(text, str) and text and "subagentRunId" not in entry.message:
                    told = some_of(entry.message, "id", "role", "name", "metadata")
                    return StoredMessage(entry.id, entry.position, {**told, "content": text[:most]})
        return None

    def take_up(self, said: StoredMessage) -> None:
        """Add what `said_so_far` gave of a run that was lost since, marked as cut off.

        What stands there already and is as long stays as it is.
        """
        text, entry = said.message["content"], self._entries.get(said.id)
        if entry is None:
            entry = self._put(StreamedMessage(said.position, {**said.message}))
        else:
            stands = entry.settle().get("content") or ""
            if not isinstance(stands, str) or len(stands) >= len(text):
                return
            entry.change(content=text)
            self._messages = None
        entry.merge_metadata(TRUNCATED)

    def truncate_open(self) -> list[StoredMessage]:
        """Mark the messages that are still streaming as cut off; return them as they are.

        To be called before the events that close them are applied.
        """
        self._messages = None
        cut = [entry for entry in self._entries.changing() if entry.open]
        for entry in cut:
            entry.merge_metadata(TRUNCATED)
        return [entry.stored() for entry in cut]

    def take_dropped(self) -> list[str]:
        """Return the ids of messages that a MESSAGES_SNAPSHOT has removed since the last time."""
        dropped, self._dropped = self._dropped, []
        return [message_id for message_id in dropped if message_id not in self._entries]

    def archive(self, ids: Sequence[str], reason: str) -> list[StoredMessage]:
        """Take messages out, and return them as they are to be stored: marked, if none was yet.

        Args:
            ids: of the messages.
            reason: why they leave the context.
        """
        if not ids:
            return []
        self._messages = self._known = None
        taken = self._entries.remove(ids)
        gone = {*ids}
        self._carriers = {call: id for call, id in self._carriers.items() if id not in gone}
        return [
            stored
            if archived_for(stored.message) is not None
            else stored._replace(message=as_archived(stored.message, reason))
            for stored in taken
        ]

    def add(self, message: dict[str, Any]) -> None:
        """Add a message that a client sent: a tool's result to its call, others at the end.

        A message whose id is taken is not added.
        """
        if message["id"] in self._entries:
            return
        if message["role"] == "tool":
            self._insert_result(message)
        else:
            self._append(message)

    def rewrite_call(self, call_id: str, rewrite: Callable[[dict[str, Any]], Any]) -> None:
        """Put what `rewrite` makes of the message that has a call in its place, if there is one."""
        if (entry := self._carrier_of(call_id)) is not None:
            self._messages = self._known = None
            entry.put(rewrite(entry.settle()))

    def rewrite(self, message_id: str, rewrite: Callable[[dict[str, Any]], Any]) -> None:
        """Put what `rewrite` makes of a message in its place, if there is one."""
        if (entry := self._entries.get(message_id)) is not None:
            self._messages = None
            entry.put(rewrite(entry.settle()))

    def replace_result(self, call_id: str, content: Any) -> None:
        """Give a call's result another content, if it has one."""
        for message in self.messages:
            if message.get("toolCallId") == call_id:
                self.rewrite(message["id"], lambda found: {**found, "content": content})
                return

    def apply(self, event: WireEvent) -> None:
        """Fold one event in; those without messages or state in them change nothing.

        Raises:
            PatchError: A delta does not fit; nothing has changed.
        """
        apply = _APPLY.get(event["type"])
        if apply is not None:
            self._messages = None
            apply(self, event)
            if self._changed is not None:
                self._tell_changed()

    def add_text(self, message_id: str, delta: str) -> None:
        """Add to the text of a message that is open: `apply` of a delta of nothing but it."""
        self._messages = None
        entry = self._entries.get(message_id)
        if entry is not None:
            if entry.text is None:
                entry.text = []
            entry.text.append(delta)
            entry.dirty = True
        if self._changed is not None:
            self._tell_changed()

    def _tell_changed(self) -> None:
        if self._changed is not None:
            changed, self._changed = self._changed, None
            changed()

    def _carrier_of(self, call_id: str) -> StreamedMessage | None:
        """The message that has a call, in order to change it."""
        carrier = self._carriers.get(call_id)
        return self._entries.get(carrier) if carrier is not None else None

    def _append(self, message: dict[str, Any]) -> StreamedMessage:
        return self._put(StreamedMessage((self._entries.last // STRIDE + 1) * STRIDE, message))

    def _put(self, entry: StreamedMessage) -> StreamedMessage:
        message = entry.message
        self._messages = None
        if message["id"] in self._entries or message["role"] == "tool" or message.get("toolCalls"):
            self._known = None
        self._entries.put(entry)
        for call in message.get("toolCalls") or ():
            self._carriers[call["id"]] = message["id"]
        return entry

    def _insert_result(self, message: dict[str, Any]) -> StreamedMessage:
        """Put a tool's result after its assistant message and the results that follow it."""
        carrier = self._carriers.get(message["toolCallId"])
        if carrier is None:
            return self._append(message)
        entries, after = self._entries.in_order(), self._entries.look(carrier).position
        index = bisect(entries, after, key=lambda entry: entry.position)
        while index < len(entries) and entries[index].message["role"] == "tool":
            index += 1
        position = entries[index - 1].position + 1
        if index < len(entries) and position >= entries[index].position:
            # No room is left: what follows moves on.
            self._entries.move(index, count((position // STRIDE + 1) * STRIDE, STRIDE))
        return self._put(StreamedMessage(position, message))

    # Text and reasoning messages.

    def _start_text(self, event: WireEvent) -> None:
        entry = self._entries.get(event["messageId"])
        if entry is None:
            role = "reasoning" if event["type"] == "REASONING_MESSAGE_START" else "assistant"
            message = {"id": event["messageId"], "role": event.get("role", role), "content": ""}
            entry = self._append(message | some_of(event, "name", "subagentRunId"))
        if entry.message["role"] != "activity":
            entry.open |= {""}
            entry.merge_metadata(event.get("metadata"))

    def _append_text(self, event: WireEvent) -> None:
        entry = self._entries.get(event["messageId"])
        if entry is not None and entry.message["role"] != "activity":
            if entry.text is None:
                entry.text = []
            entry.text.append(event["delta"])
            entry.dirty = True
            if "metadata" in event:
                entry.merge_metadata(event["metadata"])

    def _end_text(self, event: WireEvent) -> None:
        entry = self._entries.get(event["messageId"])
        if entry is not None:
            entry.open -= {""}
            entry.merge_metadata(event.get("metadata"))

    # Tool calls.

    def _start_call(self, event: WireEvent) -> None:
        call_id, name = event["toolCallId"], event["toolCallName"]
        entry = self._carrier_of(call_id)
        if entry is None:
            entry = self._carrier(event)
            call = {"id": call_id, "type": "function", "function": {"name": name, "arguments": ""}}
            call |= some_of(event, "metadata")
            entry.change(toolCalls=[*(entry.settle().get("toolCalls") or ()), call])
            self._carriers[call_id], self._known = entry.message["id"], None
        else:
            entry.change_call(call_id, lambda call: with_metadata(renamed(call, name), event))
        entry.open |= {call_id}

    def _carrier(self, event: WireEvent) -> StreamedMessage:
        parent, call_id = event.get("parentMessageId"), event["toolCallId"]
        found = self._entries.get(parent) if parent else None
        if found is not None and found.message["role"] == "assistant":
            return found
        message_id = parent if parent and found is None else call_id
        message = {"id": message_id, "role": "assistant", "toolCalls": []}
        return self._append(message | some_of(event, "subagentRunId"))

    def _append_arguments(self, event: WireEvent) -> None:
        entry = self._carrier_of(event["toolCallId"])
        if entry is not None:
            if entry.arguments is None:
                entry.arguments = {}
            entry.arguments.setdefault(event["toolCallId"], []).append(event["delta"])
            entry.dirty = True
            if "metadata" in event:
                entry.change_call(event["toolCallId"], lambda call: with_metadata(call, event))

    def _end_call(self, event: WireEvent) -> None:
        entry = self._carrier_of(event["toolCallId"])
        if entry is not None:
            entry.open -= {event["toolCallId"]}
            if "metadata" in event:
                entry.change_call(event["toolCallId"], lambda call: with_metadata(call, event))

    def _result(self, event: WireEvent) -> None:
        message = {
            "id": event["messageId"],
            "toolCallId": event["toolCallId"],
            "role": event.get("role", "tool"),
            "content": event["content"],
        }
        self._insert_result(message | some_of(event, "subagentRunId", "metadata"))

    def _encrypted(self, event: WireEvent) -> None:
        entity = event["entityId"]
        if event["subtype"] == "tool-call":
            if entry := self._carrier_of(entity):
                entry.change_call(entity, lambda call: with_encrypted(call, event))
        elif (found := self._entries.get(entity)) and found.message["role"] != "activity":
            found.put(with_encrypted(found.settle(), event))

    # Activities, state, snapshots.

    def _activity(self, event: WireEvent) -> None:
        entry = self._entries.get(event["messageId"])
        replace = event.get("replace", True)
        message = {
            "id": event["messageId"],
            "role": "activity",
            "activityType": event["activityType"],
            "content": event["content"],
        } | some_of(event, "subagentRunId")
        if entry is None:
            entry = self._append(message)
        elif replace:
            kept = some_of(entry.message, "metadata") if entry.message["role"] == "activity" else {}
            held = self._carriers.items()
            self._carriers = {call: id for call, id in held if id != message["id"]}
            entry = self._put(StreamedMessage(entry.position, message | kept))
        entry.merge_metadata(event.get("metadata"))

    def _patch_activity(self, event: WireEvent) -> None:
        entry = self._entries.get(event["messageId"])
        if entry is not None and entry.message["role"] == "activity":
            content = apply_patch(entry.message.get("content") or {}, event["patch"])
            entry.merge_metadata(event.get("metadata"))
            entry.change(content=content, activityType=event["activityType"])

    def _set_state(self, event: WireEvent) -> None:
        self._state, self._state_dirty = event["snapshot"], True

    def _patch_state(self, event: WireEvent) -> None:
        state = {} if self._state is None else self._state
        self._state, self._state_dirty = apply_patch(state, event["delta"]), True

    def _snapshot(self, event: WireEvent) -> None:
        """Reconcile with a snapshot: same ids are replaced, others dropped, new ones added.

        Reasoning, and activities, stay when the snapshot says nothing about them; so does what is
        archived, which no agent is sent, and what it says about one does not bring it back.
        """
        incoming = {message["id"]: message for message in event["messages"]}
        roles = {message["role"] for message in incoming.values()}
        types = _authoritative_types(event)

        def stays(message: dict[str, Any]) -> bool:
            if archived_for(message) is not None:
                return True
            if message["role"] == "reasoning":
                return "reasoning" not in roles
            if message["role"] != "activity":
                return False
            if types is ...:
                return "activity" not in roles
            return types is not None and message["activityType"] not in types

        before = self._entries.take()
        self._carriers, self._known = {}, None
        for entry in before:
            message_id = entry.message["id"]
            if message_id in incoming:
                said = dict(marked_as(incoming.pop(message_id), entry.message))
                replaced = StreamedMessage(entry.position, said, open=entry.open)
                replaced.dirty = entry.dirty or said != entry.settle()
                if said["role"] != "activity" and words_of(said) != words_of(entry.settle()):
                    self._rewritten.setdefault(message_id, entry.message)
                self._put(replaced)
            elif stays(entry.message):
                self._put(entry)
            else:
                self._dropped.append(message_id)
                self._rewritten.pop(message_id, None)
        for message in incoming.values():
            self._append(message)


def _authoritative_types(snapshot: WireEvent) -> Sequence[str] | EllipsisType | None:
    """Return which activity types a snapshot speaks for: None for all, ... if it says nothing."""
    said = snapshot.get("metadata", {}).get("@ag-ui/client", ...)
    if said is ...:
        return ...
    types = said.get("authoritativeActivityTypes", ...) if isinstance(said, dict) else []
    well_formed = isinstance(types, list) and all(isinstance(kind, str) for kind in types)
    return types if types is None or types is ... or well_formed else []


_APPLY: Final[dict[str, Callable[[History, WireEvent], None]]] = {
    "TEXT_MESSAGE_START": History._start_text,
    "TEXT_MESSAGE_CONTENT": History._append_text,
    "TEXT_MESSAGE_END": History._end_text,
    "REASONING_MESSAGE_START": History._start_text,
    "REASONING_MESSAGE_CONTENT": History._append_text,
    "REASONING_MESSAGE_END": History._end_text,
    "REASONING_ENCRYPTED_VALUE": History._encrypted,
    "TOOL_CALL_START": History._start_call,
    "TOOL_CALL_ARGS": History._append_arguments,
    "TOOL_CALL_END": History._end_call,
    "TOOL_CALL_RESULT": History._result,
    "ACTIVITY_SNAPSHOT": History._activity,
    "ACTIVITY_DELTA": History._patch_activity,
    "STATE_SNAPSHOT": History._set_state,
    "STATE_DELTA": History._patch_state,
    "MESSAGES_SNAPSHOT": History._snapshot,
}
