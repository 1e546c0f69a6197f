"""Reads the records of a workflow's stream."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ag_ui.core import BaseEvent

from agui_bridge.errors import UpstreamError
from agui_bridge_mastra.http_client import LOST, Chunk
from agui_bridge_mastra.pauses import Waiting
from agui_bridge_mastra.reader import AgentReader, Place

__all__ = ["WorkflowReader"]


@dataclass
class WorkflowReader(AgentReader):
    """Turns a workflow's records into steps, and its suspended steps into questions.

    Attributes:
        schemas: JSON Schema of the answer by step: the stream itself does not tell it.
    """

    schemas: Mapping[str, Mapping[str, Any]] | None = None

    def read(self, chunk: Chunk) -> Iterator[BaseEvent]:
        """The events of one record."""
        self.seen = True
        payload = chunk.get("payload") or {}
        yield from self.workflow_chunk(chunk, Place())
        match chunk.get("type"):
            case "workflow-step-suspended":
                step = str(payload["id"])
                args = payload.get("payload")
                self.waiting[step] = Waiting(
                    key=step,
                    approval=False,
                    call="",
                    name=step,
                    args=args if isinstance(args, dict) else {"input": args},
                    schema=(self.schemas or {}).get(step),
                    payload=payload.get("suspendPayload"),
                )
            case "workflow-finish":
                self._end(payload)

    def _end(self, payload: Mapping[str, Any]) -> None:
        status = payload.get("workflowStatus")
        self.finished = status != "suspended"
        self.run.usage += self.usage(payload)
        if status == "success":
            self.run.result = payload.get("finalWorkflowResult")
        elif status == "failed":
            said = str((payload.get("metadata") or {}).get("errorMessage"))
            lost = "not suspended" in said or "No snapshot" in said
            raise UpstreamError(LOST if lost else "The workflow failed in Mastra: see its log.")
