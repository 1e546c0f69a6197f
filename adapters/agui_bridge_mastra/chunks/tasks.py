"""Background tasks: tools that go on after their agent has spoken, as activities."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from ag_ui.core import ActivitySnapshotEvent, BaseEvent, CustomEvent

from agui_bridge.protocol.threads.records import Json
from agui_bridge_mastra.chunks.native import without_native
from agui_bridge_mastra.chunks.place import Place
from agui_bridge_mastra.http_client import as_mapping

TASK: Final = "background-task-"
OVER: Final = frozenset({"completed", "failed", "cancelled", "timed_out"})
SUSPENDED: Final = "suspended"
_TYPE: Final = "mastra.background-task"
_TOLD: Final = ("args", "suspendPayload", "result")
_STARTED: Final = "The tool goes on in the background."


@dataclass
class Task:
    """A background task as the client knows it.

    Attributes:
        message: id of its activity.
        call: id of its tool call on the wire; None where it has none.
        status: how it stood when it was told last.
        asked: since when it waited when people were asked last, as Mastra writes it.
    """

    message: str
    call: str | None
    status: str = ""
    asked: str | None = None

    def to_json(self) -> dict[str, Json]:
        """As the bridge keeps it."""
        return asdict(self)

    def told(
        self, status: str, shown: Mapping[str, Any], subagent: str | None = None, why: str = ""
    ) -> ActivitySnapshotEvent:
        """The activity, as the task stands now.

        Args:
            status: how it stands.
            shown: a chunk's payload, or the task as the server has it.
            subagent: run id of the sub-agent that began it.
            why: for people: what they can't see of it.
        """
        self.status = status
        content = {"toolName": shown.get("toolName"), "status": status}
        content |= {"toolCallId": self.call} if self.call else {}
        content |= {name: without_native(shown[name]) for name in _TOLD if name in shown}
        content |= {"message": why} if why else {}
        return ActivitySnapshotEvent(
            message_id=self.message, activity_type=_TYPE, content=content, subagent_run_id=subagent
        )


@dataclass
class Tasks:
    """The background tasks of one stream.

    Attributes:
        mint: gives a new id.
        ids: ids on the wire by what they stand for at Mastra.
        known: the thread's tasks that have not come to their end, by their id at Mastra.
    """

    mint: Callable[[], str]
    ids: dict[str, str]
    known: dict[str, Task] = field(default_factory=dict)
    _begun: set[str] = field(default_factory=set)

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
        id = str(payload["taskId"])
        self._begun.add(id)
        if id not in self.known:
            # Its call has its result by the time that the task ends.
            call = self.ids.get(at.key(payload.get("toolCallId")))
            self.known[id] = Task(self.ids.setdefault(f"task:{id}", self.mint()), call)
        yield self.known[id].told(status, payload, at.subagent)

    def placeholder(self, value: Json) -> Json:
        """A tool's result, or what it means when it only names the task that was begun."""
        begun = isinstance(value, str) and any(task in value for task in self._begun)
        return _STARTED if begun else value
