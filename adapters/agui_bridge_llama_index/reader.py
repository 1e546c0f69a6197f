"""What a workflow streams, as AG-UI's events."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

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
from llama_index.core.agent.workflow import AgentOutput, AgentStream

from agui_bridge.adapters import Run
from agui_bridge.protocol.threads.records import ToolCall

_COUNTED: Final = {
    "inputTokens": ("prompt_tokens", "input_tokens", "prompt_token_count"),
    "outputTokens": ("completion_tokens", "output_tokens", "candidates_token_count"),
}
"""How providers call what AG-UI counts."""

_PARTS: Final = {
    "cachedInputTokens": (
        *("prompt_tokens_details.cached_tokens", "input_tokens_details.cached_tokens"),
        *("cache_read_input_tokens", "cached_content_token_count"),
    ),
    "cacheWriteInputTokens": ("cache_creation_input_tokens",),
    "reasoningTokens": (
        *("completion_tokens_details.reasoning_tokens", "output_tokens_details.reasoning_tokens"),
        "thoughts_token_count",
    ),
}
"""The same for parts of these; after a dot, the member of a member."""

Told: TypeAlias = BaseEvent | str | Iterable[BaseEvent | str] | None
"""What is told of an event that a workflow streams."""


@dataclass(frozen=True, slots=True)
class Reply:
    """The calls of a model's reply, under ids of their own."""

    calls: tuple[ToolCall, ...]


@dataclass(frozen=True, slots=True)
class Result:
    """What came of a call."""

    call: str
    text: str


