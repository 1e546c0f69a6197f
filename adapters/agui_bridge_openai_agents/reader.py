"""What an agent streams, as AG-UI's events."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from ag_ui.core import (
    BaseEvent,
    ReasoningMessageContentEvent,
    ReasoningMessageEndEvent,
    ReasoningMessageStartEvent,
    StepFinishedEvent,
    StepStartedEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)
from pydantic import BaseModel

from agui_bridge.adapters import Run
from agui_bridge_openai_agents.content import output_text

_TEXT: Final = "response.output_text.delta"

_HOSTED: Final = frozenset(
    {
        "mcp_call",
        "web_search_call",
        "file_search_call",
        "code_interpreter_call",
        "image_generation_call",
    }
)
"""Items of calls that the provider carried out itself."""

_NOT_ARGUMENTS: Final = frozenset(
    {"id", "type", "status", "name", "arguments", "output", "error", "results", "outputs", "result"}
    | {"approval_request_id"}
)

_OUTPUTS: Final = ("output", "error", "results", "outputs", "status")


class Reader:
    """Reads the events of one run.

    Args:
        run: mints ids.
        first: name of the agent that the run begins with, which needs no step of its own.

    Attributes:
        said: ids of the assistant's messages that were told, in their order.
        called: ids of the calls that were told.
        answered: ids of the calls whose results were.
        replies: how many replies of the model are complete.
        model: the model that gave the last one.
        silent: ids of calls whose results somebody else tells.
    """

    def __init__(self, run: Run, first: str) -> None:
        self.said: list[str] = []
        self.called: list[str] = []
        self.answered: set[str] = set()
        self.replies: int = 0
        self.model: str = "unknown"
        self.silent: set[str] = set()
        self._run = run
        self._first = first
        self._step: str | None = None
        # A structured output is the run's result, and no text for people.
        self._is_structured = False
        self._forget()

    def read(self, event: Any) -> Iterable[BaseEvent | str]:
        """Translate one event of the SDK; those of AG-UI are passed on."""
        if event.type == "raw_response_event":
            data = event.data
            kind = data.type
            if kind == _TEXT and data.output_index in self._open:
                # Nearly all are: text of the message that is open, which needs no event object.
                return (data.delta,) if data.delta else ()
            handler = _HANDLERS.get(kind)
            return handler(self, data) if handler is not None else ()
        if isinstance(event, BaseEvent):
            if isinstance(event, ToolCallResultEvent):
                self.answered.add(event.tool_call_id)
            elif isinstance(event, ToolCallStartEvent):
                self.called.append(event.tool_call_id)
            elif isinstance(event, TextMessageStartEvent):
                self.said.append(event.message_id)
            return (event,)
        if event.type == "agent_updated_stream_event":
            return self._handed_to(event.new_agent)
        if event.item.type in ("tool_call_output_item", "handoff_output_item"):
            return self._output(event.item)
        return ()

    def end(self) -> Iterator[BaseEvent]:
        """Close what is open at the end."""
        if self._step is not None:
            yield StepFinishedEvent(step_name=self._step)
            self._step = None

    # --- a reply of the model ---

    def _forget(self) -> None:
        self._ids: dict[int, str] = {}
        self._open: set[int] = set()
        self._part_over: set[int] = set()
        self._told_arguments: set[int] = set()
        self._message: str | None = None
        self._has_text = self._has_reasoning = False

    def _created(self, _: Any) -> Iterator[BaseEvent]:
        self._forget()
        yield from ()

    def _added(self, data: Any) -> Iterator[BaseEvent]:
        item = data.item
        if item.type == "function_call" and item.call_id not in self.called:
            self._ids[data.output_index] = item.call_id
            yield self._call(item.call_id, item.name)

    def _text(self, data: Any) -> Iterator[BaseEvent]:
        index = data.output_index
        if not data.delta or self._is_structured:
            return
        if index not in self._open:
            self._open.add(index)
            self._has_text = True
            own = self._message = self._ids[index] = self._run.mint()
            self.said.append(own)
            yield TextMessageStartEvent(message_id=own, role="assistant")
        yield TextMessageContentEvent(message_id=self._ids[index], delta=data.delta)

    def _reasoning(self, data: Any) -> Iterator[BaseEvent]:
        index = data.output_index
        if not data.delta:
            return
        self._has_reasoning = True
        if index not in self._open:
            self._open.add(index)
            self._ids[index] = self._run.mint()
            yield ReasoningMessageStartEvent(message_id=self._ids[index], role="reasoning")
        elif index in self._part_over:
            yield ReasoningMessageContentEvent(message_id=self._ids[index], delta="\n\n")
        self._part_over.discard(index)
        yield ReasoningMessageContentEvent(message_id=self._ids[index], delta=data.delta)

    def _reasoned(self, data: Any) -> Iterator[BaseEvent]:
        self._part_over.add(data.output_index)
        yield from ()

    def _arguments(self, data: Any) -> Iterator[BaseEvent]:
        own = self._ids.get(data.output_index)
        if own is not None and data.delta:
            self._told_arguments.add(data.output_index)
            yield ToolCallArgsEvent(tool_call_id=own, delta=data.delta)

    def _done(self, data: Any) -> Iterator[BaseEvent]:
        index, item = data.output_index, data.item
        if item.type == "function_call" and index in self._ids:
            own = self._ids.pop(index)
            if index not in self._told_arguments and item.arguments:
                yield ToolCallArgsEvent(tool_call_id=own, delta=item.arguments)
            yield ToolCallEndEvent(tool_call_id=own)
        elif index in self._open:
            self._open.discard(index)
            is_thought = item.type == "reasoning"
            end = ReasoningMessageEndEvent if is_thought else TextMessageEndEvent
            yield end(message_id=self._ids.pop(index))
        elif item.type in _HOSTED:
            yield from self._hosted(item)

    def _completed(self, data: Any) -> Iterator[BaseEvent]:
        """The whole reply: of models that don't stream the first that is told of it."""
        reply = data.response
        had_text, had_reasoning = self._has_text, self._has_reasoning
        for place, item in enumerate(reply.output):
            # Beside those that were streamed, whatever their places were.
            index = -1 - place
            if item.type == "function_call" and item.call_id not in self.called:
                yield self._call(item.call_id, item.name)
                if item.arguments:
                    yield ToolCallArgsEvent(tool_call_id=item.call_id, delta=item.arguments)
                yield ToolCallEndEvent(tool_call_id=item.call_id)
            elif item.type == "message" and not had_text:
                said = [getattr(p, "text", None) or getattr(p, "refusal", "") for p in item.content]
                yield from self._text(_Delta(index, "".join(map(str, said))))
            elif item.type == "reasoning" and not had_reasoning:
                parts = [part.text for part in item.summary]
                yield from self._reasoning(_Delta(index, "\n\n".join(map(str, parts))))
            else:
                continue
            if index in self._open:
                yield from self._done(_Whole(index, item))
        self.replies += 1
        self.model = reply.model or self.model

    # --- what comes of it ---

    def _handed_to(self, agent: Any) -> Iterator[BaseEvent]:
        self._is_structured = agent.output_type not in (None, str)
        yield from self.end()
        if agent.name != self._first:
            self._step = agent.name
            yield StepStartedEvent(step_name=agent.name)

    def _output(self, item: Any) -> Iterator[BaseEvent]:
        raw = item.raw_item
        raw = raw.model_dump() if isinstance(raw, BaseModel) else raw
        call_id = raw.get("call_id")
        if call_id is not None and call_id not in self.answered | self.silent:
            yield self._result(call_id, output_text(raw.get("output")))

    def _hosted(self, item: Any) -> Iterator[BaseEvent]:
        told = item.model_dump(mode="json", exclude_none=True)
        call_id = told.get("approval_request_id") or told["id"]
        if call_id in self.answered:
            return
        if "approval_request_id" not in told:
            arguments = told.get("arguments") or json.dumps(_arguments_of(told))
            yield self._call(call_id, told.get("name") or item.type.removesuffix("_call"))
            yield ToolCallArgsEvent(tool_call_id=call_id, delta=arguments)
            yield ToolCallEndEvent(tool_call_id=call_id)
        found = next((told[name] for name in _OUTPUTS if told.get(name)), "")
        yield self._result(call_id, found if isinstance(found, str) else json.dumps(found))

    def _call(self, call_id: str, name: str) -> BaseEvent:
        self.called.append(call_id)
        if self._message is None:
            # The message that the call belongs to: the text before it, or one of its own.
            self._message = self._run.mint()
            self.said.append(self._message)
        return ToolCallStartEvent(
            tool_call_id=call_id, tool_call_name=name, parent_message_id=self._message
        )

    def _result(self, call_id: str, text: str) -> BaseEvent:
        self.answered.add(call_id)
        return ToolCallResultEvent(
            message_id=self._run.mint(), tool_call_id=call_id, content=text, role="tool"
        )


class _Delta:
    def __init__(self, output_index: int, delta: str) -> None:
        self.output_index = output_index
        self.delta = delta


class _Whole:
    def __init__(self, output_index: int, item: Any) -> None:
        self.output_index = output_index
        self.item = item


def _arguments_of(told: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in told.items() if name not in _NOT_ARGUMENTS}


_HANDLERS: Final[Mapping[str, Callable[[Reader, Any], Iterator[BaseEvent]]]] = {
    "response.created": Reader._created,
    "response.output_item.added": Reader._added,
    _TEXT: Reader._text,
    "response.refusal.delta": Reader._text,
    "response.reasoning_summary_text.delta": Reader._reasoning,
    "response.reasoning_text.delta": Reader._reasoning,
    "response.reasoning_summary_part.done": Reader._reasoned,
    "response.function_call_arguments.delta": Reader._arguments,
    "response.output_item.done": Reader._done,
    "response.completed": Reader._completed,
    "response.incomplete": Reader._completed,
}
