"""The conversation that a run begins with: what is stored, and what the input adds.

Source: docs/contract.md, "Messages and state".
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

from pydantic import BaseModel

from agui_bridge.engine.input.past import NO_PAST, Past
from agui_bridge.engine.input.submission import Submission
from agui_bridge.frozen import dataclass
from agui_bridge.protocol.answers.unexecuted import NOT_GIVEN
from agui_bridge.protocol.json_values import WireEvent, copied
from agui_bridge.protocol.threads.client_messages import (
    ClientMessages,
    GoingBack,
    merge_client_messages,
    merge_for_client_history,
)
from agui_bridge.protocol.threads.content_parts import (
    with_own_member,
    with_unknown_parts,
    without_own,
)
from agui_bridge.protocol.threads.history import History, StoredMessage
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.messages.archived import (
    StoredMessages,
    archived_for,
    calls_of,
    in_context,
    left_out,
)
from agui_bridge.protocol.threads.messages.taken_back import taken_back_calls, told_alone
from agui_bridge.protocol.threads.records import Json, ThreadStatus
from agui_bridge.protocol.turns import result_of
from agui_bridge.protocol.verifier.shapes import wire_names


@dataclass(frozen=True, slots=True)
class StartingConversation:
    """What an input brings to a thread, worked out before admission.

    Attributes:
        client: what counts of the client's list.
        sent: the client's list itself, with a message for what was done in its page.
        actor: who sends it.
        read_only: names of the agent's tools that only look.
        archived: ids of the messages of that list that left the context for the thread's size.
    """

    loaded: Loaded
    client: ClientMessages
    sent: tuple[dict[str, Json], ...]
    actor: str
    read_only: frozenset[str]
    archived: frozenset[str] = frozenset()

    @classmethod
    def of(
        cls, loaded: Loaded, submission: Submission, past: Past = NO_PAST
    ) -> StartingConversation:
        """Compare the client's list with what is stored.

        Only an idle thread can be gone back in: while a question is open, what follows the
        client's last message includes the very call that it is about.

        Args:
            loaded: the thread, with its messages.
            submission: the input.
            past: what of the thread is not in context.
        """
        agent, actor = submission.agent, submission.principal.actor
        sent = tuple(
            _known_members(raw, message)
            for raw, message in zip(
                submission.parsed.messages, submission.parsed.input.messages, strict=True
            )
        )
        sent = with_actions(sent, agent.settings.page_actions, loaded)
        back = GoingBack(
            allowed=loaded.status is ThreadStatus.IDLE and not submission.parsed.entries,
            policy=agent.settings.going_back,
            sign=submission.parsed.newest,
            actor=actor,
            begun_by=loaded.record.begun_by if loaded.record is not None else None,
            read_only=agent.read_only_tools,
            asked=past.asked.__contains__,
        )
        client = merge_client_messages(
            loaded.messages,
            sent,
            pending_calls=loaded.pending_calls,
            back=back,
            past=past.messages,
            not_given=NOT_GIVEN,
            begins=loaded.record is None,
        )
        archived = past.messages.archived
        return cls(loaded, client, sent, actor, agent.read_only_tools, archived)

    @property
    def has_new_message(self) -> bool:
        """Whether there is a user message of an id that the store lacks."""
        return any(message["role"] == "user" for message in self.client.added)

    @property
    def has_user_message(self) -> bool:
        """Whether a person says something, newly or again."""
        return self.has_new_message or self.client.again is not None

    @property
    def brings_part(self) -> bool:
        """Whether it brings no more than some of the results that the thread waits for."""
        record = self.loaded.record
        if record is None or self.has_user_message or not (self.client.added or self.client.late):
            return False
        waits = {*record.pending_calls} - {*record.returned}
        return not self.client.added or bool(waits - self._brought.keys())

    @property
    def keeps(self) -> Sequence[StoredMessage]:
        """The results that it brings, as they are stored until the others are here."""
        history = self.open_history(rewind=False)
        return history.take_dirty()

    def said(self) -> list[StoredMessage]:
        """What people newly say, as it is stored behind what was said before."""
        if not self.has_new_message:
            return []
        history = History(self.loaded.messages)
        self._add(history, (m for m in self.client.added if m["role"] == "user"))
        return history.take_dirty()

    @property
    def results(self) -> dict[str, Any]:
        """The frontend's tool results, by tool call id, with what they say of an error.

        Those that were kept until now are among them.
        """
        record = self.loaded.record
        if not self._brought or record is None or not record.returned:
            return self._brought
        kept = {
            stored.message["toolCallId"]: result_of(stored.message)
            for stored in self.loaded.messages
            if stored.message.get("toolCallId") in record.returned
        }
        return {**kept, **self._brought}

    @property
    def _brought(self) -> dict[str, Any]:
        return {m["toolCallId"]: result_of(m) for m in self.client.added if m["role"] == "tool"}

    @property
    def _carries(self) -> bool:
        """Whether calls that people approved wait for the application's results."""
        calls = StoredMessages.of(self.loaded.messages).calls
        return bool({*calls.ids} - calls.answered - {*self.loaded.pending_calls})

    @property
    def returned(self) -> tuple[str, ...]:
        """Frontend calls whose results came before this input."""
        return self.loaded.record.returned if self.loaded.record is not None else ()

    @property
    def not_given(self) -> tuple[str, ...]:
        """Frontend calls whose results nobody waits for any more: a person writes on instead.

        What was approved before the application was asked is carried out once its results are
        here, and waits for them whatever is said meanwhile.
        """
        if not self.has_user_message or (self.handoff is not None and self._carries):
            return ()
        record = self.loaded.record
        have = {*self.results, *(record.returned if record is not None else ())}
        return tuple(call for call in self.loaded.pending_calls if call not in have)

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

    @property
    def has_dangling(self) -> bool:
        """Whether the store has a call that nothing answered, and no client is to answer."""
        calls = StoredMessages.of(self.loaded.messages).calls
        others = {*calls.answered, *self.loaded.pending_calls}
        return any(call not in others for call in calls.ids)

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
        self._add(history, self.client.added)
        for message in self.client.late:
            history.replace_result(message["toolCallId"], message["content"])
        if rewind and self.client.superseded:
            self._note_taken_back(history)
        return history

    def _add(self, history: History, messages: Iterable[dict[str, Json]]) -> None:
        """Add messages of the client, with who sent them where somebody else began the thread."""
        record = self.loaded.record
        another = record is not None and record.begun_by not in (None, self.actor)
        for message in messages:
            history.add(with_own_member(message, "actor", self.actor) if another else message)

    def _note_taken_back(self, history: History) -> None:
        """Note with the message that goes back which calls it takes out of the context."""
        calls = taken_back_calls(self.loaded.messages, set(self.client.superseded), self.read_only)
        said = [m["id"] for m in self.client.added if m["role"] == "user"]
        message = said[0] if said else self.client.again
        if calls and message is not None:
            history.rewrite(message, lambda found: with_own_member(found, "takenBack", calls))

    def is_level(self, history: History, *, has_state: bool) -> bool:
        """Whether the client has all that the thread has now.

        So it is where its list equals the thread's by id and content, or holds nothing but new
        messages: a client that keeps no list misses nothing. What was archived for the thread's
        size it may have or not.

        Args:
            history: the conversation that the run begins with.
            has_state: whether the state came with the input.
        """
        new = {message["id"] for message in self.client.added}
        listed = [message["id"] for message in self.sent if message["role"] in _TOLD]
        if self.loaded.record is None or (new.issuperset(listed) and not self.client.kept):
            return True
        if not has_state and history.state not in (None, {}):
            return False
        sent = [message for message in self.sent if message["id"] not in self.archived]
        return _as_told(sent) == _as_told(history.messages)

    def told_alone(self, history: History) -> int | None:
        """How many messages the client is told before it is told all, if it has to be."""
        new = {message["id"] for message in self.client.added}
        return told_alone(history.messages, [message["id"] for message in self.sent], new)

    def shows_all(self, shown: Sequence[Mapping[str, Json]]) -> bool:
        """Whether an agent is shown all that it was shown before, as it was said, and no more.

        Where the client's list is the context, it may have gone back in it unseen. What was
        archived before is brought again by its page alone.
        """
        before = [m.message for m in self.loaded.messages if m.id not in self.client.superseded]
        out, seen = left_out(before), _said(shown)
        told = _said(in_context(before, out))
        return out.isdisjoint(seen) and all(seen.get(id, ...) == told[id] for id in told)

    def left_out(self, history: History, *, starts: bool) -> frozenset[str]:
        """Ids of the messages that stand in the thread, and that its agent is not sent.

        An archived message that is brought again is tried again; not while a question is open.

        Args:
            history: the conversation that the run begins with.
            starts: whether the input begins a run, and does not answer the questions of one.
        """
        return left_out(history.messages, self.client.again if starts else None)

    @property
    def tried_again(self) -> str | None:
        """Id of the archived message that the input brings again, if it brings one."""
        stored = StoredMessages.of(self.loaded.messages).by_id.get(self.client.again or "")
        tried = stored is not None and archived_for(stored.message) is not None
        return self.client.again if tried else None

    def for_agent(
        self, history: History, mode: str, out: Collection[str]
    ) -> list[Mapping[str, Json]]:
        """The conversation as the agent sees it, by the agent's history setting.

        Args:
            history: the conversation that the run begins with.
            mode: who keeps it, `server` or `client`.
            out: what `left_out` gave.
        """
        if mode == "server":
            return in_context(history.messages, out) if out else list(history.messages)
        record = self.loaded.record
        now = {message["id"]: message for message in history.messages}
        leave = {stored.id for stored in self.loaded.messages if stored.id not in now}
        return list(
            merge_for_client_history(
                [
                    stored._replace(message=now.get(stored.id, stored.message))
                    for stored in self.loaded.messages
                ],
                [message for message in self.sent if message["id"] not in self.archived],
                pending_calls=record.pending_calls if record is not None else (),
                left_out=leave.union(out),
            )
        )


