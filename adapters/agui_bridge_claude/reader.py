"""What Claude Code streams, as AG-UI's events."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
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
from claude_agent_sdk import (
    AssistantMessage,
    StreamEvent,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)

from agui_bridge.adapters import Run
from agui_bridge.frameworks.subagents import Subagents

DELEGATING: Final = frozenset({"Agent", "Task"})
"""The tool that begins a sub-agent, by its names."""


class Reader:
    """Reads the messages of one run.

    Args:
        run: mints ids.
        known: ids of calls that earlier runs have told.
        texts: by call, what is told in place of the result that Claude Code tells.

    Attributes:
        said: ids of the assistant's messages that were told, in their order.
        called: ids of the calls that were told.
        answered: ids of the calls whose results were.
    """

    def __init__(self, run: Run, known: Iterable[str], texts: Mapping[str, str]) -> None:
        self.said: list[str] = []
        self.called: list[str] = []
        self.answered: set[str] = set()
        self._run = run
        self._known = {*known}
        self._texts = texts
        self._subagents = Subagents(run.mint)
        self._names: dict[str, str] = {}
        self._forget()

    def read(self, message: Any) -> Iterable[BaseEvent]:
        """Translate one message of the SDK."""
        if isinstance(message, StreamEvent):
            if message.parent_tool_use_id is not None:
                return ()
            handler = _HANDLERS.get(message.event.get("type", ""))
            return handler(self, message.event) if handler is not None else ()
        if isinstance(message, AssistantMessage):
            return self._whole(message)
        if isinstance(message, UserMessage) and isinstance(message.content, list):
            return self._results(message)
        return ()

    def has_told(self, call_id: str) -> bool:
        """Whether clients know of a call."""
        return call_id in self._known or call_id in self.called

    # --- a reply of the model, as it comes ---

    def _forget(self) -> None:
        self._open: dict[int, tuple[str, str]] = {}
        self._message: str | None = None

    def _began(self, _: Mapping[str, Any]) -> Iterator[BaseEvent]:
        self._forget()
        yield from ()

    def _block(self, event: Mapping[str, Any]) -> Iterator[BaseEvent]:
        block, index = event["content_block"], event["index"]
        kind = block["type"]
        if kind == "text":
            own = self._message = self._run.mint()
            self.said.append(own)
            self._open[index] = (kind, own)
            yield TextMessageStartEvent(message_id=own, role="assistant")
        elif kind == "thinking":
            own = self._run.mint()
            self._open[index] = (kind, own)
            yield ReasoningMessageStartEvent(message_id=own, role="reasoning")
        elif kind == "tool_use" and block["id"] not in self.called:
            self._open[index] = (kind, block["id"])
            yield self._start(block["id"], block["name"])

    def _delta(self, event: Mapping[str, Any]) -> Iterator[BaseEvent]:
        kind, own = self._open.get(event["index"], ("", ""))
        delta = event["delta"]
        if kind == "text" and delta.get("text"):
            yield TextMessageContentEvent(message_id=own, delta=delta["text"])
        elif kind == "thinking" and delta.get("thinking"):
            yield ReasoningMessageContentEvent(message_id=own, delta=delta["thinking"])
        elif kind == "tool_use" and delta.get("partial_json"):
            yield ToolCallArgsEvent(tool_call_id=own, delta=delta["partial_json"])

    def _block_over(self, event: Mapping[str, Any]) -> Iterator[BaseEvent]:
        kind, own = self._open.pop(event["index"], ("", ""))
        if kind == "text":
            yield TextMessageEndEvent(message_id=own)
        elif kind == "thinking":
            yield ReasoningMessageEndEvent(message_id=own)
        elif kind == "tool_use":
            yield ToolCallEndEvent(tool_call_id=own)

    # --- what comes as a whole ---

    def _whole(self, message: AssistantMessage) -> Iterator[BaseEvent]:
        """Calls that no stream has told, and all that sub-agents say."""
        within = message.parent_tool_use_id
        subagent = None
        for block in message.content:
            if isinstance(block, ToolUseBlock) and block.id not in self.called:
                if within is not None and subagent is None:
                    subagent, events = self._subagent(within)
                    yield from events
                yield self._start(block.id, block.name, subagent)
                arguments = json.dumps(block.input, ensure_ascii=False)
                yield ToolCallArgsEvent(
                    tool_call_id=block.id, delta=arguments, subagent_run_id=subagent
                )
                yield ToolCallEndEvent(tool_call_id=block.id, subagent_run_id=subagent)
            elif isinstance(block, TextBlock) and within is not None and block.text:
                if subagent is None:
                    subagent, events = self._subagent(within)
                    yield from events
                yield from self._text(block.text, subagent)

    def _results(self, message: UserMessage) -> Iterator[BaseEvent]:
        for block in message.content:
            if not isinstance(block, ToolResultBlock):
                continue
            call = block.tool_use_id
            yield from self._subagents.finish(call)
            if call in self.answered or not self.has_told(call):
                continue
            if block.is_error and self._run.stop.requested and call not in self._texts:
                # Claude Code's own words for what a stop broke off; it says so of calls that never
                # began and of those in their middle alike.
                continue
            self.answered.add(call)
            yield ToolCallResultEvent(
                message_id=self._run.mint(),
                tool_call_id=call,
                content=self._texts.get(call) or result_text(block.content),
                role="tool",
                subagent_run_id=self._subagents.owner(call),
            )

    def _subagent(self, within: str) -> tuple[str, list[BaseEvent]]:
        return self._subagents.find(self._names.get(within, "subagent"), within)

    def _text(self, text: str, subagent: str | None) -> Iterator[BaseEvent]:
        own = self._run.mint()
        yield TextMessageStartEvent(message_id=own, role="assistant", subagent_run_id=subagent)
        yield TextMessageContentEvent(message_id=own, delta=text, subagent_run_id=subagent)
        yield TextMessageEndEvent(message_id=own, subagent_run_id=subagent)

    def name_subagent(self, call_id: str, name: str) -> None:
        """Note which agent a call begins."""
        self._names[call_id] = name

    def _start(self, call_id: str, name: str, subagent: str | None = None) -> BaseEvent:
        self.called.append(call_id)
        if subagent is not None:
            self._subagents.own(call_id, subagent)
            return ToolCallStartEvent(
                tool_call_id=call_id, tool_call_name=name, subagent_run_id=subagent
            )
        if self._message is None:
            # The message that the call belongs to: the text before it, or one of its own.
            self._message = self._run.mint()
            self.said.append(self._message)
        return ToolCallStartEvent(
            tool_call_id=call_id, tool_call_name=name, parent_message_id=self._message
        )


def result_text(content: Any) -> str:
    """A tool's result as text, media by their kind alone."""
    if isinstance(content, str):
        return content
    parts = [part for part in content or () if isinstance(part, Mapping)]
    return "\n".join(str(part.get("text", f"[{part.get('type')}]")) for part in parts)


_HANDLERS: Final[Mapping[str, Callable[[Reader, Mapping[str, Any]], Iterator[BaseEvent]]]] = {
    "message_start": Reader._began,
    "content_block_start": Reader._block,
    "content_block_delta": Reader._delta,
    "content_block_stop": Reader._block_over,
}