class Reader:
    """Reads the events of one run.

    Args:
        run: mints ids.
        answered: ids of the calls whose results the client has been told.
        tell: what is told of the workflow's own events.

    Attributes:
        said: ids of the assistant's messages that were told, in their order.
        called: ids of the calls that were told.
        answered: ids of the calls whose results were, in this run or before.
        last: the text of the last message.
        usage: what the models' providers counted, of each reply.
    """

    def __init__(
        self, run: Run, answered: Iterable[str], tell: Callable[[Any], Told] | None
    ) -> None:
        self.said: list[str] = []
        self.called: list[str] = []
        self.answered: set[str] = set(answered)
        self.last: str = ""
        self.usage: list[dict[str, Any]] = []
        self._run = run
        self._tell = tell
        self._message: str | None = None
        self._text: str | None = None
        self._thought: str | None = None
        self._counts: Mapping[str, Any] = {}

    def read(self, event: Any) -> Iterable[BaseEvent | str]:
        """Translate one event of LlamaIndex, or of the guard."""
        if isinstance(event, AgentStream):
            if event.raw is not None:
                self._count(event.raw)
            if event.delta and self._text is not None and not event.thinking_delta:
                # Nearly all are: text of the message that is open, which needs no event object.
                self.last += event.delta
                return (event.delta,)
            return self._delta(event.thinking_delta or _thought_in(event.raw), event.delta)
        if isinstance(event, AgentOutput):
            return self._whole(event)
        if isinstance(event, Reply):
            return self._calls(event.calls)
        if isinstance(event, Result):
            return self._result(event)
        return self._own(event)

    def say(self, text: str) -> Iterator[BaseEvent | str]:
        """Tell a text that nothing streamed."""
        yield from self.end()
        yield from self._delta(None, text)
        yield from self.end()

    def end(self) -> Iterator[BaseEvent]:
        """Close the message that is open: a new one begins with what comes next."""
        yield from self._close()
        self._message = None

    # --- a reply of a model ---

    def _delta(self, thought: str | None, text: str) -> Iterator[BaseEvent | str]:
        if thought:
            if self._thought is None:
                yield from self.end()
                self._thought = self._run.mint()
                yield ReasoningMessageStartEvent(message_id=self._thought, role="reasoning")
            yield ReasoningMessageContentEvent(message_id=self._thought, delta=thought)
        if text:
            if self._text is None:
                yield from self.end()
                self._text, self.last = self._open(), ""
                yield TextMessageStartEvent(message_id=self._text, role="assistant")
            self.last += text
            yield TextMessageContentEvent(message_id=self._text, delta=text)

    def _whole(self, output: AgentOutput) -> Iterator[BaseEvent | str]:
        """The end of a reply, whose text may not have been streamed."""
        self._count(output.raw)
        if self._counts:
            self.usage.append(dict(self._counts))
            self._counts = {}
        text = output.response.content
        if text and self._text is None:
            yield from self._delta(None, text)
        yield from self._close()
        if not output.tool_calls:
            self._message = None

    def _count(self, raw: Any) -> None:
        """Note what a provider counted, if this piece of its reply says so; the last one counts."""
        told = _members(raw)
        # The last event of OpenAI's Responses has the reply in it.
        told = _members(told.get("response")) or told
        counts = _members(told.get("usage") or told.get("usage_metadata"))
        if not counts:
            return
        found = {ours: _count_of(counts, theirs) for ours, theirs in _COUNTED.items()}
        parts = {ours: _count_of(counts, theirs) for ours, theirs in _PARTS.items()}
        self._counts = {
            "model": str(told.get("model") or "unknown"),
            **found,
            "totalTokens": sum(found.values()),
            **{ours: count for ours, count in parts.items() if count},
        }

    def _open(self) -> str:
        self._message = self._run.mint()
        self.said.append(self._message)
        return self._message

    def _close(self) -> Iterator[BaseEvent]:
        if self._text is not None:
            yield TextMessageEndEvent(message_id=self._text)
        if self._thought is not None:
            yield ReasoningMessageEndEvent(message_id=self._thought)
        self._text = self._thought = None

    # --- calls ---

    def _calls(self, calls: Iterable[ToolCall]) -> Iterator[BaseEvent]:
        yield from self._close()
        # The message that they belong to: the text before them, or one of its own.
        parent = self._message or self._open()
        for call in calls:
            self.called.append(call.id)
            yield ToolCallStartEvent(
                tool_call_id=call.id, tool_call_name=call.name, parent_message_id=parent
            )
            yield ToolCallArgsEvent(
                tool_call_id=call.id, delta=json.dumps(call.args, ensure_ascii=False)
            )
            yield ToolCallEndEvent(tool_call_id=call.id)
        self._message = None

    def _result(self, result: Result) -> Iterator[BaseEvent]:
        if result.call in self.answered:
            return
        self.answered.add(result.call)
        yield from self.end()
        yield ToolCallResultEvent(
            message_id=self._run.mint(),
            tool_call_id=result.call,
            content=result.text,
            role="tool",
        )

    # --- what the workflow's author tells ---

    def _own(self, event: Any) -> Iterator[BaseEvent | str]:
        told = self._tell(event) if self._tell is not None else None
        for one in (told,) if isinstance(told, str | BaseEvent) else told or ():
            if isinstance(one, str):
                yield from self._delta(None, one)
            else:
                yield one


def _thought_in(raw: Any) -> str | None:
    """What OpenAI's Responses or Anthropic add to a thought.

    LlamaIndex leaves it in the provider's event.
    """
    told = _members(raw)
    kind = told.get("type")
    if kind == "content_block_delta":
        # Its client has the thought in the message, its agents look beside the message.
        thought = _members(told.get("delta")).get("thinking")
        return None if thought is None else str(thought)
    if kind == "response.reasoning_summary_part.added" and told.get("summary_index"):
        # The parts of a summary are paragraphs.
        return "\n\n"
    if kind in ("response.reasoning_summary_text.delta", "response.reasoning_text.delta"):
        return str(told.get("delta") or "")
    return None


def _members(told: Any) -> Mapping[str, Any]:
    """The members of an object or a mapping; none of anything else."""
    if isinstance(told, Mapping):
        return told
    return getattr(told, "__dict__", {})


def _count_of(counts: Mapping[str, Any], names: Iterable[str]) -> int:
    """The first of several counts that is there and not 0."""
    for name in names:
        above, _, own = name.rpartition(".")
        found = (_members(counts.get(above)) if above else counts).get(own)
        if found:
            return int(found)
    return 0
