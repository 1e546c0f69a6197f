"""What an agent streams, as AG-UI's events."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator
from typing import Any

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
from pydantic_ai.messages import (
    FunctionToolResultEvent,
    PartDeltaEvent,
    PartEndEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    ToolCallPart,
    ToolCallPartDelta,
    ToolReturnPart,
)

from agui_bridge.adapters import Run
from agui_bridge.emitting import events_in


class Reader:
    """Reads the events of one run.

    Args:
        run: mints ids.
        hidden: names of tools whose calls are no acts: the model gives its output by them.

    Attributes:
        said: ids of the assistant's messages that were told, in their order.
        called: ids of the calls that were told.
        answered: ids of the calls whose results were.
        silent: ids of calls whose results are not told: the application has not returned them.
    """

    def __init__(self, run: Run, hidden: Collection[str], silent: Collection[str]) -> None:
        self.said: list[str] = []
        self.called: list[str] = []
        self.answered: set[str] = set()
        self.silent = silent
        self._run = run
        self._hidden = hidden
        self._ids: dict[int, str] = {}
        self._open: set[int] = set()
        self._told: set[int] = set()
        # Calls that have ended, by Pydantic AI's word: it says so when the next one begins, though
        # some servers then send more of the arguments.
        self._ending: list[int] = []
        self._message: str | None = None
        # The part of the text that was told last, which plain text goes on with.
        self._speaking: int | None = None

    def read(self, event: Any) -> Iterable[BaseEvent | str]:
        """Translate one event."""
        if type(event) is PartDeltaEvent and event.index == self._speaking:
            delta = event.delta
            if type(delta) is TextPartDelta:
                # Nearly all are: they need no event object.
                return (delta.content_delta,) if delta.content_delta else ()
        self._speaking = None
        return self._events(event)

    def _events(self, event: Any) -> Iterator[BaseEvent]:
        if isinstance(event, PartStartEvent):
            if event.index == 0:
                self._message = None
            yield from self._start(event.index, event.part)
        elif isinstance(event, PartDeltaEvent):
            yield from self._add(event.index, event.delta)
        elif isinstance(event, PartEndEvent):
            yield from self._end(event.index, event.part, event.next_part_kind)
        elif isinstance(event, FunctionToolResultEvent):
            yield from self._result(event.part)

    def _start(self, index: int, part: Any) -> Iterator[BaseEvent]:
        self._open.discard(index)
        self._told.discard(index)
        if isinstance(part, ToolCallPart):
            if part.tool_name in self._hidden:
                self._ids.pop(index, None)
                return
            self._ids[index] = part.tool_call_id
            self.called.append(part.tool_call_id)
            yield ToolCallStartEvent(
                tool_call_id=part.tool_call_id,
                tool_call_name=part.tool_name,
                parent_message_id=self._parent(),
            )
            if isinstance(part.args, str):
                yield from self._arguments(index, part.args)
        elif isinstance(part, TextPart | ThinkingPart):
            self._ids[index] = self._run.mint()
            yield from self._words(index, part.content, thinking=isinstance(part, ThinkingPart))
        else:
            self._ids.pop(index, None)

    def _add(self, index: int, delta: Any) -> Iterator[BaseEvent]:
        if index not in self._ids:
            return
        if isinstance(delta, TextPartDelta | ThinkingPartDelta):
            thinking = isinstance(delta, ThinkingPartDelta)
            yield from self._words(index, delta.content_delta or "", thinking=thinking)
        elif isinstance(delta, ToolCallPartDelta) and isinstance(delta.args_delta, str):
            yield from self._arguments(index, delta.args_delta)

    def _end(self, index: int, part: Any, following: str | None) -> Iterator[BaseEvent]:
        if index in self._ids and isinstance(part, ToolCallPart):
            if index not in self._told and isinstance(part.args, dict) and part.args:
                # Some models give arguments as objects, which no client can put together.
                text = json.dumps(part.args_as_dict())
                yield ToolCallArgsEvent(tool_call_id=self._ids[index], delta=text)
            self._ending.append(index)
        elif index in self._ids:
            own = self._ids.pop(index)
            if index in self._open:
                thinking = isinstance(part, ThinkingPart)
                end = ReasoningMessageEndEvent if thinking else TextMessageEndEvent
                yield end(message_id=own)
                if isinstance(part, ThinkingPart) and part.signature:
                    yield ReasoningEncryptedValueEvent(
                        subtype="message", entity_id=own, encrypted_value=part.signature
                    )
        if following != "tool-call":
            for call in self._ending:
                yield ToolCallEndEvent(tool_call_id=self._ids.pop(call))
            self._ending.clear()

    def _words(self, index: int, text: str, *, thinking: bool) -> Iterator[BaseEvent]:
        if not text:
            return
        own = self._ids[index]
        if index not in self._open:
            self._open.add(index)
            if thinking:
                yield ReasoningMessageStartEvent(message_id=own, role="reasoning")
            else:
                self._message = own
                self.said.append(own)
                yield TextMessageStartEvent(message_id=own, role="assistant")
        content = ReasoningMessageContentEvent if thinking else TextMessageContentEvent
        yield content(message_id=own, delta=text)
        self._speaking = None if thinking else index

    def _arguments(self, index: int, text: str) -> Iterator[BaseEvent]:
        if text:
            self._told.add(index)
            yield ToolCallArgsEvent(tool_call_id=self._ids[index], delta=text)

    def _parent(self) -> str:
        """The message that a call belongs to: the text before it, or one of its own."""
        if self._message is None:
            self._message = self._run.mint()
            self.said.append(self._message)
        return self._message

    def _result(self, part: ToolReturnPart) -> Iterator[BaseEvent]:
        if part.tool_call_id in self.silent:
            return
        self.answered.add(part.tool_call_id)
        yield ToolCallResultEvent(
            message_id=self._run.mint(),
            tool_call_id=part.tool_call_id,
            content=part.model_response_str(),
            role="tool",
        )
        # As pydantic-ai's own UI: what the tool gave along as metadata, or else returned.
        yield from events_in(part.metadata or part.content)
