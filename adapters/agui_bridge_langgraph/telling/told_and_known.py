"""What was told of a conversation against what the graph knows of it, at a pause and at the end.

The graph's `messages` are the conversation. So what they have and nobody told is told; what the
graph wrote anew, such as a redacted address, takes the place of what people saw; and what it takes
out leaves the thread, but for calls that had an effect or were asked about: these happened.

One removal is none: a summary takes the place of old turns, or a graph forgets the oldest of them,
so that a model's context stays small. People keep what was said.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from ag_ui.core import BaseEvent, ToolCallResultEvent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from agui_bridge.adapters import Run
from agui_bridge.frameworks.predicted_state import told_anew
from agui_bridge.protocol.answers.unexecuted import UNTOLD
from agui_bridge.protocol.threads.records import Json
from agui_bridge.protocol.turns import text_of
from agui_bridge_langgraph.checkpoint import levels, messages_of, namespace_of
from agui_bridge_langgraph.content import content_text, said_in
from agui_bridge_langgraph.continuation import Waiting
from agui_bridge_langgraph.telling.reader import Reader

_SUMMARY: Final = "summarization"

Message = Mapping[str, Json]


class Knowledge:
    """What the graph knows, while one run changes it.

    Args:
        run: the run.
        reader: of its stream.
        state: the graph's, before the run.
        touched: gives the ids of the calls that may have been carried out.
    """

    def __init__(
        self, run: Run, reader: Reader, state: Any, touched: Callable[[], Collection[str]]
    ) -> None:
        self._run = run
        self._reader = reader
        self._touched = touched
        # The texts of tools' results, and what else the graph had, by id.
        self._before = {str(m.id): m for m in messages_of(state.values)}
        self._had = frozenset(self._before)
        reader.known.update(str(m.id) for level in levels(state) for m in messages_of(level.values))

    def give(self, messages: Iterable[BaseMessage]) -> None:
        """Note what the graph is given: it is no news."""
        for message in messages:
            self._before[str(message.id)] = message
            self._reader.known.add(str(message.id))

    def news(self, state: Any) -> Iterator[BaseEvent | str]:
        """What the graph and the subgraphs at work in it know, and nobody told."""
        for level in levels(state):
            yield from self._reader.news(messages_of(level.values), namespace_of(level))
        yield from self._reader.last()
        self._reader.stated.update(str(m.id) for m in messages_of(state.values))

    def unsettled(self, kept: Waiting | None) -> list[str]:
        """Ids of messages that were told and the graph does not have, as it stands at a pause."""
        before = kept.unsettled if kept is not None else ()
        return list(dict.fromkeys([*before, *self._unstated()]))

    def corrected(
        self, state: Any, kept: Waiting | None, *, stands: bool, is_end: bool
    ) -> Iterator[BaseEvent | str]:
        """The conversation with what the graph knows better; nothing where all is right.

        Args:
            state: the graph's.
            kept: what was kept of the pause that the run continues.
            stands: whether the graph came to a pause or its end: else what it lacks may still come.
            is_end: whether it came to its end.
        """
        now = {str(m.id): m for m in messages_of(state.values)}
        thread = self._run.conversation()
        leaves = self._removed(thread, now) if stands else set()
        passing = self._passing(now, kept) if is_end else set()
        corrected: list[Message] = []
        for message in thread:
            own = str(message["id"])
            if own in passing:
                yield from self._close_calls(message)
            if own in leaves or own in passing:
                corrected += self._what_stays(message, only_acted=own in passing)
            else:
                corrected.append(self._edited(message, now))
        gone = self._lost_calls(thread, corrected)
        corrected = [one for one in corrected if one.get("toolCallId") not in gone]
        corrected = self._without_thoughts(thread, corrected)
        if len(corrected) != len(thread) or any(
            one is not other for one, other in zip(corrected, thread, strict=True)
        ):
            yield told_anew([dict(message) for message in corrected])

    # --- what leaves ---

    def _removed(self, thread: Sequence[Message], now: Mapping[str, BaseMessage]) -> set[str]:
        """Ids of the thread's messages that the graph took out of the conversation."""
        had = self._reader.stated | self._had
        gone = {own for own in had - now.keys() if own not in ("None", "")}
        if not gone or any(_is_summary(m) for own, m in now.items() if own not in self._before):
            return set()
        told = {own: self._told_id(own) for own in had}
        there = {wire for own, wire in told.items()}
        removed = {told[own] for own in gone} - {told[own] for own in had & now.keys()}
        ordered = [str(m["id"]) for m in thread if m["id"] in there and m["role"] != "tool"]
        users = [str(m["id"]) for m in thread if m["role"] == "user"]
        if users and users[-1] not in removed:
            # The oldest that go while the talk goes on are forgotten, not taken back.
            for own in ordered:
                if own not in removed:
                    break
                removed.discard(own)
        return removed

    def _passing(self, now: Mapping[str, BaseMessage], kept: Waiting | None) -> set[str]:
        """Ids of messages that were told while they streamed and are not of the conversation.

        A router's words, for one, and those of an agent that a node calls. Where the graph has no
        message of its own from this run, what was told is all that there is.
        """
        new = [m for own, m in now.items() if own not in self._before]
        if not any(isinstance(message, AIMessage) for message in new):
            return set()
        said = set(self._unstated())
        said |= {own for own in (kept.unsettled if kept is not None else ()) if own not in now}
        again = {_text(m) for m in new if isinstance(m, AIMessage)}
        for own, text in self._reader.emitted.items():
            if own not in now and text in again:
                said.add(own)
        quoted = {_text(m) for m in new if not isinstance(m, AIMessage | ToolMessage)}
        texts = {str(m["id"]): _thread_text(m) for m in self._run.conversation() if m["id"] in said}
        return {own for own in said if texts.get(own) not in quoted - {""}}

    def _what_stays(self, message: Message, *, only_acted: bool) -> list[Message]:
        """What remains of a message that leaves: the calls that happened."""
        calls: Any = message.get("toolCalls") or []
        if only_acted:
            calls = [call for call in calls if self._has_acted(call["id"])]
        if message["role"] == "tool":
            return [message]
        if not calls:
            return []
        if calls == message.get("toolCalls") and not message.get("content"):
            return [message]
        rest = {key: value for key, value in message.items() if key != "content"}
        return [{**rest, "toolCalls": calls}]

    def _has_acted(self, call: str) -> bool:
        return call in self._touched() or call not in self._reader.called

    def _close_calls(self, message: Message) -> Iterator[BaseEvent]:
        calls: Any = message.get("toolCalls") or []
        for call in calls:
            if not self._has_acted(call["id"]):
                # Nothing is left open by it; the next snapshot has neither.
                yield ToolCallResultEvent(
                    message_id=self._run.mint(), tool_call_id=call["id"], content=UNTOLD
                )

    def _lost_calls(self, thread: Sequence[Message], corrected: Sequence[Message]) -> set[str]:
        before, after = _call_ids(thread), _call_ids(corrected)
        return before - after

    def _without_thoughts(
        self, thread: Sequence[Message], corrected: list[Message]
    ) -> list[Message]:
        """Leave the reasoning out that was of messages which left."""
        stand = {one["id"] for one in corrected}
        left = {
            thought
            for thought, own in self._reader.thoughts.items()
            if own not in stand and any(one["id"] == own for one in thread)
        }
        if not left:
            return corrected
        others = any(one["role"] == "reasoning" and one["id"] not in left for one in corrected)
        # Clients keep all reasoning where a snapshot has none.
        return [
            {**one, "content": ""} if one["id"] in left else one
            for one in corrected
            if others is False or one["id"] not in left
        ]

    # --- what is written anew ---

    def _edited(self, message: Message, now: Mapping[str, BaseMessage]) -> Message:
        """A message as the graph has it."""
        if message.get("subagentRunId") is not None:
            return message
        role, known = message["role"], self._known_as(str(message["id"]), now)
        if role == "tool":
            known = self._result_of(message, now)
            return message if known is None else {**message, "content": content_text(known)}
        if role == "user" and isinstance(known, HumanMessage):
            content: Any = message.get("content") or ""
            was = self._before.get(str(known.id))
            # Parts that are no text a graph is told in its own way.
            given = content if isinstance(content, str) else was.content if was else known.content
            if known.content == given:
                return message
            return {**message, "content": _rewritten(content, _text(known))}
        if role == "assistant" and isinstance(known, AIMessage):
            text = said_in(known)[1]
            if text == _thread_text(message):
                return message
            rest = {key: value for key, value in message.items() if key != "content"}
            return {**rest, "content": text} if text or not rest.get("toolCalls") else rest
        return message

    def _known_as(self, own: str, now: Mapping[str, BaseMessage]) -> BaseMessage | None:
        if own in now:
            return now[own]
        # Some models change the id within a message, and the graph keeps the last one.
        said = self._reader.said.get(own)
        return next((now[other] for other in (said.ids if said else ()) if other in now), None)

    def _result_of(self, message: Message, now: Mapping[str, BaseMessage]) -> ToolMessage | None:
        """A tool's result that the graph wrote anew in this run; None of others."""
        for own, (call, text) in self._reader.results.items():
            if call == message.get("toolCallId"):
                known = now.get(own)
                changed = isinstance(known, ToolMessage) and content_text(known) != text
                return known if changed and isinstance(known, ToolMessage) else None
        was, known = self._before.get(str(message["id"])), now.get(str(message["id"]))
        if isinstance(was, ToolMessage) and isinstance(known, ToolMessage):
            return known if content_text(was) != content_text(known) else None
        return None

    # --- ids ---

    def _told_id(self, own: str) -> str:
        said = self._reader.said.get(own)
        return said.id if said is not None else own

    def _unstated(self) -> list[str]:
        """Ids of messages that were told and never were in the graph's state."""
        stated = self._reader.stated
        said = self._reader.said.values()
        return [message.id for message in said if stated.isdisjoint(message.ids)]


def _is_summary(message: BaseMessage) -> bool:
    return message.additional_kwargs.get("lc_source") == _SUMMARY


def _text(message: BaseMessage) -> str:
    return said_in(message)[1] if isinstance(message, AIMessage) else str(message.text)


def _thread_text(message: Message) -> str:
    content: Any = message.get("content")
    return text_of(content or "")


def _call_ids(messages: Sequence[Message]) -> set[str]:
    calls: Any = (message.get("toolCalls") or () for message in messages)
    return {call["id"] for several in calls for call in several}


def _rewritten(content: Any, text: str) -> Any:
    """Content with another text: what is no text in it stays."""
    if isinstance(content, str):
        return text
    others = [part for part in content if part.get("type") != "text"]
    return [{"type": "text", "text": text}, *others] if text else others
