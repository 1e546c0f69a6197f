"""What a graph streams, as AG-UI's events."""

from __future__ import annotations

import json
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ag_ui.core import (
    BaseEvent,
    CustomEvent,
    ReasoningMessageContentEvent,
    ReasoningMessageEndEvent,
    ReasoningMessageStartEvent,
    StateSnapshotEvent,
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
from langchain_core.messages import AIMessage, AIMessageChunk, ToolMessage

from agui_bridge.adapters import Run
from agui_bridge.protocol.threads.records import ToolCall
from agui_bridge_langgraph.calls.open_calls import OpenCall
from agui_bridge_langgraph.calls.wire_ids import Mark, WireIds
from agui_bridge_langgraph.content import content_text, plain, said_in
from agui_bridge_langgraph.subagents import Subagents

__all__ = ["Reader"]


@dataclass(slots=True)
class _Message:
    """A message of a model that is being told.

    Attributes:
        id: the first of its ids.
        ids: all of them: some models change it within a message, and the graph keeps one.
        number: among the messages of the run.
        about: what LangGraph says of it.
        owner: the sub-agent that says it.
        texts: whether it has text.
        reasoning: id of its reasoning, while that is open.
        calls: ids of its calls.
        places: by the place of a call, the model's id of it, and its own.
    """

    id: str
    ids: list[str]
    number: int
    about: Any
    owner: str | None = None
    texts: bool = False
    reasoning: str | None = None
    calls: list[str] = field(default_factory=list)
    places: dict[Any, tuple[str, str]] = field(default_factory=dict)


class Reader:
    """Reads the stream of one run.

    Args:
        run: mints ids, and takes usage.
        wire: the ids of calls.
        answered: ids of the calls whose results the thread has.
        shared: names of the state that clients see.
        subagents: the agents inside tools.

    Attributes:
        called: ids of the calls that were told.
        known: ids of messages that the graph had before, or that were told: not again.
        answered: ids of the calls whose results were, or were known.
    """

    def __init__(
        self,
        run: Run,
        wire: WireIds,
        answered: Collection[str],
        shared: Collection[str],
        subagents: Subagents,
    ) -> None:
        self.called: list[str] = []
        self.known: set[str] = set()
        self.answered: set[str] = set(answered)
        self._run = run
        self._wire = wire
        self._shared = shared
        self._subagents = subagents
        self._state: Any = None
        self._open: dict[Any, _Message] = {}
        self._speaking: _Message | None = None
        self._calls: dict[str, tuple[str, str]] = {}
        self._steps: dict[str, set[str]] = {}

    def items(self, parts: Iterable[Any]) -> Iterator[BaseEvent | str]:
        """Translate parts of the stream: each its namespace, mode and data, as `read` has them."""
        for part in parts:
            text = self.delta(part[1], part[2])
            if text is not None:
                yield text
            else:
                yield from self.read(*part)

    def delta(self, mode: str, data: Any) -> str | None:
        """The text of a part that is text and nothing else, as nearly all are; else None."""
        if mode != "messages" or type(data[0]) is not AIMessageChunk:
            return None
        chunk, about = data
        message = self._speaking
        if message is None or message.about is not about or chunk.id not in self.known:
            return None
        text = chunk.content
        bare = not chunk.tool_call_chunks and not chunk.additional_kwargs
        if type(text) is not str or not text or not bare:
            return None
        if chunk.usage_metadata is not None or chunk.chunk_position is not None:
            return None
        return text

    def read(self, namespace: tuple[str, ...], mode: str, data: Any) -> Iterator[BaseEvent | str]:
        """Translate one part of the stream.

        Args:
            namespace: the graph that it comes from; the root's is empty.
            mode: LangGraph's stream mode, or `result`, `event`, `begins` of the guard.
            data: what the mode gives.
        """
        if mode == "messages":
            yield from self._message(*data)
        elif mode == "result":
            yield from self._result(*data)
        elif mode == "tasks":
            yield from self._step(namespace, data)
        elif mode == "values" and not namespace and isinstance(data, Mapping):
            yield from self._values(data)
        elif mode == "custom" and isinstance(data, Mark):
            data.seen.set()
        elif mode == "custom":
            yield data if isinstance(data, BaseEvent) else _custom("langgraph", data)
        elif mode == "event":
            yield _custom(*data)

    def open_calls(self) -> list[OpenCall]:
        """The calls that were told and not answered."""
        left = [
            (ToolCall(own, name, _object(args)), self._wire.call(own))
            for own, (name, args) in self._calls.items()
            if own not in self.answered
        ]
        return [OpenCall(call, known.native, known.within) for call, known in left if known]

    # --- messages ---

    def _message(self, message: Any, about: Any) -> Iterator[BaseEvent | str]:
        if isinstance(message, AIMessageChunk):
            yield from self._chunk(message, about)
        elif isinstance(message, AIMessage):
            yield from self._whole(message, about)
        elif isinstance(message, ToolMessage) and message.id not in self.known:
            place = str(about.get("langgraph_checkpoint_ns"))
            own = self._wire.result(message.tool_call_id, place)
            if own is not None:
                yield from self._result(own, message)

    def _chunk(self, chunk: AIMessageChunk, about: Any) -> Iterator[BaseEvent | str]:
        task = about.get("langgraph_checkpoint_ns")
        message, content = self._open.get(task), chunk.content
        if message is None or message.about is not about:
            if not content and not chunk.tool_call_chunks and not chunk.additional_kwargs:
                self._note_usage(chunk)
                return
            yield from self._end(task)
            owner = yield from self._owner(about)
            message = self._begin(chunk.id or self._run.mint(), about, owner)
            self._speaking = None
            self._run.iteration = (self._run.iteration or 0) + 1
            self.known.add(message.id)
        if chunk.id is not None and chunk.id != message.id:
            self.known.add(chunk.id)
            if chunk.id not in message.ids:
                message.ids.append(chunk.id)
        if isinstance(content, str) and not chunk.additional_kwargs:
            text = content
        else:
            thought, text = said_in(chunk)
            if thought:
                yield from self._think(message, thought)
        if text:
            yield from self._say(message, text)
        for part in chunk.tool_call_chunks:
            yield from self._call(message, part)
        self._note_usage(chunk)
        if chunk.chunk_position == "last":
            yield from self._end(task)

    def _begin(self, own: str, about: Any, owner: str | None) -> _Message:
        message = _Message(own, [own], self._wire.new_message(), about, owner)
        self._open[about.get("langgraph_checkpoint_ns")] = message
        return message

    def _owner(self, about: Mapping[str, Any]) -> Generator[BaseEvent | str, None, str | None]:
        """Who says what this is about; a new sub-agent is announced."""
        task, name = str(about.get("langgraph_checkpoint_ns")), about.get("lc_agent_name")
        owner, events = self._subagents.speaking(task, name)
        yield from events
        return owner

    def _think(self, message: _Message, thought: str) -> Iterator[BaseEvent | str]:
        self._speaking = None
        if message.reasoning is None:
            message.reasoning = self._run.mint()
            yield ReasoningMessageStartEvent(
                message_id=message.reasoning, role="reasoning", subagent_run_id=message.owner
            )
        yield ReasoningMessageContentEvent(
            message_id=message.reasoning, delta=thought, subagent_run_id=message.owner
        )

    def _say(self, message: _Message, text: str) -> Iterator[BaseEvent | str]:
        yield from _end_reasoning(message)
        if not message.texts:
            message.texts = True
            yield TextMessageStartEvent(
                message_id=message.id, role="assistant", subagent_run_id=message.owner
            )
        # Plain text goes on with the message that is open, where it is the only one.
        is_only = len(self._open) == 1 and message.owner is None
        self._speaking = message if is_only else None
        if self._speaking is None:
            yield TextMessageContentEvent(
                message_id=message.id, delta=text, subagent_run_id=message.owner
            )
        else:
            yield text

    def _call(self, message: _Message, part: Mapping[str, Any]) -> Iterator[BaseEvent | str]:
        place, native = part.get("index"), part.get("id")
        if native and native != message.places.get(place, ("", ""))[0]:
            yield from _end_reasoning(message)
            task = str(message.about.get("langgraph_checkpoint_ns"))
            own = self._wire.told(native, task, message.number, message.ids)
            # Some models number none of their calls, or all alike: what follows is the last one's.
            message.places[place] = (native, own)
            message.calls.append(own)
            self.called.append(own)
            name = part.get("name") or ""
            self._calls[own] = (name, "")
            if message.owner is not None:
                self._subagents.own(own, message.owner)
            yield ToolCallStartEvent(
                tool_call_id=own,
                tool_call_name=name,
                parent_message_id=message.id,
                subagent_run_id=message.owner,
            )
        _, call = message.places.get(place, ("", ""))
        if call and part.get("args"):
            name, args = self._calls[call]
            self._calls[call] = (name, args + part["args"])
            yield ToolCallArgsEvent(
                tool_call_id=call, delta=part["args"], subagent_run_id=message.owner
            )

    def _end(self, task: Any) -> Iterator[BaseEvent | str]:
        message = self._open.pop(task, None)
        if message is None:
            return
        self._speaking = None
        yield from _end_reasoning(message)
        if message.texts:
            yield TextMessageEndEvent(message_id=message.id, subagent_run_id=message.owner)
        for call in message.calls:
            yield ToolCallEndEvent(tool_call_id=call, subagent_run_id=message.owner)

    def _whole(self, whole: AIMessage, about: Any) -> Iterator[BaseEvent | str]:
        own = whole.id or self._run.mint()
        if own in self.known:
            return
        self.known.add(own)
        self._run.iteration = (self._run.iteration or 0) + 1
        self._note_usage(whole)
        task = about.get("langgraph_checkpoint_ns")
        yield from self._end(task)
        owner = yield from self._owner(about)
        message = self._begin(own, about, owner)
        thought, text = said_in(whole)
        if thought:
            yield from self._think(message, thought)
        if text:
            yield from self._say(message, text)
        for number, call in enumerate(whole.tool_calls):
            args = json.dumps(call["args"])
            yield from self._call(message, {**call, "index": number, "args": args})
        yield from self._end(task)

    def _note_usage(self, message: AIMessage) -> None:
        usage: Any = message.usage_metadata
        if not usage:
            return
        about = message.response_metadata
        self._run.usage.append(
            {
                "model": about.get("model_name") or about.get("model") or "unknown",
                "inputTokens": usage["input_tokens"],
                "outputTokens": usage["output_tokens"],
                "totalTokens": usage["total_tokens"],
            }
        )

    def _result(self, own: str, message: ToolMessage) -> Iterator[BaseEvent | str]:
        self._wire.answered(own)
        if message.id is not None:
            self.known.add(message.id)
        if own in self.answered:
            return
        self.answered.add(own)
        owner, events = self._subagents.owner(own)
        yield from events
        yield ToolCallResultEvent(
            message_id=message.id or self._run.mint(),
            tool_call_id=own,
            content=content_text(message),
            role="tool",
            subagent_run_id=owner,
        )

    # --- steps and state ---

    def _step(
        self, namespace: tuple[str, ...], data: Mapping[str, Any]
    ) -> Iterator[BaseEvent | str]:
        name, own = str(data["name"]), str(data["id"])
        ends = "result" in data or "error" in data
        if ends:
            # A model that did not say that it is done is, when its node is.
            for task in [task for task in self._open if str(task).rpartition(":")[2] == own]:
                yield from self._end(task)
            if not data.get("interrupts"):
                yield from self._finish("|".join((*namespace, f"{name}:{own}")))
        if namespace or name.startswith("__"):
            return
        running = self._steps.setdefault(name, set())
        if not ends:
            running.add(own)
            if len(running) == 1:
                yield StepStartedEvent(step_name=name)
        elif own in running:
            running.remove(own)
            if not running:
                yield StepFinishedEvent(step_name=name)

    def _finish(self, task: str) -> Iterator[BaseEvent | str]:
        """Close the sub-agents of a task, which has told all: results overtake what it streams."""
        for finished in self._subagents.finish(task):
            own = finished.subagent_run_id
            for place in [place for place, one in self._open.items() if one.owner == own]:
                yield from self._end(place)
            yield finished

    def _values(self, values: Mapping[str, Any]) -> Iterator[BaseEvent | str]:
        state = {name: plain(values[name]) for name in self._shared if name in values}
        if state and state != self._state:
            self._state = state
            yield StateSnapshotEvent(snapshot=state)


def _end_reasoning(message: _Message) -> Iterator[BaseEvent | str]:
    if message.reasoning is not None:
        yield ReasoningMessageEndEvent(message_id=message.reasoning, subagent_run_id=message.owner)
        message.reasoning = None


def _object(text: str) -> Any:
    try:
        return json.loads(text or "{}")
    except ValueError:
        return {}


def _custom(name: str, value: Any) -> CustomEvent:
    return CustomEvent(name=name, value=plain(value))
