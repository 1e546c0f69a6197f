"""What a graph streams, as AG-UI's events."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping
from typing import Any

from ag_ui.core import (
    BaseEvent,
    ReasoningMessageContentEvent,
    ReasoningMessageStartEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ToolMessage,
    message_chunk_to_message,
)

from agui_bridge.adapters import Run
from agui_bridge.protocol.threads.records import ToolCall
from agui_bridge_langgraph.calls.open_calls import OpenCall
from agui_bridge_langgraph.calls.wire_ids import Mark, WireIds
from agui_bridge_langgraph.checkpoint import messages_of
from agui_bridge_langgraph.content import content_text, plain, read_arguments, said_in
from agui_bridge_langgraph.telling.by_code import ByCode
from agui_bridge_langgraph.telling.emitted import (
    CALL,
    EXIT,
    MESSAGE,
    STATE,
    call_events,
    custom,
    message_events,
)
from agui_bridge_langgraph.telling.said import Ahead, Said, end_reasoning, signed, usage_entry
from agui_bridge_langgraph.telling.shown import ALL, Shown, shown
from agui_bridge_langgraph.telling.subagents import Subagents
from agui_bridge_langgraph.telling.surroundings import Surroundings


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
        said: the graph's own messages that were told, by each of their ids.
        emitted: texts that the graph's code told by itself, by the message's id.
        thoughts: ids of the messages that reasoning is of, by its own.
        results: the call, and what was told as its result, by the id of a tool's message.
        stated: ids of messages that the graph's state has had.
        ran: calls that were carried out and have no result yet: tool, arguments, what it gave.
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
        self.said: dict[str, Said] = {}
        self.emitted: dict[str, str] = {}
        self.thoughts: dict[str, str] = {}
        self.results: dict[str, tuple[str, str]] = {}
        self.stated: set[str] = set()
        self.ran: dict[str, tuple[str, Any, ToolMessage]] = {}
        self._by_code = ByCode(wire)
        self._hidden: set[str] = set()
        self._seen: set[tuple[str, ...]] = {()}
        self._of_thread = {c["id"] for m in run.raw_messages for c in m.get("toolCalls") or ()}
        self._run = run
        self._wire = wire
        self._subagents = subagents
        self._around = Surroundings(shared)
        self._open: dict[Any, Said] = {}
        self._ahead = Ahead()
        self._speaking: Said | None = None
        self._calls: dict[str, tuple[str, str]] = {}

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
        bare = bare and chunk.usage_metadata is None and chunk.chunk_position is None
        return text if bare and type(text) is str and text else None

    def read(self, namespace: tuple[str, ...], mode: str, data: Any) -> Iterator[BaseEvent | str]:
        """Translate one part of the stream.

        Args:
            namespace: the graph that it comes from; the root's is empty.
            mode: LangGraph's stream mode, or `result`, `ran…`, `event`, `begins` of the guard.
            data: what the mode gives.
        """
        if mode == "messages":
            yield from self._message(*data)
        elif mode == "result":
            yield from self._carried_out(*data)
        elif mode == "ran":
            # No `ToolNode` carried it out: its node may tell it, and perhaps otherwise.
            self.ran[data[0]] = data[1:]
        elif mode == "ran by code":
            self._by_code.note(*data)
        elif mode == "tasks":
            yield from self._step(namespace, data)
        elif mode == "values" and isinstance(data, Mapping):
            yield from self._values(namespace, data)
        elif mode == "custom" and isinstance(data, Mark):
            data.seen.set()
        elif mode == "custom":
            yield data if isinstance(data, BaseEvent) else custom("langgraph", data)
        elif mode == "event":
            yield from self._emitted(*data)

    def open_calls(self) -> list[OpenCall]:
        """The calls that were told and not answered."""
        left = [
            (ToolCall(own, name, read_arguments(args)), self._wire.call(own))
            for own, (name, args) in self._calls.items()
            if own not in self.answered
        ]
        return [
            OpenCall(call, known.native, known.within)
            for call, known in left
            if known is not None and known.waits
        ]

    def calls_of(self, tools: Collection[str]) -> set[str]:
        """Ids of the calls of some tools that were told."""
        return {own for own, (name, _) in self._calls.items() if name in tools}

    def news(self, messages: Iterable[BaseMessage], graph: str) -> Iterator[BaseEvent | str]:
        """What a graph's state has of the conversation and nothing has told yet.

        LangGraph streams what its models say and what nodes return as messages; not what they
        return as dicts or tuples, or write by a function of their own.

        Args:
            messages: of the state.
            graph: its namespace.
        """
        about = {"langgraph_checkpoint_ns": f"{graph}|" if graph else ""}
        for message in messages:
            if message.id not in self.known and not (graph and message.id in self._hidden):
                is_parts = isinstance(message, AIMessageChunk)
                whole: Any = message_chunk_to_message(message) if is_parts else message
                yield from self._message(whole, about)
            elif isinstance(message, AIMessage) and message.tool_calls:
                yield from self._further_calls(message)

    def last(self) -> Iterator[BaseEvent | str]:
        """What was carried out and nothing else tells: calls of hidden models, in nodes of code."""
        self.ran |= self._by_code.results(o for o in self.open_calls() if o.call.id not in self.ran)
        for own, (name, args, message) in list(self.ran.items()):
            if own in self.answered:
                continue
            if self._is_untold(own):
                self._calls[own] = (name, json.dumps(plain(args)))
                yield from call_events({"name": name, "args": args}, own)
            yield from self._result(own, message)

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
                self._ahead.note(chunk.id, about)
                return
            yield from self._end(task)
            owner = yield from self._owner(about)
            told = shown(about)
            message = self._begin(chunk.id or self._run.mint(), about, owner, told)
            message.name = chunk.name or about.get("lc_agent_name") if owner is None else None
            self._speaking = None
            self._run.iteration = (self._run.iteration or 0) + 1
        if chunk.id is not None and chunk.id != message.id and chunk.id not in message.ids:
            message.ids.append(chunk.id)
            if message.id in self.known:
                self._note_told(message)
        if isinstance(content, str) and not chunk.additional_kwargs:
            text = content
        else:
            thought, text = said_in(chunk)
            if thought:
                yield from self._think(message, thought)
            yield from signed(message, chunk)
        if text:
            yield from self._say(message, text)
        for part in chunk.tool_call_chunks:
            yield from self._call(message, part)
        self._note_usage(chunk)
        if chunk.chunk_position == "last":
            yield from self._end(task)

    def _begin(self, own: str, about: Any, owner: str | None, told: Shown = ALL) -> Said:
        ids = list(dict.fromkeys([own, *self._ahead.take(about)]))
        message = Said(own, ids, self._wire.new_message(), about, owner, told)
        self._open[about.get("langgraph_checkpoint_ns")] = message
        return message

    def _note_told(self, message: Said) -> None:
        """Note that something of a message was told, under all of its ids."""
        self.known.update(message.ids)
        if message.owner is None:
            self.said.update(dict.fromkeys(message.ids, message))

    def _owner(self, about: Mapping[str, Any]) -> Generator[BaseEvent | str, None, str | None]:
        """Who says what this is about; a new sub-agent is announced."""
        task, name = str(about.get("langgraph_checkpoint_ns")), about.get("lc_agent_name")
        owner, events = self._subagents.speaking(task, name)
        yield from events
        return owner

    def _think(self, message: Said, thought: str) -> Iterator[BaseEvent | str]:
        if not message.shown.text:
            return
        self._speaking = None
        if message.reasoning is None:
            self._note_told(message)
            message.reasoning = message.thought = self._run.mint()
            self.thoughts[message.reasoning] = message.id
            yield ReasoningMessageStartEvent(
                message_id=message.reasoning, role="reasoning", subagent_run_id=message.owner
            )
        yield ReasoningMessageContentEvent(
            message_id=message.reasoning, delta=thought, subagent_run_id=message.owner
        )

    def _say(self, message: Said, text: str) -> Iterator[BaseEvent | str]:
        if not message.shown.text:
            return
        yield from end_reasoning(message)
        if not message.texts:
            message.texts = True
            self._note_told(message)
            yield TextMessageStartEvent(
                message_id=message.id,
                role="assistant",
                name=message.name,
                subagent_run_id=message.owner,
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

    def _call(self, message: Said, part: Mapping[str, Any]) -> Iterator[BaseEvent | str]:
        place, native = part.get("index"), part.get("id")
        if native and native != message.places.get(place, ("", ""))[0]:
            if not message.shown.has_call(part.get("name") or ""):
                message.places[place] = (native, "")
                return
            yield from end_reasoning(message)
            self._note_told(message)
            task = str(message.about.get("langgraph_checkpoint_ns"))
            own = self._wire.told(native, task, message.number, message.ids)
            # Some models number none of their calls, or all alike: what follows is the last one's.
            message.places[place] = (native, own)
            message.natives.append(native)
            if own in self._calls:
                # The graph's code had told it itself.
                return
            message.calls.append(own)
            self.called.append(own)
            name = part.get("name") or ""
            self._calls[own] = (name, "")
            if message.owner is not None:
                self._subagents.own(own, message.owner)
            predicted = message.shown.predicted(name)
            if predicted is not None:
                yield predicted
            yield ToolCallStartEvent(
                tool_call_id=own,
                tool_call_name=name,
                parent_message_id=message.id,
                subagent_run_id=message.owner,
            )
        _, call = message.places.get(place, ("", ""))
        if call in message.calls and part.get("args"):
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
        if message.shown is not ALL:
            self._hidden.update(message.ids)
        yield from end_reasoning(message)
        if message.texts:
            yield TextMessageEndEvent(message_id=message.id, subagent_run_id=message.owner)
        for call in message.calls:
            yield ToolCallEndEvent(tool_call_id=call, subagent_run_id=message.owner)
        for call in message.calls:
            if call in self.ran:
                # It overtook what was streamed of the call.
                yield from self._result(call, self.ran[call][2])

    def _whole(self, whole: AIMessage, about: Any) -> Iterator[BaseEvent | str]:
        own = whole.id or self._run.mint()
        if own in self.known:
            return
        told = shown(about)
        self._run.iteration = (self._run.iteration or 0) + 1
        self._note_usage(whole)
        yield from self._end(task := about.get("langgraph_checkpoint_ns"))
        owner = yield from self._owner(about)
        message = self._begin(own, about, owner, told)
        message.name = whole.name
        if told is ALL:
            self._note_told(message)
        thought, text = said_in(whole)
        if thought:
            yield from self._think(message, thought)
        yield from signed(message, whole)
        if text:
            yield from self._say(message, text)
        for number, call in enumerate(whole.tool_calls):
            args = json.dumps(call["args"])
            yield from self._call(message, {**call, "index": number, "args": args})
        yield from self._end(task)

    def _further_calls(self, whole: AIMessage) -> Iterator[BaseEvent | str]:
        """The calls of a message that it did not have when it was told, or that were hidden."""
        message = self.said.get(str(whole.id))
        if message is None:
            return
        left = Counter(message.natives)
        for place, call in enumerate(whole.tool_calls):
            if left[str(call["id"])] > 0:
                left[str(call["id"])] -= 1
                continue
            before = len(message.calls)
            message.shown = ALL
            message.places.pop(place, None)
            args = json.dumps(call["args"])
            yield from self._call(message, {**call, "index": place, "args": args})
            for own in message.calls[before:]:
                yield ToolCallEndEvent(tool_call_id=own, subagent_run_id=message.owner)

    def _note_usage(self, message: AIMessage) -> None:
        usage: Any = message.usage_metadata
        if not usage:
            return
        self._run.usage.append(usage_entry(usage, message.response_metadata))

    def _carried_out(
        self, own: str, message: ToolMessage, call: Mapping[str, Any]
    ) -> Iterator[BaseEvent | str]:
        """The result of a call that the guard let through."""
        if self._is_untold(own):
            self.ran[own] = (str(call["name"]), call["args"], message)
            return
        yield from self._result(own, message)

    def _is_untold(self, own: str) -> bool:
        return own not in self._calls and own not in self._of_thread

    def _result(self, own: str, message: ToolMessage) -> Iterator[BaseEvent | str]:
        self._wire.answered(own)
        self.ran.pop(own, None)
        if message.id is not None:
            self.known.add(message.id)
        if own in self.answered:
            return
        self.answered.add(own)
        if message.id is not None:
            self.results[message.id] = (own, content_text(message))
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
            self._seen.add(namespace)
            # A model that did not say that it is done is, when its node is.
            for task in [task for task in self._open if str(task).rpartition(":")[2] == own]:
                yield from self._end(task)
            if not data.get("interrupts"):
                yield from self._finish("|".join((*namespace, f"{name}:{own}")))
        if name.startswith("__") or self._subagents.are_in(namespace):
            return
        yield from self._around.step(name, own, ends=ends)

    def _finish(self, task: str) -> Iterator[BaseEvent | str]:
        """Close the sub-agents of a task, which has told all: results overtake what it streams."""
        for finished in self._subagents.finish(task):
            own = finished.subagent_run_id
            for place in [place for place, one in self._open.items() if one.owner == own]:
                yield from self._end(place)
            yield finished

    def _values(
        self, namespace: tuple[str, ...], values: Mapping[str, Any]
    ) -> Iterator[BaseEvent | str]:
        messages = messages_of(values)
        if namespace not in self._seen:
            # What a graph within it begins with was said elsewhere, or to it alone.
            self._seen.add(namespace)
            self.known.update(str(message.id) for message in messages)
        yield from self.news(messages, "|".join(namespace))
        if namespace:
            return
        self.stated.update(str(message.id) for message in messages)
        yield from self._around.snapshot(values)

    def _emitted(self, name: str, value: Any) -> Iterator[BaseEvent | str]:
        """An event that the graph's code dispatched, and what it stands for."""
        is_object = isinstance(value, Mapping)
        if name in STATE and is_object:
            yield from self._around.snapshot(value)
            if name != STATE[0]:
                return
        elif name in MESSAGE and (events := message_events(value)):
            own = str(value["message_id"])
            if own not in self.known:
                self.known.add(own)
                self.emitted[own] = str(value["message"])
                yield from events
        elif name in CALL and is_object and {"id", "name", "args"} <= value.keys():
            own = self._wire.announced(str(value["id"]))
            self._calls[own] = (str(value["name"]), json.dumps(plain(value["args"])))
            yield from call_events(value, own)
        elif name == EXIT:
            name, value = "Exit", True
        yield custom(name, value)