_TOLD = frozenset({"user", "assistant", "tool"})
"""Roles of the messages that every client keeps."""


def _as_told(messages: Iterable[Mapping[str, Json]]) -> list[Json]:
    """What clients have of a conversation: ids, contents and calls.

    They are in order, but for results that follow one another: clients have those in the order of
    their calls.
    """
    told = (message for message in messages if message["role"] in _TOLD)
    found: list[Json] = []
    for are_results, together in groupby(told, lambda message: message["role"] == "tool"):
        rows = [_row(message) for message in together]
        found += sorted(rows, key=itemgetter(0)) if are_results else rows
    return found


def _row(message: Mapping[str, Json]) -> list[Json]:
    calls = message.get("toolCalls") or ()
    return [
        message["id"],
        message.get("content") or "",
        [[call["id"], call["function"]["name"], call["function"]["arguments"]] for call in calls],
    ]


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
        own: dict[str, Json] = without_own(copied(raw))
        return own
    unknown = (message.model_extra or {}).keys() - described
    known = message.model_dump(mode="json", by_alias=True, exclude=unknown)
    return with_unknown_parts(without_own(known), raw)


Message = dict[str, Any]


def with_actions(
    sent: tuple[Message, ...], names: Collection[str], loaded: Loaded
) -> tuple[Message, ...]:
    """A client's list with a user message in place of each action's result.

    AG-UI's A2UI middleware writes a click in a surface into the client's list as an assistant's
    call of `log_a2ui_event` and its result. Neither is an assistant's word: the agent hears of
    it as a message of the person, once for each call. Source: docs/contract.md, I3 and I4.

    Args:
        sent: the list.
        names: of the tools as whose calls actions are told.
        loaded: the thread: a call that it has is no action.
    """
    if not names:
        return sent
    actions = {
        call["id"]: call["function"]
        for call in calls_of(message for message in sent if message.get("role") == "assistant")
        if call["function"]["name"] in names
    }
    if not actions:
        return sent
    carriers = StoredMessages.of(loaded.messages).carriers
    return tuple(
        _as_message(message, actions[call])
        if (call := message.get("toolCallId")) in actions and call not in carriers
        else message
        for message in sent
    )


def _as_message(result: Mapping[str, Any], function: Mapping[str, Any]) -> Message:
    call, name, arguments = result["toolCallId"], function["name"], function["arguments"]
    message = {
        "id": f"action:{call}",
        "role": "user",
        "content": _text(result.get("content")) or f"{name} {arguments}",
    }
    action = {"name": name, "toolCallId": call, "arguments": _value(arguments)}
    return with_own_member(message, "action", action)


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    parts: Sequence[Any] = content if isinstance(content, list) else ()
    return "".join(part["text"] for part in parts if part.get("type") == "text")


def _value(arguments: str) -> Any:
    """What the arguments say; their text where that is no JSON."""
    try:
        return json.loads(arguments)
    except ValueError:
        return arguments
