"""Reads the records of a workflow's steps, of a workflow itself or one that an agent called."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from ag_ui.core import BaseEvent, CustomEvent, StepFinishedEvent, StepStartedEvent

from agui_bridge.errors import UpstreamError
from agui_bridge.protocol.threads.records import Json
from agui_bridge_mastra.chunks.custom_events import note_unknown
from agui_bridge_mastra.http_client import Chunk, as_mapping

_SILENT: Final = ("workflow-start", "workflow-finish", "workflow-canceled")
_STEP: Final = "workflow-step-"
_STEPS: Final = ("start", "waiting", "result", "suspended", "output", "finish")
_NO_WAY_ON: Final = (
    "The workflow can't go on: its step {step!r} is an agent whose tool {tool!r} waits for a "
    "person, and Mastra has no way to continue such a step. Have a step of the workflow's own "
    "ask with suspend(), or put the agent itself behind the bridge."
)


def step_events(chunk: Chunk, subagent: str | None, begun: set[str]) -> Iterator[BaseEvent]:
    """The events of one record: steps, sleeps among them, and how far a `foreach` has come.

    Args:
        chunk: the record.
        subagent: run id of the sub-agent that called the workflow.
        begun: the steps that run; a repeated beginning or end is told once.
    """
    payload = as_mapping(chunk.get("payload"))
    name = str(payload.get("id"))
    match chunk.get("type"):
        case "workflow-step-start" | "workflow-step-waiting" if name not in begun:
            begun.add(name)
            yield StepStartedEvent(step_name=name, subagent_run_id=subagent)
        case "workflow-step-result" | "workflow-step-suspended" if name in begun:
            begun.discard(name)
            yield StepFinishedEvent(step_name=name, subagent_run_id=subagent)
        case "workflow-step-progress":
            yield CustomEvent(
                name="mastra:step-progress",
                value={
                    "step": name,
                    "item": payload.get("currentIndex"),
                    "status": payload.get("iterationStatus"),
                    "completed": payload.get("completedCount"),
                    "total": payload.get("totalCount"),
                },
            )
        case str(kind) if kind not in _SILENT and kind.removeprefix(_STEP) not in _STEPS:
            note_unknown(kind)


def agent_waits(step: str, tool: str) -> UpstreamError:
    """Why a workflow can't go on whose step is an agent that waits for a person."""
    return UpstreamError(_NO_WAY_ON.format(step=step, tool=tool))


@dataclass
class WaitingItems:
    """Which items of a `foreach` wait in the workflows that tool calls run.

    Such a call is continued without an index, so that one answer reaches all of them.
    """

    _inputs: dict[tuple[str, str], list[Json]] = field(default_factory=dict)
    _waiting: dict[str, list[Json]] = field(default_factory=dict)

    def read(self, call: str, chunk: Chunk) -> None:
        """Take a record of the workflow that a call runs."""
        payload = as_mapping(chunk.get("payload"))
        step = str(payload.get("id"))
        match chunk.get("type"):
            case "workflow-start":
                self._waiting.pop(call, None)
            case "workflow-step-start" if isinstance(payload.get("payload"), list):
                self._inputs[call, step] = payload["payload"]
            case "workflow-step-progress" if payload.get("iterationStatus") == "suspended":
                inputs, index = self._inputs.get((call, step), []), payload["currentIndex"]
                item = inputs[index] if index < len(inputs) else None
                self._waiting.setdefault(call, []).append(item)

    def of(self, call: str) -> list[Json]:
        """The inputs of the items that wait in a call."""
        return self._waiting.get(call, [])
