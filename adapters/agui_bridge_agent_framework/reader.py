"""What an agent streams, as AG-UI's events."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from ag_ui.core import (
    BaseEvent,
    ReasoningEncryptedValueEvent,
    ReasoningMessageContentEvent,
    ReasoningMessageEndEvent,
    ReasoningMessageStartEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)
from agent_framework import Content

from agui_bridge.adapters import Run
from agui_bridge.frameworks.predicted_state import told_anew
from agui_bridge.protocol.json_values import same_json
from agui_bridge.protocol.threads.records import Json
from agui_bridge.protocol.turns import with_arguments
from agui_bridge_agent_framework.content import arguments_text, result_text

Message = Mapping[str, Json]
"""A message of AG-UI, as JSON."""


class _Streamed:
    """One text as far as it has come: parts that are whole, and the one that may be replaced.

    Clients stream a text in pieces, and some repeat it whole at its end (`merge_mode="replace"`):
    the one of OpenAI's Responses does so for each part of a text or thought, and for each call's
    arguments. What was told is not told again. What was told otherwise is taken back.
    """

    __slots__ = ("_before", "_is_whole", "_part")

    def __init__(self) -> None:
        self._before = ""
        self._part: list[str] = []
        self._is_whole = False

    @property
    def text(self) -> str:
        """All of it."""
        return self._before + "".join(self._part)

    def add(self, piece: str) -> str:
        """Take the next piece, perhaps the first one of another part; all of it is news."""
        if self._is_whole:
            self._before, self._part, self._is_whole = self.text, [], False
        self._part.append(piece)
        return piece

    def replace(self, whole: str, *, all_parts: bool = False) -> str | None:
        """Take what stands in place of the last part, and give what of it is news.

        Args:
            whole: the part, or all of the text.
            all_parts: whether it stands in place of all parts.

        Returns:
            None where `whole` says something else than what was told.
        """
        told = self.text if all_parts else "".join(self._part)
        if all_parts:
            self._before = ""
        self._part, self._is_whole = [whole], True
        return whole.removeprefix(told) if whole.startswith(told) else None

    def repeats(self, whole: str) -> bool:
        """Whether the last part is this."""
        return "".join(self._part) == whole


@dataclass
class _Message:
    """A message, of text or of a thought, while it is streamed, and after.

    Attributes:
        id: its id; empty before there is anything to tell.
        is_open: whether it goes on.
        is_corrected: whether a snapshot has told it anew: no delta can be added since.
    """

    id: str = ""
    is_open: bool = False
    is_corrected: bool = False
    told: _Streamed = field(default_factory=_Streamed)


class Reader:
    """Reads the updates of one run.

    Args:
        run: mints ids, and knows the conversation.
        structured: whether the agent's words are data, and no text for people.

    Attributes:
        said: ids of the assistant's messages that were told, in their order.
        called: ids of the calls that were told.
        answered: ids of the calls whose results were.
        silent: ids of calls that nothing is told of.
    """

    def __init__(self, run: Run, structured: bool) -> None:
        self.said: list[str] = []
        self.called: list[str] = []
        self.answered: set[str] = set()
        self.silent: set[str] = set()
        self._run = run
        self._structured = structured
        # The message that calls belong to, and what of the reply is told: text, a thought, calls.
        self._message: str | None = None
        self._reply: str | None = None
        self._text = _Message()
        self._thought = _Message()
        self._calls: dict[str, _Streamed] = {}
        self._open: list[str] = []

    def read(self, update: Any) -> Iterator[BaseEvent | str]:
        """Translate one update; text of the message that is open comes as a `str`."""
        own = update.message_id
        if own is not None and own != self._reply:
            if self._reply is not None:
                yield from self._leave()
            self._reply = own
        contents = update.contents
        if getattr(update, "merge_mode", None) == "replace":
            texts = [content.text or "" for content in contents if content.type == "text"]
            contents = [content for content in contents if content.type != "text"]
            if not self._structured:
                yield from self._say(self._text, "".join(texts), "all")
        text = self._text
        for content in contents:
            if content.type == "text" and content.merge_mode is None and text.is_open:
                # Most updates are this.
                if content.text:
                    yield text.told.add(content.text)
                continue
            handler = _HANDLERS.get(content.type)
            if handler is not None:
                yield from handler(self, content)

    def result(self, call: str, text: str) -> Iterator[BaseEvent]:
        """Tell what came of a call, once."""
        if call in self.answered or call in self.silent:
            return
        self.answered.add(call)
        yield ToolCallResultEvent(
            message_id=self._run.mint(), tool_call_id=call, content=text, role="tool"
        )

    def whole_call(self, call: str, name: str, arguments: str) -> Iterator[BaseEvent]:
        """Tell a call that no update brings, such as one of a workflow within a workflow."""
        yield from self._leave()
        yield self._start(call, name)
        yield ToolCallArgsEvent(tool_call_id=call, delta=arguments)
        yield from self.end()

    def end(self) -> Iterator[BaseEvent]:
        """Close what is open."""
        yield from self._end_messages()
        for call in self._open:
            yield ToolCallEndEvent(tool_call_id=call)
        self._open = []

    def _end_messages(self) -> Iterator[BaseEvent]:
        if self._thought.is_open:
            yield ReasoningMessageEndEvent(message_id=self._thought.id)
        if self._text.is_open:
            yield TextMessageEndEvent(message_id=self._text.id)
        for message in (self._thought, self._text):
            message.is_open = message.is_corrected = False

    def _leave(self) -> Iterator[BaseEvent]:
        """Close the reply: what comes belongs to another one."""
        yield from self.end()
        self._message = None
        self._text, self._thought = _Message(), _Message()

    # --- contents ---

    def _words(self, content: Content) -> Iterator[BaseEvent | str]:
        if not self._structured:
            yield from self._say(self._text, content.text or "", _replaces(content))

    def _reasoning(self, content: Content) -> Iterator[BaseEvent | str]:
        yield from self._say(self._thought, content.text or "", _replaces(content))
        if content.protected_data and self._thought.id:
            yield ReasoningEncryptedValueEvent(
                subtype="message",
                entity_id=self._thought.id,
                encrypted_value=content.protected_data,
            )

    def _say(self, message: _Message, text: str, replaces: str | None) -> Iterator[BaseEvent]:
        """Tell what a text adds to a message, or to the thought, or says in place of it."""
        if not (message.is_open or (message.is_corrected and replaces)):
            if replaces and message.told.repeats(text):
                return
            message.told, message.is_corrected = _Streamed(), False
        if replaces:
            news = message.told.replace(text, all_parts=replaces == "all")
        else:
            news = message.told.add(text)
        if news is None or (news and message.is_corrected):
            yield from self.end()
            message.is_corrected = True
            yield self._corrected(lambda one: _with_text(one, message.id, message.told.text))
        elif news:
            if not message.is_open:
                yield from self.end()
                yield self._begin(message)
            if message is self._text:
                yield TextMessageContentEvent(message_id=message.id, delta=news)
            else:
                yield ReasoningMessageContentEvent(message_id=message.id, delta=news)

    def _begin(self, message: _Message) -> BaseEvent:
        own = message.id = self._run.mint()
        message.is_open = True
        if message is self._thought:
            return ReasoningMessageStartEvent(message_id=own, role="reasoning")
        self._message = own
        self.said.append(own)
        return TextMessageStartEvent(message_id=own, role="assistant")

    def _called(self, content: Content) -> Iterator[BaseEvent]:
        """A call, or a piece of its arguments; calls of others' tools are theirs to tell."""
        own = content.call_id or (self._open[-1] if self._open else None)
        if content.informational_only or own is None:
            return
        if own not in self._calls:
            if own in self.called or not content.name:
                # Told already: it comes again where it waits for somebody.
                return
            yield from self._end_messages()
            yield from self._end_whole_calls()
            yield self._start(own, content.name)
        if content.arguments:
            yield from self._arguments(own, arguments_text(content.arguments), _replaces(content))

    def _arguments(self, own: str, piece: str, replaces: str | None) -> Iterator[BaseEvent]:
        told, is_open = self._calls[own], own in self._open
        if replaces:
            is_same = _is_same(told.text, piece)
            news = told.replace(piece)
            if is_same:
                return
        elif is_open:
            news = told.add(piece)
        else:
            return
        if news is None or (news and not is_open):
            yield from self.end()
            yield self._corrected(lambda one: _with_arguments(one, own, piece))
        elif news:
            yield ToolCallArgsEvent(tool_call_id=own, delta=news)

    def _start(self, own: str, name: str) -> BaseEvent:
        if self._message is None:
            self._message = self._run.mint()
            self.said.append(self._message)
        self.called.append(own)
        self._open.append(own)
        self._calls[own] = _Streamed()
        return ToolCallStartEvent(
            tool_call_id=own, tool_call_name=name, parent_message_id=self._message
        )

    def _end_whole_calls(self) -> Iterator[BaseEvent]:
        """Close the calls that are whole; pieces of parallel ones may come in turns."""
        for call in [one for one in self._open if _parsed(self._calls[one].text) is not None]:
            self._open.remove(call)
            yield ToolCallEndEvent(tool_call_id=call)

    def _result(self, content: Content) -> Iterator[BaseEvent]:
        yield from self._leave()
        yield from self.result(content.call_id or "", result_text(content))

    def _corrected(self, correct: Callable[[Message], Message]) -> BaseEvent:
        """The conversation with one thing in it told anew: no event takes back what was told."""
        return told_anew([correct(message) for message in self._run.conversation()])


_HANDLERS: Final[Mapping[str, Callable[[Reader, Content], Iterator[BaseEvent | str]]]] = {
    "text": Reader._words,
    "text_reasoning": Reader._reasoning,
    "function_call": Reader._called,
    "function_result": Reader._result,
}


def _replaces(content: Content) -> str | None:
    return "part" if content.merge_mode == "replace" else None


def _with_text(message: Message, own: str, text: str) -> Message:
    return {**message, "content": text} if message["id"] == own else message


def _with_arguments(message: Message, own: str, text: str) -> Message:
    has_it = any(call["id"] == own for call in message.get("toolCalls") or ())
    return with_arguments(message, own, text) if has_it else message


def _is_same(told: str, whole: str) -> bool:
    before, now = _parsed(told), _parsed(whole)
    return before is not None and now is not None and same_json(before, now)


def _parsed(arguments: str) -> Json:
    """Arguments as JSON; None where they are none, or not whole."""
    try:
        found: Json = json.loads(arguments)
    except (ValueError, RecursionError):
        return None
    return found
