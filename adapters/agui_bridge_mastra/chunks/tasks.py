"""Background tasks: tools that go on after their agent has spoken, as activities."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from ag_ui.core import ActivitySnapshotEvent, BaseEvent, CustomEvent

from agui_bridge.protocol.threads.records import Json
from agui_bridge_mastra.chunks.native import without_native
from agui_bridge_mastra.chunks.place import Place
from agui_bridge_mastra.http_client import as_mapping

__all__ = ["TASK", "Tasks"]

TASK: Final = "background-task-"
_TYPE: Final = "mastra.background-task"
_TOLD: Final = ("args", "suspendPayload", "result")
_STARTED: Final = "The tool goes on in the background."


@dataclass
class Tasks:
    """The background tasks of one stream.

    Attributes:
        mint: gives a new id.
        ids: ids on the wire by what they stand for at Mastra.
    """

    mint: Callable[[], str]
    ids: dict[str, str]
    _calls: dict[str, str | None] = field(default_factory=dict)

    def read(self, kind: str, payload: Mapping[str, Any], at: Place) -> Iterator[BaseEvent]:
        """The events of a chunk that tells of tasks: an activity each, as it stands now."""
        status = kind.removeprefix(TASK)
        if "taskId" not in payload:
            value = without_native(dict(payload))
            yield CustomEvent(name=f"mastra:{kind}", value=value, subagent_run_id=at.subagent)
            return
        if status == "output":
            said = as_mapping(as_mapping(payload.get("payload")).get("payload")).get("output")
            value = {"toolName": payload.get("toolName"), "output": without_native(said)}
            yield CustomEvent(name=f"mastra:{kind}", value=value, subagent_run_id=at.subagent)
            return
        task = str(payload["taskId"])
        # Its call has its result by the time that the task ends.
        call = self._calls.setdefault(task, self.ids.get(at.key(payload.get("toolCallId"))))
        content = {"toolName": payload.get("toolName"), "status": status}
        content |= {"toolCallId": call} if call else {}
        content |= {name: without_native(payload[name]) for name in _TOLD if name in payload}
        yield ActivitySnapshotEvent(
            message_id=self.ids.setdefault(f"task:{task}", self.mint()),
            activity_type=_TYPE,
            content=content,
            subagent_run_id=at.subagent,
        )

    def placeholder(self, value: Json) -> Json:
        """A tool's result, or what it means when it only names the task that was begun."""
        begun = isinstance(value, str) and any(task in value for task in self._calls)
        return _STARTED if begun else value
