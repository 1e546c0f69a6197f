"""What agents tell, as AG-UI's events."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, Literal

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
from google.adk.events import Event
from google.genai import types

from agui_bridge.adapters import Run
from agui_bridge_adk.content import result_text
from agui_bridge_adk.guard import OUTPUT
from agui_bridge_adk.pauses import CONFIRMATION, confirmation_event, held_call
from agui_bridge_adk.streamed_arguments import StreamedArguments

__all__ = ["Reader"]

Kind = Literal["text", "thought"]

_EVENTS: Final[dict[Kind, tuple[Any, Any, Any, str]]] = {
    "text": (TextMessageStartEvent, TextMessageContentEvent, TextMessageEndEvent, "assistant"),
    "thought": (
        ReasoningMessageStartEvent,
        ReasoningMessageContentEvent,
        ReasoningMessageEndEvent,
        "reasoning",
    ),
}


@dataclass(slots=True)
class _Reply:
    """A reply of one agent's model, as far as it was told; agents may speak at once.

    Attributes:
        told: the words so far, by kind.
        open: ids of the messages that are not over, by kind.
        message: the assistant's message that calls belong to.
        arguments: of calls that are still being written, by their ids.
    """

    told: dict[Kind, str] = field(default_factory=dict)
    open: dict[Kind, str] = field(default_factory=dict)
    message: str | None = None
    arguments: dict[str, StreamedArguments] = field(default_factory=dict)


class Reader:
    """Reads the events of one run.

    Args:
        run: mints ids.
        root: name of the agent that needs no step of its own.
        structured: names of agents whose words are data, and no text for people.

    Attributes:
        said: ids of the assistant's messages that were told, in their order.
        called: ids of the calls that were told.
        answered: ids of the calls whose results were.
        calls: all calls of this run whose responses have not come, by id, made-up ones included.
        placeholders: of the calls that are asked about, by id: the event that says so.
        long_running: ids of those that wait for somebody outside.
        author: the agent that spoke last.
        replies: how many replies of models are complete.
        refused: the code with which the last reply ended that had no content.
        output: what an agent said last whose words are data.
    """

    def __init__(self, run: Run, root: str, structured: Collection[str]) -> None:
        self.said: list[str] = []
        self.called: list[str] = []
        self.answered: set[str] = set()
        self.calls: dict[str, types.FunctionCall] = {}
        self.placeholders: dict[str, Event] = {}
        self.long_running: set[str] = set()
        self.author: str | None = None
        self.replies: int = 0
        self.refused: str | None = None
        self.output: str | None = None
        self._run = run
        self._root = root
        self._structured = structured
        self._replies: dict[tuple[str, str], _Reply] = {}
        self._steps: dict[str, str] = {}

    def read(self, event: Event) -> Iterator[BaseEvent]:
        """Translate one event of ADK."""
        parts = (event.content.parts if event.content is not None else None) or []
        if not event.partial:
            self._note(event, bool(parts))
        if not parts or event.author == "user":
            return
        self.author = event.author
        yield from self._step(event)
        reply = self._replies.setdefault((event.author, event.branch or ""), _Reply())
        if event.partial:
            yield from self._fragment(reply, event.author, parts)
        else:
            yield from self._whole(reply, event, parts)

    def result(self, call: str, text: str) -> Iterator[BaseEvent]:
        """Tell what came of a call, once."""
        if call in self.answered:
            return
        self.answered.add(call)
        yield ToolCallResultEvent(
            message_id=self._run.mint(), tool_call_id=call, content=text, role="tool"
        )

    @property
    def is_waiting(self) -> bool:
        """Whether somebody outside is waited for."""
        return bool(self.waiting())

    def waiting(self) -> list[types.FunctionCall]:
        """The calls that wait for somebody outside, in their order."""
        found = [call for own, call in self.calls.items() if own in self.long_running]
        asked_about = {held_call(call)["id"] for call in found if call.name == CONFIRMATION}
        return [call for call in found if call.id not in asked_about]

    def unasked(self) -> list[Event]:
        """What ADK should have asked about calls whose tools asked a second time."""
        about = {held_call(c)["id"] for c in self.calls.values() if c.name == CONFIRMATION}
        return [
            confirmation_event(self.calls[own], event)
            for own, event in self.placeholders.items()
            if own not in about and own in self.calls
        ]

    def end(self) -> Iterator[BaseEvent]:
        """Close what is open at the end."""
        for name in self._steps.values():
            yield StepFinishedEvent(step_name=name)
        self._steps.clear()

    # --- a reply of a model ---

    def _note(self, event: Event, has_content: bool) -> None:
        self.long_running |= set(event.long_running_tool_ids or ())
        usage = event.usage_metadata
        if usage is not None:
            self._run.usage.append(
                {
                    "model": event.model_version or "unknown",
                    "inputTokens": usage.prompt_token_count or 0,
                    "outputTokens": usage.candidates_token_count or 0,
                    "totalTokens": usage.total_token_count or 0,
                }
            )
        if event.content is not None and event.content.role == "model":
            self.replies += 1
        if has_content:
            self.refused = None
        elif event.error_code:
            self.refused = event.error_code

    def _fragment(self, reply: _Reply, author: str, parts: list[types.Part]) -> Iterator[BaseEvent]:
        for part in parts:
            if part.text:
                yield from self._words(reply, author, _kind(part), part.text)
            elif part.function_call is not None:
                yield from self._arguments(reply, part.function_call)

    def _whole(self, reply: _Reply, event: Event, parts: list[types.Part]) -> Iterator[BaseEvent]:
        """What a complete event adds: its words come a second time, after they were streamed."""
        for kind in ("thought", "text"):
            words = "".join(p.text for p in parts if p.text and _kind(p) == kind)
            told = reply.told.pop(kind, "")
            if kind == "text" and words and event.author in self._structured:
                self.output = words
            elif words.startswith(told):
                yield from self._words(reply, event.author, kind, words[len(told) :])
            reply.told.pop(kind, None)
            if kind in reply.open:
                yield _EVENTS[kind][2](message_id=reply.open.pop(kind))
        for part in parts:
            if part.function_call is not None:
                yield from self._call(reply, part.function_call)
        for part in parts:
            if part.function_response is not None:
                reply.message = None
                yield from self._response(part.function_response, event)

    def _words(self, reply: _Reply, author: str, kind: Kind, text: str) -> Iterator[BaseEvent]:
        if not text or (kind == "text" and author in self._structured):
            return
        start, content, _, role = _EVENTS[kind]
        own = reply.open.get(kind)
        if own is None:
            own = reply.open[kind] = self._run.mint()
            if kind == "text":
                reply.message = own
                self.said.append(own)
            yield start(message_id=own, role=role)
        reply.told[kind] = reply.told.get(kind, "") + text
        yield content(message_id=own, delta=text)

    # --- calls ---

    def _call(self, reply: _Reply, call: types.FunctionCall) -> Iterator[BaseEvent]:
        own = call.id or ""
        self.calls[own] = call
        if call.name in (CONFIRMATION, OUTPUT):
            return
        streamed = reply.arguments.pop(own, None)
        if streamed is None:
            yield self._start(reply, own, call.name or "")
        rest = (
            streamed.rest(call.args or {}) if streamed is not None else json.dumps(call.args or {})
        )
        if rest:
            yield ToolCallArgsEvent(tool_call_id=own, delta=rest)
        yield ToolCallEndEvent(tool_call_id=own)

    def _start(self, reply: _Reply, own: str, name: str) -> BaseEvent:
        if reply.message is None:
            reply.message = self._run.mint()
            self.said.append(reply.message)
        self.called.append(own)
        return ToolCallStartEvent(
            tool_call_id=own, tool_call_name=name, parent_message_id=reply.message
        )

    def _arguments(self, reply: _Reply, call: types.FunctionCall) -> Iterator[BaseEvent]:
        """Arguments that a model is still writing, where it says which: others come whole."""
        own = call.id
        if not own or not (call.partial_args or own in reply.arguments):
            return
        if own not in reply.arguments:
            if not call.name or call.name == OUTPUT:
                return
            reply.arguments[own] = StreamedArguments()
            yield self._start(reply, own, call.name)
        for piece in call.partial_args or ():
            if text := reply.arguments[own].add(piece):
                yield ToolCallArgsEvent(tool_call_id=own, delta=text)

    def _response(self, response: types.FunctionResponse, event: Event) -> Iterator[BaseEvent]:
        own = response.id or ""
        if own in (event.actions.requested_tool_confirmations or {}):
            self.placeholders[own] = event
            return
        call = self.calls.pop(own, None)
        if response.name not in (CONFIRMATION, OUTPUT) and (call is None or call.name != OUTPUT):
            yield from self.result(own, result_text(response.response))

    def _step(self, event: Event) -> Iterator[BaseEvent]:
        """Tell which agent speaks now, in its branch, where it is not the one that was added."""
        branch, before = event.branch or "", self._steps.get(event.branch or "")
        if before == event.author or (before is None and event.author == self._root):
            return
        if before is not None:
            yield StepFinishedEvent(step_name=self._steps.pop(branch))
        if event.author != self._root:
            self._steps[branch] = event.author
            yield StepStartedEvent(step_name=event.author)


def _kind(part: types.Part) -> Kind:
    return "thought" if part.thought else "text"
