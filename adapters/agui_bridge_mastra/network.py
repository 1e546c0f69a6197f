"""Reads the chunks of an agent network's stream.

A network carries out one primitive at a time: a tool, an agent or a workflow. What it waits for is
named by the run alone; the real tool and arguments of an agent's pause are in the event before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from ag_ui.core import BaseEvent

from agui_bridge_mastra.http_client import Chunk, as_mapping
from agui_bridge_mastra.pauses import Waiting, parse_schema
from agui_bridge_mastra.reader import AgentReader, Place

__all__ = ["NetworkReader"]

_AGENT_EVENT: Final = "agent-execution-event-"
_WORKFLOW_EVENT: Final = "workflow-execution-event-"
_PRIMITIVE: Final = "primitive"
"""Key of the primitive that is being carried out: the server's own ids change on a resume."""


@dataclass
class NetworkReader(AgentReader):
    """Turns a network's chunks into events."""

    _agent: str = ""
    _speaking: bool = field(default=False, init=False)
    _asked: Chunk | None = None

    def read(self, chunk: Chunk) -> Iterator[BaseEvent]:
        """The events of one chunk."""
        self.seen = True
        kind, payload = str(chunk.get("type")), as_mapping(chunk.get("payload"))
        if kind.startswith(_AGENT_EVENT):
            yield from self._agent_event(dict(payload))
        elif kind.startswith(_WORKFLOW_EVENT):
            self._items.read(_PRIMITIVE, dict(payload))
            yield from self.workflow_chunk(dict(payload), Place())
        else:
            yield from self._network_chunk(kind, payload)

    def _network_chunk(self, kind: str, payload: Mapping[str, Any]) -> Iterator[BaseEvent]:
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
                    yield from self.whole_call(Place(), _PRIMITIVE, name, told.get("args"))
                self.running[_PRIMITIVE] = {"toolCallId": _PRIMITIVE, "toolName": name}
            case "tool-execution-end":
                yield from self.result(Place(), _PRIMITIVE, payload.get("result"))
            case "agent-execution-start":
                told = as_mapping(payload.get("args"))
                self._agent = str(payload.get("agentId") or told.get("primitiveId"))
            case "agent-execution-end":
                yield from self.end_subagent(Place(), _PRIMITIVE)
            case "tool-execution-approval" | "tool-execution-suspended":
                self._wait(kind.endswith("-approval"), Place(), payload, payload, _PRIMITIVE)
            case "agent-execution-approval" | "agent-execution-suspended":
                self._wait_for_agent(kind.endswith("-approval"), payload)
            case "workflow-execution-suspended":
                named = {"toolName": payload.get("workflowId"), "args": payload.get("args")}
                self._wait(False, Place(), payload, named, None)
            case "network-execution-event-step-finish":
                # The router picked no primitive and answered by itself.
                yield from self._say("text-start", "")
                yield from self._say("text-delta", str(payload.get("result") or ""))
                yield from self._say("text-end", "")
            case "network-execution-event-finish":
                yield from self._say("text-end", "")
                self._end(payload)

    def _say(self, kind: str, text: str) -> Iterator[BaseEvent]:
        """Text of the router, which Mastra never ends."""
        if kind in ("text-start", "text-end") and self._speaking:
            self._speaking = False
            yield from self.agent_chunk({"type": "text-end", "payload": {"id": "router"}}, Place())
        if kind == "text-start" or (kind == "text-delta" and text):
            self._speaking = True
            chunk = {"type": kind, "payload": {"id": "router", "text": text}}
            yield from self.agent_chunk(chunk, Place())

    def _agent_event(self, chunk: Chunk) -> Iterator[BaseEvent]:
        if chunk.get("type") in ("tool-call-approval", "tool-call-suspended"):
            self._asked = chunk
        yield from self.subagent_chunk(chunk, Place(), _PRIMITIVE, self._agent)

    def _wait_for_agent(self, approval: bool, payload: Mapping[str, Any]) -> None:
        asked, self._asked = self._asked, None
        place = Place((_PRIMITIVE,), self.subagent_id(Place(), _PRIMITIVE))
        shown = as_mapping(asked.get("payload")) if asked is not None else payload
        self._inner.clear()
        self._wait(approval, place, payload, shown, str(shown["toolCallId"]))

    def _wait(
        self,
        approval: bool,
        place: Place,
        payload: Mapping[str, Any],
        shown: Mapping[str, Any],
        call: str | None,
    ) -> None:
        own = ""
        self.running.clear()
        if call is not None:
            own = self.ids.setdefault(place.key(call), self.run.mint())
        self.waiting[_PRIMITIVE] = Waiting(
            key=_PRIMITIVE,
            approval=approval,
            call=own,
            name=str(shown.get("toolName")),
            args=as_mapping(shown.get("args")),
            schema=parse_schema(payload.get("resumeSchema")),
            payload=payload.get("suspendPayload"),
            subagent=place.subagent,
            items=self._items.of(_PRIMITIVE) if call is None else [],
        )

    def _end(self, payload: Mapping[str, Any]) -> None:
        self.finished = True
        self.run.result = payload.get("result")
        self.run.usage += self.usage({"output": {"usage": payload.get("usage")}})
