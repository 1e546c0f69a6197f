"""What an agent streams, as AG-UI's events."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from ag_ui.core import (
    BaseEvent,
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
from agui_bridge_agent_framework.content import arguments_text, result_text

__all__ = ["Reader"]


class Reader:
    """Reads the updates of one run.

    Args:
        run: mints ids.
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
        # The message that calls belong to, and what of it is open: text, a thought, a call.
        self._message: str | None = None
        self._reply: str | None = None
        self._text: str | None = None
        self._thought: str | None = None
        self._call: str | None = None

    def read(self, update: Any) -> Iterator[BaseEvent | str]:
        """Translate one update; text of the message that is open comes as a `str`."""
        own = update.message_id
        if own is not None and own != self._reply:
            if self._reply is not None:
                yield from self.end()
                self._message = None
            self._reply = own
        for content in update.contents:
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

    def end(self) -> Iterator[BaseEvent]:
        """Close what is open."""
        if self._thought is not None:
            yield ReasoningMessageEndEvent(message_id=self._thought)
        if self._text is not None:
            yield TextMessageEndEvent(message_id=self._text)
        if self._call is not None:
            yield ToolCallEndEvent(tool_call_id=self._call)
        self._thought = self._text = self._call = None

    # --- contents ---

    def _words(self, content: Content) -> Iterator[BaseEvent | str]:
        text = content.text
        if not text or self._structured:
            return
        if self._text is not None:
            yield TextMessageContentEvent(message_id=self._text, delta=text)
            return
        yield from self.end()
        own = self._text = self._message = self._run.mint()
        self.said.append(own)
        yield TextMessageStartEvent(message_id=own, role="assistant")
        yield TextMessageContentEvent(message_id=own, delta=text)

    def _reasoning(self, content: Content) -> Iterator[BaseEvent]:
        if not content.text:
            return
        if self._thought is None:
            yield from self.end()
            self._thought = self._run.mint()
            yield ReasoningMessageStartEvent(message_id=self._thought, role="reasoning")
        yield ReasoningMessageContentEvent(message_id=self._thought, delta=content.text)

    def _called(self, content: Content) -> Iterator[BaseEvent]:
        """A call, or a piece of its arguments; calls of others' tools are theirs to tell."""
        own = content.call_id or self._call
        if content.informational_only or own is None:
            return
        if own != self._call:
            if own in self.called or not content.name:
                # Told already: it comes again where it waits for somebody.
                return
            yield from self.end()
            yield self._start(own, content.name)
        if content.arguments:
            yield ToolCallArgsEvent(tool_call_id=own, delta=arguments_text(content.arguments))

    def _start(self, own: str, name: str) -> BaseEvent:
        if self._message is None:
            self._message = self._run.mint()
            self.said.append(self._message)
        self.called.append(own)
        self._call = own
        return ToolCallStartEvent(
            tool_call_id=own, tool_call_name=name, parent_message_id=self._message
        )

    def _result(self, content: Content) -> Iterator[BaseEvent]:
        yield from self.end()
        self._message = None
        yield from self.result(content.call_id or "", result_text(content))


_HANDLERS: Final[Mapping[str, Callable[[Reader, Content], Iterator[BaseEvent | str]]]] = {
    "text": Reader._words,
    "text_reasoning": Reader._reasoning,
    "function_call": Reader._called,
    "function_result": Reader._result,
}
