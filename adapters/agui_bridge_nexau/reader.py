"""NexAU's events as AG-UI's: names, order, ids, and what it leaves out.

NexAU speaks a dialect of its own: snake_case with nulls or without, thinking inside of text, calls
inside of an empty text, results without a message id, messages that a stop leaves open, usage and
the end of a model call as events.

Source: recordings of NexAU 0.4.1.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ag_ui.core import (
    BaseEvent,
    ReasoningEndEvent,
    ReasoningMessageContentEvent,
    ReasoningMessageEndEvent,
    ReasoningMessageStartEvent,
    ReasoningStartEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)

from agui_bridge.protocol.threads.records import Json

Raw = Mapping[str, Any]

_USAGE = {
    "input_tokens": "input_tokens",
    "completion_tokens": "output_tokens",
    "total_tokens": "total_tokens",
    "reasoning_tokens": "reasoning_tokens",
    "cache_read_tokens": "cached_input_tokens",
    "cache_creation_tokens": "cache_write_input_tokens",
}


@dataclass(slots=True)
class CallSeen:
    """A tool call of this run.

    Attributes:
        id: its id.
        name: the tool.
        arguments: as they were streamed so far.
        result: content of its result, None while it has none.
        ended: whether its arguments are complete.
    """

    id: str
    name: str
    arguments: str = ""
    result: str | None = None
    ended: bool = False

    @property
    def stops(self) -> bool:
        """Whether the tool ended the run: NexAU marks its result."""
        try:
            value = json.loads(self.result or "")
        except ValueError:
            return False
        return isinstance(value, dict) and value.get("_is_stop_tool") is True


@dataclass
class Reader:
    """Translates the events of one run.

    Attributes:
        mint: makes ids that NexAU leaves out.
        new_call: gives the id of a new call, as `CallIds.new` does.
        started: whether the run has begun: from then on it can be stopped.
        finished: whether NexAU said that it is over.
        error: what NexAU said when it failed, None if it did not.
        result: of the end, None if there was none.
        iterations: model steps begun.
        step_text: what the model said since its last step began, or since a tool's last result.
        said: whether it said or called anything.
        calls: every tool call, by id.
        usage: tokens by model name.
    """

    mint: Callable[[], str]
    new_call: Callable[[str | None], str]
    started: bool = False
    finished: bool = False
    error: str | None = None
    result: Json = None
    iterations: int = 0
    step_text: str = ""
    said: bool = False
    calls: dict[str, CallSeen] = field(default_factory=dict)
    usage: dict[str, dict[str, int]] = field(default_factory=dict)
    _steps: set[str] = field(default_factory=set)
    _named: dict[str, str] = field(default_factory=dict)
    # By NexAU's ids, which it may use again.
    _last: dict[str, CallSeen] = field(default_factory=dict)
    _text: str | None = None
    _thought: str | None = None
    _model: str = ""

    def take(self, event: Raw) -> list[BaseEvent]:
        """Take NexAU's next event and give AG-UI's, none or several."""
        handle = getattr(self, f"_on_{str(event.get('type')).lower()}", None)
        found: list[BaseEvent] = handle(event) if handle is not None else []
        return found

    def close(self) -> list[BaseEvent]:
        """End what NexAU left open."""
        return [*self._end_thought(), *self._end_text()]

    @property
    def pending(self) -> list[CallSeen]:
        """Calls that were made whole and have no result."""
        return [call for call in self.calls.values() if call.ended and call.result is None]

    def usage_entries(self) -> list[dict[str, Any]]:
        """Tokens as AG-UI's entries, one for each model."""
        return [
            {**({"model": model} if model else {}), **counts}
            for model, counts in self.usage.items()
        ]

    # --- the run ---

    def _on_run_started(self, event: Raw) -> list[BaseEvent]:
        self.started = True
        return []

    def _on_run_finished(self, event: Raw) -> list[BaseEvent]:
        self.finished = True
        self.result = event.get("result") or None
        return []

    def _on_run_error(self, event: Raw) -> list[BaseEvent]:
        # A failure of the transport repeats that of the run.
        if self.error is None:
            self.error = str(event.get("message") or "")
        return []

    _on_transport_error = _on_run_error

    def _on_model_call_finished(self, event: Raw) -> list[BaseEvent]:
        self._model = str(event.get("model_name") or "")
        return []

    def _on_usage_update(self, event: Raw) -> list[BaseEvent]:
        given = event.get("usage") or {}
        counts = {ours: given.get(theirs) or 0 for theirs, ours in _USAGE.items()}
        if any(counts.values()):
            total = self.usage.setdefault(self._model, {})
            for name, count in counts.items():
                total[name] = total.get(name, 0) + count
        return []

    # --- text and thoughts ---

    def _on_text_message_start(self, event: Raw) -> list[BaseEvent]:
        # Nothing yet: it comes before a call without any text, too.
        step = event.get("message_id")
        if step is None or step not in self._steps:
            self._steps.add(str(step))
            self.iterations += 1
            self.step_text = ""
        return []

    def _on_text_message_content(self, event: Raw) -> list[BaseEvent]:
        delta = event.get("delta")
        if not delta:
            return []
        self.said = True
        self.step_text += delta
        out = self._end_thought()
        if self._text is None:
            self._text = self._fresh(event.get("message_id"))
            out.append(TextMessageStartEvent(message_id=self._text, role="assistant"))
        out.append(TextMessageContentEvent(message_id=self._text, delta=delta))
        return out

    def _on_text_message_end(self, event: Raw) -> list[BaseEvent]:
        return self.close()

    def _on_thinking_text_message_start(self, event: Raw) -> list[BaseEvent]:
        return self.close()

    def _on_thinking_text_message_content(self, event: Raw) -> list[BaseEvent]:
        delta = event.get("delta")
        if not delta:
            return []
        out = self._end_text()
        if self._thought is None:
            thought = self._thought = self._fresh(event.get("thinking_message_id"))
            out.append(ReasoningStartEvent(message_id=thought))
            out.append(ReasoningMessageStartEvent(message_id=thought, role="reasoning"))
        out.append(ReasoningMessageContentEvent(message_id=self._thought, delta=delta))
        return out

    def _on_thinking_text_message_end(self, event: Raw) -> list[BaseEvent]:
        return self._end_thought()

    def _fresh(self, named: Any) -> str:
        """An id for a message: NexAU's own, unless it is missing or was used for another one."""
        if isinstance(named, str) and named and named not in self._named:
            self._named[named] = named
            return named
        return self.mint()

    def _end_text(self) -> list[BaseEvent]:
        text, self._text = self._text, None
        return [] if text is None else [TextMessageEndEvent(message_id=text)]

    def _end_thought(self) -> list[BaseEvent]:
        thought, self._thought = self._thought, None
        if thought is None:
            return []
        return [ReasoningMessageEndEvent(message_id=thought), ReasoningEndEvent(message_id=thought)]

    # --- calls ---

    def _on_tool_call_start(self, event: Raw) -> list[BaseEvent]:
        native = event.get("tool_call_id")
        call = CallSeen(self.new_call(native), str(event.get("tool_call_name")))
        self.calls[call.id] = self._last[str(native)] = call
        self.said = True
        # The text ends after its calls with NexAU; before them there is nothing left to say.
        start = ToolCallStartEvent(
            tool_call_id=call.id,
            tool_call_name=call.name,
            parent_message_id=event.get("parent_message_id"),
        )
        return [*self.close(), start]

    def _on_tool_call_args(self, event: Raw) -> list[BaseEvent]:
        call, delta = self._last.get(str(event.get("tool_call_id"))), event.get("delta")
        if call is None or not delta:
            return []
        call.arguments += delta
        return [ToolCallArgsEvent(tool_call_id=call.id, delta=delta)]

    def _on_tool_call_end(self, event: Raw) -> list[BaseEvent]:
        call = self._last.get(str(event.get("tool_call_id")))
        if call is None or call.ended:
            return []
        call.ended = True
        return [*self._no_arguments(call), ToolCallEndEvent(tool_call_id=call.id)]

    def _no_arguments(self, call: CallSeen) -> list[BaseEvent]:
        """What stands for no arguments: an empty text is none that a model's API takes."""
        if call.arguments:
            return []
        call.arguments = "{}"
        return [ToolCallArgsEvent(tool_call_id=call.id, delta="{}")]

    def _on_tool_call_result(self, event: Raw) -> list[BaseEvent]:
        call = self._last.get(str(event.get("tool_call_id")))
        if call is None:
            return []
        content = event.get("content")
        call.result = content if isinstance(content, str) else json.dumps(content)
        self.step_text = ""
        out: list[BaseEvent] = []
        if not call.ended:
            call.ended = True
            out += [*self._no_arguments(call), ToolCallEndEvent(tool_call_id=call.id)]
        out.append(
            ToolCallResultEvent(
                message_id=event.get("message_id") or self.mint(),
                tool_call_id=call.id,
                content=call.result,
                role="tool",
            )
        )
        return out
