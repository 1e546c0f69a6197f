"""Reads the chunks of an agent network's stream.

A network carries out one primitive at a time: a tool, an agent or a workflow. What it waits for is
named by the run alone; the real tool and arguments of an agent's pause are in the event before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from ag_ui.core import BaseEvent

from agui_bridge_mastra.chunks.custom_events import custom_events
from agui_bridge_mastra.chunks.native import without_ids
from agui_bridge_mastra.chunks.place import Place
from agui_bridge_mastra.chunks.results import VOID
from agui_bridge_mastra.http_client import Chunk, as_mapping
from agui_bridge_mastra.pauses import Waiting, parse_schema
from agui_bridge_mastra.reader import AgentReader

_AGENT_EVENT: Final = "agent-execution-event-"
_WORKFLOW_EVENT: Final = "workflow-execution-event-"
_PRIMITIVE: Final = "primitive"
"""Key of the primitive that is being carried out: the server's own ids change on a resume."""


@dataclass
class NetworkReader(AgentReader):
    """Turns a network's chunks into events."""

    _agent: str = ""
    _speaking: bool = field(default=False, init=False)

    def chunk_events(self, chunk: Chunk) -> Iterator[BaseEvent]:
        """The events of one chunk."""
        kind, payload = str(chunk.get("type")), as_mapping(chunk.get("payload"))
        if kind.startswith(_AGENT_EVENT):
            yield from self.subagent_chunk(dict(payload), Place(), _PRIMITIVE, self._agent)
        elif kind.startswith(_WORKFLOW_EVENT):
            self._items.read(_PRIMITIVE, dict(payload))
            yield from self.workflow_chunk(dict(payload), Place())
        else:
            yield from self._network_chunk(kind, payload, chunk)

    def _network_chunk(
        self, kind: str, payload: Mapping[str, Any], chunk: Chunk
    ) -> Iterator[BaseEvent]:
        match kind:
            case "routing-agent-start":
                self.run.iteration = (self.run.iteration or 0) + 1
            case "routing-agent-text-start":
                yield from self._say("text-start", "")
            case "routing-agent-text-delta":
                yield from self._say("text-delta", str(payload.get("text") or ""))
            case "tool-execution-start":
                told = as_mapping(payload.get("args"))
                name = str(told.get("primitiveId") or told.get("toolName"))
                if _PRIMITIVE not in self.ids:
                    yield from self.calls.whole(Place(), _PRIMITIVE, name, told.get("args"))
                self.calls.running[_PRIMITIVE] = {"toolCallId": _PRIMITIVE, "toolName": name}
            case "tool-execution-end":
                value = payload.get("result", VOID)
                yield from self.calls.result(Place(), _PRIMITIVE, value)
            case "agent-execution-start":
                told = as_mapping(payload.get("args"))
                self._agent = str(payload.get("agentId") or told.get("primitiveId"))
                self.subagents.forget(Place(), _PRIMITIVE)
            case "agent-execution-end":
                yield from self.subagents.end(Place(), _PRIMITIVE)
            case "tool-execution-approval" | "tool-execution-suspended":
                shown = {**payload, "toolCallId": _PRIMITIVE}
                yield from self._wait(kind.endswith("-approval"), Place(), payload, shown)
            case "agent-execution-approval" | "agent-execution-suspended":
                yield from self._wait_for_agent(kind.endswith("-approval"), payload)
            case "workflow-execution-suspended":
                named = {"toolName": payload.get("workflowId"), "args": payload.get("args")}
                yield from self._wait(False, Place(), payload, named)
            case "network-execution-event-step-finish":
                # The router picked no primitive and answered by itself.
                yield from self._say("text-start", "")
                yield from self._say("text-delta", str(payload.get("result") or ""))
                yield from self._say("text-end", "")
            case "network-execution-event-finish":
                yield from self._say("text-end", "")
                self._end(payload)
            case "network-object-result":
                self.run.result = chunk.get("object", payload.get("object"))
            case "error" | "tripwire" | "abort":
                yield from self.agent_chunk(chunk, Place())
            case _:
                yield from custom_events(chunk, Place())

    def _say(self, kind: str, text: str) -> Iterator[BaseEvent]:
        """Text of the router, which Mastra never ends."""
        if kind in ("text-start", "text-end") and self._speaking:
            self._speaking = False
            yield from self.agent_chunk({"type": "text-end", "payload": {"id": "router"}}, Place())
        if kind == "text-start" or (kind == "text-delta" and text):
            self._speaking = True
            chunk = {"type": kind, "payload": {"id": "router", "text": text}}
            yield from self.agent_chunk(chunk, Place())

    def _wait_for_agent(self, approval: bool, payload: Mapping[str, Any]) -> Iterator[BaseEvent]:
        # Where nothing tells what it asks for, it stands for itself.
        place, shown = self._innermost((_PRIMITIVE,), payload)
        yield from self._wait(approval, place, payload, shown)

    def _wait(
        self,
        approval: bool,
        place: Place,
        payload: Mapping[str, Any],
        shown: Mapping[str, Any],
    ) -> Iterator[BaseEvent]:
        self.calls.running.clear()
        if place.subagent not in self.subagents.active:
            place = Place(place.path)
        args, own = as_mapping(shown.get("args")), ""
        if (call := shown.get("toolCallId")) is not None:
            self.calls.owed.discard(place.key(str(call)))
            yield from self.calls.asked(place, str(call), str(shown.get("toolName")), args)
            own = self.ids[place.key(call)]
        self.waiting[_PRIMITIVE] = Waiting(
            key=_PRIMITIVE,
            approval=approval,
            call=own,
            name=str(shown.get("toolName")),
            args=args,
            schema=parse_schema(payload.get("resumeSchema")),
            payload=without_ids(payload.get("suspendPayload")),
            subagent=place.subagent,
            items=self._items.of(_PRIMITIVE) if call is None else [],
        )

    def _end(self, payload: Mapping[str, Any]) -> None:
        self.finished = True
        self.run.result = payload.get("object", payload.get("result"))
        self.run.usage += self.usage({"output": {"usage": payload.get("usage")}})
