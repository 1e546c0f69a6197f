"""What agents tell, as AG-UI's events."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from ag_ui.core import (
    BaseEvent,
    ReasoningEncryptedValueEvent,
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
from agui_bridge.protocol.threads.records import Json
from agui_bridge_adk.content import counted, result_text
from agui_bridge_adk.guard import OUTPUT
from agui_bridge_adk.nodes import NodeCall, NodeResult, confirmed_by, output_of, requests_in
from agui_bridge_adk.pauses import CONFIRMATION, confirmation_event, held_call

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
    thought: str | None = None
    message: str | None = None
    arguments: dict[str, StreamedArguments] = field(default_factory=dict)


class Reader:
    """Reads the events of one run.

    Args:
        run: mints ids.
        root: name of the agent that needs no step of its own.
        structured: names of agents whose words are data, and no text for people.
        of_nodes: ids of the calls that nodes of a workflow make, by the node's path; None: the
            root is no workflow.
        gemini: names of agents whose models are Google's.
        models: names of agents that have one: others make their calls by the author's code.

    Attributes:
        said: ids of the assistant's messages that were told, in their order.
        called: ids of the calls that were told.
        of_code: ids of those that the author's code made, and may carry out by itself.
        answered: ids of the calls whose results were.
        tools: names of the tools whose calls were told, or have been let run since.
        ran: names of those that have a result, or have been let run.
        calls: all calls of this run whose responses have not come, by id, made-up ones included.
        placeholders: of the calls that are asked about, by id: the event that says so.
        long_running: ids of those that wait for somebody outside.
        author: the agent that spoke last.
        replies: how many replies of models are complete.
        refused: the code with which the last reply ended that had no content.
        output: what an agent said last whose words are data, or what a workflow gave.
        wire: ids on the wire of what nodes ask, by ADK's.
        functions: ids of calls that are nodes' functions, which ADK asks about.
        goes_on: whether a workflow has begun and not come to its end.
    """

    def __init__(
        self,
        run: Run,
        root: str,
        structured: Collection[str],
        of_nodes: dict[str, str] | None = None,
        gemini: Collection[str] = (),
        models: Collection[str] = (),
    ) -> None:
        self.said: list[str] = []
        self.called: list[str] = []
        self.of_code: set[str] = set()
        self.answered: set[str] = set()
        self.calls: dict[str, types.FunctionCall] = {}
        self.placeholders: dict[str, Event] = {}
        self.long_running: set[str] = set()
        self.author: str | None = None
        self.replies: int = 0
        self.refused: str | None = None
        self.output: Any = None
        self.wire: dict[str, str] = {}
        self.functions: set[str] = set()
        self.goes_on: bool = False
        self.tools: set[str] = set()
        self.ran: set[str] = set()
        self._of_nodes = of_nodes
        self._gemini = gemini
        self._models = models
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
            if self._of_nodes is not None:
                yield from self._node(event)
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
                counted(usage)
                | {"model": event.model_version or "unknown"}
                | ({"provider": "google"} if event.author in self._gemini else {})
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
                if self._of_nodes is None:
                    self.output = words
            elif words.startswith(told):
                yield from self._words(reply, event.author, kind, words[len(told) :])
            reply.told.pop(kind, None)
            yield from self._end(reply, kind)
            if kind == "thought" and reply.thought is not None:
                for part in parts:
                    if part.thought:
                        yield from _signed("message", reply.thought, part)
                reply.thought = None
        for part in parts:
            if part.function_call is not None:
                if event.author not in self._models:
                    self.of_code.add(part.function_call.id or "")
                yield from self._call(reply, part.function_call)
                if part.function_call.id in self.called:
                    yield from _signed("tool-call", part.function_call.id, part)
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
            if kind == "text":
                yield from self._end(reply, "thought")
            own = reply.open[kind] = self._run.mint()
            if kind == "text":
                reply.message = own
                self.said.append(own)
            else:
                reply.thought = own
            yield start(message_id=own, role=role)
        reply.told[kind] = reply.told.get(kind, "") + text
        yield content(message_id=own, delta=text)

    def _end(self, reply: _Reply, kind: Kind) -> Iterator[BaseEvent]:
        """Close a text, or a thought: it is over once something else is said or called."""
        own = reply.open.pop(kind, None)
        if own is not None:
            yield _EVENTS[kind][2](message_id=own)

    # --- calls ---

    def node(self, told: NodeCall | NodeResult) -> Iterator[BaseEvent]:
        """Tell a tool that a node of a workflow runs, or what it returned."""
        if isinstance(told, NodeResult):
            yield from self.result(told.id, told.text)
            return
        yield self._start(_Reply(), told.id, told.name)
        yield ToolCallArgsEvent(tool_call_id=told.id, delta=json.dumps(told.args))
        yield ToolCallEndEvent(tool_call_id=told.id)

    def _node(self, event: Event) -> Iterator[BaseEvent]:
        """Note what a node of a workflow asks, and tell what it gave once it was let run."""
        assert self._of_nodes is not None
        if event.author == self._root and event.actions.agent_state is not None:
            self.goes_on = True
        elif event.author == self._root and event.actions.end_of_agent:
            self.goes_on = False
        given = output_of(event, self._root)
        self.output = self.output if given is None else given
        for call in requests_in(event):
            path = confirmed_by(call)
            own = self._of_nodes.get(path) if path is not None else None
            if own is None:
                own = self._run.mint()
                if path is not None:
                    self._of_nodes[path] = own
                    self.functions.add(own)
                    about = (call.args or {})["payload"]
                    yield from self.node(NodeCall(own, about["tool_name"], about.get("args") or {}))
            self.wire[call.id or ""] = own
        own = self._of_nodes.get(event.node_info.path)
        is_result = not event.error_code and not event.get_function_calls()
        if own is not None and event.author != "user" and is_result:
            told = event.output if event.output is not None else _words_of(event)
            yield from self.result(own, result_text(told))

    def _call(self, reply: _Reply, call: types.FunctionCall) -> Iterator[BaseEvent]:
        own = call.id or ""
        self.calls[own] = call
        if own in self.wire:
            if confirmed_by(call) is not None:
                return
            own = self.wire[own]
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
        self.tools.add(name)
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
            yield from self._end(reply, "thought")
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
        if call is not None and own in self.called:
            self.ran.add(call.name or "")
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


def _signed(subtype: Any, own: str, part: types.Part) -> Iterator[BaseEvent]:
    """What a provider knows a thought again by, or the one behind a call, as ag_ui_adk tells it."""
    if part.thought_signature:
        value = base64.b64encode(part.thought_signature).decode()
        yield ReasoningEncryptedValueEvent(subtype=subtype, entity_id=own, encrypted_value=value)


def _words_of(event: Event) -> str:
    parts = (event.content.parts if event.content is not None else None) or []
    return "".join(part.text for part in parts if part.text)


def _kind(part: types.Part) -> Kind:
    return "thought" if part.thought else "text"


# --- a call's arguments that a model writes piece by piece, as the text of one JSON object ---

_MEMBER: Final = re.compile(r"\$\.([A-Za-z_]\w*)")
"""The path of an argument itself; what lies deeper is told when it is whole."""


class StreamedArguments:
    """Puts the text of one object together; what was told is never taken back.

    Gemini tells which argument each piece belongs to, by JSON path. Pieces of texts go out as they
    come, other values whole, one argument after the other.
    """

    def __init__(self) -> None:
        self._told: dict[str, Any] = {}
        self._open: str | None = None

    def add(self, piece: types.PartialArg) -> str:
        """The text that a piece adds, "" if it has to wait for the whole."""
        found = _MEMBER.fullmatch(piece.json_path or "")
        if found is None:
            return ""
        name = found[1]
        if piece.string_value is None:
            return "" if name in self._told else self._value(name, piece)
        if name in self._told and name != self._open:
            return ""
        text = "" if name == self._open else self._begin(name) + '"'
        self._told[name] = self._told.get(name, "") + piece.string_value
        self._open = name
        return text + json.dumps(piece.string_value)[1:-1]

    def rest(self, args: Mapping[str, Json]) -> str:
        """The text that the complete arguments add, and the end of the object."""
        text = ""
        if self._open is not None:
            whole = args.get(self._open)
            told = self._told[self._open]
            if isinstance(whole, str) and whole.startswith(told):
                text += json.dumps(whole[len(told) :])[1:-1]
            text, self._open = text + '"', None
        for name, value in args.items():
            if name not in self._told:
                text += self._begin(name) + json.dumps(value)
                self._told[name] = value
        return text + ("}" if self._told else "{}")

    def _value(self, name: str, piece: types.PartialArg) -> str:
        value: Any = piece.number_value if piece.number_value is not None else piece.bool_value
        if value is None:
            # Null, or only the announcement of a value: the whole tells.
            return ""
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        text = self._begin(name) + json.dumps(value)
        self._told[name] = value
        return text

    def _begin(self, name: str) -> str:
        """What stands before the value of an argument."""
        end = '"' if self._open is not None else ""
        self._open = None
        return f"{end}{', ' if self._told else '{'}{json.dumps(name)}: "
