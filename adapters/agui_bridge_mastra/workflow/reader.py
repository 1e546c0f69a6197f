"""Reads the records of a workflow's stream."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ag_ui.core import BaseEvent

from agui_bridge.errors import AgentRefused, UpstreamError
from agui_bridge_mastra.chunks.place import Place
from agui_bridge_mastra.http_client import LOST, Chunk, as_mapping
from agui_bridge_mastra.reader import AgentReader

__all__ = ["WorkflowReader"]


@dataclass
class WorkflowReader(AgentReader):
    """Turns a workflow's records into steps.

    Attributes:
        suspended: whether the stream's end tells that steps wait; which ones the server lists.
    """

    suspended: bool = False

    def chunk_events(self, chunk: Chunk) -> Iterator[BaseEvent]:
        """The events of one record."""
        yield from self.workflow_chunk(chunk, Place())
        if chunk.get("type") == "workflow-finish":
            self._end(as_mapping(chunk.get("payload")))

    def _end(self, payload: Mapping[str, Any]) -> None:
        status = payload.get("workflowStatus")
        self.suspended = status == "suspended"
        self.finished = not self.suspended
        self.run.usage += self.usage(payload)
        match status:
            case "success":
                self.run.result = payload.get("finalWorkflowResult")
            case "failed":
                said = str(as_mapping(payload.get("metadata")).get("errorMessage"))
                lost = "not suspended" in said or "No snapshot" in said
                raise UpstreamError(LOST if lost else "The workflow failed in Mastra: see its log.")
            case "tripwire":
                # Written for who asked, unlike the text of an error.
                reason = as_mapping(payload.get("tripwire")).get("reason") or "it gave no reason"
                raise AgentRefused(f"A guard of the workflow would not go on: {reason}")
            case "canceled" if not self.run.stop.requested:
                raise UpstreamError("The workflow was cancelled at Mastra, not by the bridge.")
