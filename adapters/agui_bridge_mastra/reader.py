"""Reads the chunks of one agent's stream, sub-agents and workflows within it included."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from ag_ui.core import (
    BaseEvent,
    CustomEvent,
    ReasoningMessageContentEvent,
    ReasoningMessageEndEvent,
    ReasoningMessageStartEvent,
    SubagentErrorEvent,
    SubagentFinishedEvent,
    SubagentStartedEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    TokenUsage,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)

from agui_bridge.adapters import Run
from agui_bridge.errors import UpstreamError
from agui_bridge.protocol.lifecycle.made_events import whole_call
from agui_bridge.protocol.threads.records import Json
from agui_bridge_mastra.http_client import Chunk, as_mapping
from agui_bridge_mastra.pauses import Waiting, parse_schema, plain_text
from agui_bridge_mastra.steps import agent_waits, step_events

__all__ = ["AgentReader", "Place"]

_AGENT_TOOL: Final = "agent-"
_CALLERS: Final = (_AGENT_TOOL, "workflow-")
_MESSAGES: Final[Mapping[str, tuple[Any, Any, Any, str]]] = {
    "text": (TextMessageStartEvent, TextMessageContentEvent, TextMessageEndEvent, "assistant"),
    "reasoning": (
        ReasoningMessageStartEvent,
        ReasoningMessageContentEvent,
        ReasoningMessageEndEvent,
        "reasoning",
    ),
}
"""START, CONTENT and END of a message, and its role."""

_USAGE: Final = {
    "input_tokens": "inputTokens",
    "output_tokens": "outputTokens",
    "total_tokens": "totalTokens",
    "reasoning_tokens": "reasoningTokens",
    "cached_input_tokens": "cachedInputTokens",
}


@dataclass(frozen=True, slots=True)
class Place:
    """Where a chunk comes from.

    Attributes:
        path: the tool calls that lead to it, outermost first; empty for the agent itself.
        subagent: run id of the sub-agent, None for the agent itself.
    """

    path: tuple[str, ...] = ()
    subagent: str | None = None

    def key(self, name: object) -> str:
        """A name that is unique within the run."""
        return "/".join((*self.path, str(name)))


@dataclass
class AgentReader:
    """Turns chunks into events, and remembers what the run waits for.

    Attributes:
        run: the run.
        ids: ids on the wire by what they stand for at Mastra; kept with a pause, since calls get
            their results in a later run.
        refused: calls that the person did not approve: the bridge gives their results.
        frontend: names of the application's tools.
        waiting: what the stream says that it waits for, by key.
        running: calls that have begun and have no result, by what `ids` knows them as: their
            payload, or of a call that an earlier run began its id.
        finished: whether the stream has told its end.
        seen: whether there was any chunk.
    """

    run: Run
    ids: dict[str, str] = field(default_factory=dict)
    refused: frozenset[str] = frozenset()
    frontend: frozenset[str] = frozenset()
    waiting: dict[str, Waiting] = field(default_factory=dict)
    running: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    finished: bool = False
    seen: bool = False
    _inner: dict[tuple[str, ...], tuple[Place, Chunk]] = field(default_factory=dict)
    _names: dict[str, str] = field(default_factory=dict)
    _started: set[str] = field(default_factory=set)
    _steps: set[str] = field(default_factory=set)

    def read(self, chunk: Chunk) -> Iterator[BaseEvent]:
        """The events of one chunk.

        Raises:
            UpstreamError: the chunk says that the run failed.
            KeyError, TypeError, AttributeError: it has an unknown shape.
        """
        self.seen = True
        yield from self.agent_chunk(chunk, Place())

    @property
    def working(self) -> list[str]:
        """Calls of tools that are being carried out at Mastra, sub-agents and workflows aside."""
        given = self._handed_over()
        return [
            key
            for key, call in self.running.items()
            if key not in given and not str(call.get("toolName")).startswith(_CALLERS)
        ]

    def frontend_calls(self) -> dict[str, dict[str, Json]]:
        """Calls that the run leaves to the application, by their id on the wire."""
        return {
            self.ids[key]: {name: call.get(name) for name in ("toolCallId", "toolName", "args")}
            for key, call in self._handed_over().items()
        }

    def _handed_over(self) -> dict[str, Mapping[str, Any]]:
        # A sub-agent has no tools of the application's, whatever the names of its own.
        return {
            key: call
            for key, call in self.running.items()
            if call.get("toolName") in self.frontend and key == call["toolCallId"]
        }

    def resumed(self, waiting: Waiting) -> None:
        """Note that a call of an earlier run is being carried out."""
        for key, own in self.ids.items():
            if own == waiting.call:
                self.running[key] = {"toolCallId": waiting.key}

    def agent_chunk(self, chunk: Chunk, at: Place) -> Iterator[BaseEvent]:
        """The events of a chunk that an agent made."""
        kind, payload = str(chunk.get("type")), as_mapping(chunk.get("payload"))
        match kind:
            case "text-start" | "text-delta" | "text-end":
                yield from self._message(kind, payload, at)
            case "reasoning-start" | "reasoning-delta" | "reasoning-end":
                yield from self._message(kind, payload, at)
            case (
                "tool-call-input-streaming-start"
                | "tool-call-delta"
                | "tool-call-input-streaming-end"
                | "tool-call"
            ):
                yield from self._call(kind, payload, at)
            case "tool-result":
                yield from self.result(at, payload["toolCallId"], payload.get("result"))
            case "tool-error":
                yield from self.result(at, payload["toolCallId"], "The tool failed.")
            case "tool-output-denied":
                said = as_mapping(payload.get("approval")).get("reason") or "declined"
                yield from self.result(at, payload["toolCallId"], said)
            case "tool-output":
                yield from self._within(payload, at)
            case "tool-call-approval" | "tool-call-suspended":
                self.running.pop(at.key(payload["toolCallId"]), None)
                if at.path:
                    self._inner[at.path] = (at, chunk)
                else:
                    self._suspend(kind == "tool-call-approval", payload)
            case "step-start" if not at.path:
                self.run.iteration = (self.run.iteration or 0) + 1
            case "error" if not at.path:
                raise _failure(as_mapping(payload.get("error")).get("name"))
            case "finish" if not at.path:
                self._finish(payload)

    # --- messages ---

    def _message(self, kind: str, payload: Mapping[str, Any], at: Place) -> Iterator[BaseEvent]:
        about, _, part = kind.partition("-")
        start, content, end, role = _MESSAGES[about]
        name, owner = at.key(f"{about}:{payload.get('id')}"), at.subagent
        if part == "start" or name not in self.ids:
            self.ids[name] = self.run.mint()
            yield start(message_id=self.ids[name], role=role, subagent_run_id=owner)
        if part == "delta" and payload.get("text"):
            yield content(message_id=self.ids[name], delta=payload["text"], subagent_run_id=owner)
        elif part == "end":
            yield end(message_id=self.ids.pop(name), subagent_run_id=owner)

    # --- tool calls ---

    def _call(self, kind: str, payload: Mapping[str, Any], at: Place) -> Iterator[BaseEvent]:
        call = payload["toolCallId"]
        key = at.key(call)
        match kind:
            case "tool-call-input-streaming-start":
                yield self.start_call(at, call, payload["toolName"])
            case "tool-call-delta":
                yield ToolCallArgsEvent(tool_call_id=self.ids[key], delta=payload["argsTextDelta"])
            case "tool-call-input-streaming-end":
                # From now on it may be carried out; the chunk that says so may come too late.
                self.running[key] = {"toolName": self._names.pop(key, None), **payload}
                yield ToolCallEndEvent(tool_call_id=self.ids[key])
            case _:
                if key not in self.ids:
                    yield from self.whole_call(at, call, payload["toolName"], payload.get("args"))
                self.running[key] = payload

    def start_call(self, at: Place, call: str, name: str) -> ToolCallStartEvent:
        """A tool call's START, under a new id."""
        own = self.ids[at.key(call)] = self.run.mint()
        self._names[at.key(call)] = name
        return ToolCallStartEvent(
            tool_call_id=own, tool_call_name=name, subagent_run_id=at.subagent
        )

    def whole_call(self, at: Place, call: str, name: str, args: Json) -> Iterator[BaseEvent]:
        """A tool call whose arguments did not stream."""
        yield (start := self.start_call(at, call, name))
        arguments = json.dumps(args or {}, ensure_ascii=False)
        # As when they stream: of a sub-agent's call the START alone names the sub-agent.
        yield from whole_call(start.tool_call_id, name, arguments)[1:]

    def result(self, at: Place, call: str, value: Json) -> Iterator[BaseEvent]:
        """A tool call's result; none for a call that is not on the wire, or was refused."""
        self.running.pop(at.key(call), None)
        own = self.ids.pop(at.key(call), None)
        if own is not None and own not in self.refused:
            yield ToolCallResultEvent(
                message_id=self.run.mint(),
                tool_call_id=own,
                content=plain_text(value),
                role="tool",
                subagent_run_id=at.subagent,
            )

    # --- sub-agents and workflows ---

    def _within(self, payload: Mapping[str, Any], at: Place) -> Iterator[BaseEvent]:
        chunk, call = payload.get("output"), str(payload.get("toolCallId"))
        if not isinstance(chunk, dict):
            yield CustomEvent(name="mastra:tool-output", value=chunk)
        elif str(chunk.get("type")).startswith("workflow-"):
            yield from self.workflow_chunk(chunk, at)
        elif chunk.get("from") == "AGENT":
            name = str(payload.get("toolName")).removeprefix(_AGENT_TOOL)
            yield from self.subagent_chunk(chunk, at, call, name)
        else:
            yield CustomEvent(name="mastra:tool-output", value=chunk)

    def subagent_chunk(self, chunk: Chunk, at: Place, call: str, name: str) -> Iterator[BaseEvent]:
        """The events of a chunk that a sub-agent made."""
        inner = Place((*at.path, call), self.subagent_id(at, call))
        assert inner.subagent is not None
        if inner.subagent not in self._started:
            self._started.add(inner.subagent)
            yield SubagentStartedEvent(
                subagent_run_id=inner.subagent,
                name=name,
                parent_subagent_run_id=at.subagent,
                parent_tool_call_id=self.ids.get(at.key(call)),
            )
        if chunk.get("type") == "error":
            self._started.discard(inner.subagent)
            yield SubagentErrorEvent(
                subagent_run_id=inner.subagent, message="The sub-agent failed in Mastra."
            )
            return
        yield from self.agent_chunk(chunk, inner)
        if chunk.get("type") == "finish":
            yield from self.end_subagent(at, call)

    def subagent_id(self, at: Place, call: str) -> str:
        """The run id of a sub-agent, the same in every run that it goes on in."""
        name = at.key(f"agent:{call}")
        if name not in self.ids:
            self.ids[name] = self.run.mint()
        return self.ids[name]

    def end_subagent(self, at: Place, call: str) -> Iterator[BaseEvent]:
        """A sub-agent's end, if it has begun in this run."""
        own = self.ids.pop(at.key(f"agent:{call}"), None)
        if own in self._started:
            self._started.discard(own)
            yield SubagentFinishedEvent(subagent_run_id=own)

    def workflow_chunk(self, chunk: Chunk, at: Place) -> Iterator[BaseEvent]:
        """A workflow's steps, and what they say."""
        if chunk.get("type") != "workflow-step-output":
            yield from step_events(chunk, at.subagent, self._steps)
            return
        payload = as_mapping(chunk.get("payload"))
        step, said = str(payload.get("stepName")), payload.get("output")
        if not isinstance(said, dict) or said.get("from") != "AGENT":
            yield CustomEvent(name="mastra:step-output", value=said)
            return
        # The step is an agent; several may run in it at once, each under a run id of its own.
        agent = f"{step}:{said.get('runId')}"
        if said.get("type") in ("tool-call-approval", "tool-call-suspended"):
            call = as_mapping(said.get("payload"))
            own = self.ids.get(Place((*at.path, agent)).key(call.get("toolCallId")))
            self.run.not_begun = [own] if own else []
            raise agent_waits(step, str(call.get("toolName")))
        yield from self.subagent_chunk(said, at, agent, step)

    # --- pauses and ends ---

    def _suspend(self, approval: bool, payload: Mapping[str, Any]) -> None:
        key = str(payload["toolCallId"])
        place, shown = self._innermost((key,), payload)
        self.waiting[key] = Waiting(
            key=key,
            approval=approval,
            call=self.ids.setdefault(place.key(shown["toolCallId"]), self.run.mint()),
            name=str(shown["toolName"]),
            args=as_mapping(shown.get("args")),
            schema=parse_schema(payload.get("resumeSchema")),
            payload=payload.get("suspendPayload"),
            subagent=place.subagent,
        )

    def _innermost(
        self, path: tuple[str, ...], payload: Mapping[str, Any]
    ) -> tuple[Place, Mapping[str, Any]]:
        """The very call that waits: that of the deepest sub-agent which told of it."""
        place, shown = Place(), payload
        while path in self._inner:
            place, chunk = self._inner.pop(path)
            shown = as_mapping(chunk.get("payload"))
            path = (*path, str(shown["toolCallId"]))
        return place, shown

    def _finish(self, payload: Mapping[str, Any]) -> None:
        self.finished = True
        reason = as_mapping(payload.get("stepResult")).get("reason")
        self.run.usage += self.usage(payload)
        if reason == "error":
            raise _failure(None)

    def usage(self, payload: Mapping[str, Any]) -> list[TokenUsage]:
        """The token usage that the end of a stream tells."""
        usage = as_mapping(as_mapping(payload.get("output")).get("usage"))
        model = as_mapping(as_mapping(payload.get("metadata")).get("modelMetadata"))
        told = {
            name: usage[theirs]
            for name, theirs in _USAGE.items()
            if isinstance(usage.get(theirs), int) and usage[theirs] > 0
        }
        if not told:
            return []
        return [TokenUsage(provider=model.get("modelProvider"), model=model.get("modelId"), **told)]


def _failure(name: Json) -> UpstreamError:
    """A failure within Mastra: its message may hold what is nobody's business, its stack does."""
    kind = f" ({name})" if isinstance(name, str) and name.isidentifier() else ""
    return UpstreamError(f"The agent failed in Mastra{kind}: see the log of the Mastra server.")
