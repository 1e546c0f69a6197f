"""Reads the chunks of one agent's stream, sub-agents and workflows within it included.

A chunk that is new, repeated, out of place or of an unknown shape changes nothing but what is told:
it never ends a run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from ag_ui.core import (
    BaseEvent,
    CustomEvent,
    ReasoningMessageContentEvent,
    ReasoningMessageEndEvent,
    ReasoningMessageStartEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    TokenUsage,
)

from agui_bridge.adapters import Run
from agui_bridge.errors import AgentRefused, OutcomeUnknown, UpstreamError
from agui_bridge.protocol.threads.records import Json
from agui_bridge_mastra.chunks.calls import AGENT_TOOL, Calls, named
from agui_bridge_mastra.chunks.custom_events import custom_events, note_unreadable
from agui_bridge_mastra.chunks.native import without_ids, without_native
from agui_bridge_mastra.chunks.place import Place
from agui_bridge_mastra.chunks.results import FAILED, KEPT, VOID
from agui_bridge_mastra.chunks.steps import WaitingItems, agent_waits, step_events
from agui_bridge_mastra.chunks.sub_agents import SubAgents
from agui_bridge_mastra.chunks.tasks import TASK, Tasks
from agui_bridge_mastra.http_client import Chunk, as_mapping
from agui_bridge_mastra.pauses import Waiting, parse_schema

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

_UNREADABLE: Final = (KeyError, TypeError, AttributeError, ValueError, RecursionError)
_LONGEST_REASON: Final = 1000


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
        tripwire: why a guard of the agent would not go on, None if none stopped it.
        aborted: whether Mastra says that the run was aborted.
        finished: whether the stream has told its end.
        seen: whether there was any chunk.
        steps: model steps of the agent that have ended.
        cut: whether the model had called tools and was given no step to read their results.
    """

    run: Run
    ids: dict[str, str] = field(default_factory=dict)
    refused: frozenset[str] = frozenset()
    frontend: frozenset[str] = frozenset()
    waiting: dict[str, Waiting] = field(default_factory=dict)
    tripwire: str | None = None
    aborted: bool = False
    finished: bool = False
    seen: bool = False
    steps: int = 0
    cut: bool = False
    _inner: dict[tuple[str, ...], tuple[Place, Chunk]] = field(default_factory=dict)
    _steps: set[str] = field(default_factory=set)
    _items: WaitingItems = field(default_factory=WaitingItems)

    def __post_init__(self) -> None:
        mint = self.run.mint
        told = _told(self.run)
        self.calls: Calls = Calls(mint, self.ids, self.refused, self.frontend, told=told)
        self.subagents: SubAgents = SubAgents(mint, self.ids)
        self.tasks: Tasks = Tasks(mint, self.ids)

    def read(self, chunk: Chunk) -> Iterator[BaseEvent]:
        """The events of one chunk.

        Raises:
            UpstreamError: the chunk says that the run failed.
            AgentRefused: a guard of the agent ended it.
        """
        self.seen = True
        try:
            yield from self.chunk_events(chunk)
        except _UNREADABLE as error:
            note_unreadable(chunk, error)
            value = without_native(as_mapping(chunk.get("payload")))
            yield CustomEvent(name=f"mastra:{chunk.get('type')}", value=value)

    def chunk_events(self, chunk: Chunk) -> Iterator[BaseEvent]:
        """The events of a chunk of this kind of stream; what can't be read raises."""
        yield from self.agent_chunk(chunk, Place())

    @property
    def working(self) -> list[str]:
        """Calls of tools that are being carried out at Mastra, sub-agents and workflows aside."""
        return self.calls.working

    def frontend_calls(self) -> dict[str, dict[str, Json]]:
        """Calls that the run leaves to the application, by their id on the wire."""
        return {
            self.ids[key]: {name: call.get(name) for name in ("toolCallId", "toolName", "args")}
            for key, call in self.calls.handed_over().items()
        }

    def resumed(self, waiting: Waiting) -> None:
        """Note that a call of an earlier run is being carried out."""
        for key, own in self.ids.items():
            if own == waiting.call:
                self.calls.running[key] = {"toolCallId": waiting.key}
                if own not in self.refused:
                    self.calls.owed.add(key)

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
                yield from self.calls.read(kind, payload, at)
            case "tool-result":
                call, value = named(payload, "toolCallId"), payload.get("result", VOID)
                yield from self.subagents.end(at, call)
                yield from self.calls.result(at, call, self.tasks.placeholder(value))
            case "tool-error":
                call = named(payload, "toolCallId")
                yield from self.subagents.fail(at, call, _SUBAGENT_FAILED)
                yield from self.calls.result(at, call, FAILED)
            case "tool-output-denied":
                said = as_mapping(payload.get("approval")).get("reason") or "declined"
                yield from self.calls.result(at, named(payload, "toolCallId"), said)
            case "tool-output":
                yield from self._within(payload, at)
            case "tool-call-approval" | "tool-call-suspended":
                self.calls.running.pop(at.key(named(payload, "toolCallId")), None)
                if at.path:
                    self._inner[at.path] = (at, chunk)
                else:
                    yield from self._suspend(kind == "tool-call-approval", payload)
            case "step-start":
                yield from self.calls.next_step(at)
                if not at.path:
                    self.run.iteration = (self.run.iteration or 0) + 1
            case "step-finish":
                self.steps += 0 if at.path else 1
                step = as_mapping(payload.get("stepResult"))
                if step.get("reason") == "tool-calls" or step.get("isContinued") is True:
                    yield from self.calls.carried_out(at)
            case "finish":
                yield from self.calls.next_step(at)
                if not at.path:
                    self._finish(payload)
            case "object-result" if not at.path:
                self.run.result = chunk.get("object")
            case "error" if not at.path:
                raise _failure(as_mapping(payload.get("error")).get("name"))
            case "tripwire" if not at.path:
                self.tripwire = str(payload.get("reason") or "")[:_LONGEST_REASON]
            case "abort":
                self.aborted = self.aborted or not at.path
            case _ if kind.startswith(TASK):
                yield from self.tasks.read(kind, payload, at)
            case _:
                yield from custom_events(chunk, at)

    def continued(self) -> Iterator[BaseEvent]:
        """Results for answered calls whose own ones Mastra keeps."""
        for key in sorted(self.calls.owed):
            yield from self.calls.result(Place(), key, KEPT)

    def expect_results(self) -> None:
        """Refuse to take a run for one that came to its end while calls of it owe a result.

        Raises:
            OutcomeUnknown: Mastra did not say what came of a call that people let run.
        """
        if owed := self.calls.owed:
            names = sorted({self.calls.told[self.ids[key]][0] for key in owed})
            raise OutcomeUnknown(
                f"Mastra ended its run without a result of {', '.join(names):.200}: whether it was "
                "executed is unknown."
            )

    def check_refusal(self) -> None:
        """Raise what a guard of the agent said, if it ended the run.

        Raises:
            AgentRefused: it did.
        """
        if self.tripwire is not None and not self.finished:
            why = f": {self.tripwire}" if self.tripwire else "."
            raise AgentRefused(f"A guard of the agent would not go on{why}")

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

    # --- sub-agents and workflows ---

    def _within(self, payload: Mapping[str, Any], at: Place) -> Iterator[BaseEvent]:
        chunk, call = payload.get("output"), named(payload, "toolCallId")
        tool = str(payload.get("toolName"))
        if isinstance(chunk, dict) and str(chunk.get("type")).startswith("workflow-"):
            self._items.read(at.key(call), chunk)
            yield from self.workflow_chunk(chunk, at)
        elif isinstance(chunk, dict) and _is_of_agent(chunk, tool):
            yield from self.subagent_chunk(chunk, at, call, tool.removeprefix(AGENT_TOOL))
        elif chunk is not None:
            value = without_ids(chunk)
            yield CustomEvent(name="mastra:tool-output", value=value, subagent_run_id=at.subagent)

    def subagent_chunk(self, chunk: Chunk, at: Place, call: str, name: str) -> Iterator[BaseEvent]:
        """The events of a chunk that a sub-agent made."""
        if self.subagents.is_over(at, call):
            return
        yield from self.subagents.begin(at, call, name)
        payload = as_mapping(chunk.get("payload"))
        match chunk.get("type"):
            case "error":
                yield from self.subagents.fail(at, call, _SUBAGENT_FAILED)
            case "tripwire":
                why = str(payload.get("reason") or "")[:_LONGEST_REASON]
                yield from self.subagents.fail(at, call, why or _SUBAGENT_FAILED)
            case "finish":
                yield from self.agent_chunk(chunk, self.subagents.place(at, call))
                yield from self.subagents.end(at, call)
            case _:
                yield from self.agent_chunk(chunk, self.subagents.place(at, call))

    def workflow_chunk(self, chunk: Chunk, at: Place) -> Iterator[BaseEvent]:
        """A workflow's steps, and what they say."""
        if chunk.get("type") != "workflow-step-output":
            yield from step_events(chunk, at.subagent, self._steps)
            return
        payload = as_mapping(chunk.get("payload"))
        step, said = str(payload.get("stepName")), payload.get("output")
        if not isinstance(said, dict) or said.get("from") != "AGENT":
            yield CustomEvent(name="mastra:step-output", value=without_ids(said))
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

    def _suspend(self, approval: bool, payload: Mapping[str, Any]) -> Iterator[BaseEvent]:
        key = named(payload, "toolCallId")
        if key in self.waiting:
            return
        place, shown = self._innermost((key,), payload)
        if place.subagent not in self.subagents.active:
            place = Place(place.path)
        call, name = named(shown, "toolCallId"), named(shown, "toolName")
        self.calls.owed.discard(place.key(call))
        yield from self.calls.asked(place, call, name, as_mapping(shown.get("args")))
        self.waiting[key] = Waiting(
            key=key,
            approval=approval,
            call=self.ids[place.key(call)],
            name=name,
            args=as_mapping(shown.get("args")),
            schema=parse_schema(payload.get("resumeSchema")),
            payload=without_ids(payload.get("suspendPayload")),
            subagent=place.subagent,
            items=self._items.of(place.key(call)),
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
        self.cut = reason == "tool-calls" and not self.calls.handed_over()
        self.run.usage += self.usage(payload)
        if reason == "error":
            raise _failure(None)
        if reason == "tripwire":
            self.finished = False
            self.tripwire = self.tripwire or ""

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


_SUBAGENT_FAILED: Final = "The sub-agent failed in Mastra."


def _told(run: Run) -> dict[str, tuple[str, str]]:
    """Name and arguments of the calls that the conversation has, by their id."""
    return {
        call["id"]: (call["function"]["name"], call["function"]["arguments"])
        for message in run.raw_messages
        for call in message.get("toolCalls") or ()
    }


def _is_of_agent(chunk: Chunk, tool: str) -> bool:
    """Whether an agent made a chunk that came out of a tool: that is the agent, or called one."""
    # What passes through several agents comes from "USER", whoever made it.
    return chunk.get("from") == "AGENT" or (tool.startswith(AGENT_TOOL) and "type" in chunk)


def _failure(name: Json) -> UpstreamError:
    """A failure within Mastra: its message may hold what is nobody's business, its stack does."""
    kind = f" ({name})" if isinstance(name, str) and name.isidentifier() else ""
    return UpstreamError(f"The agent failed in Mastra{kind}: see the log of the Mastra server.")
