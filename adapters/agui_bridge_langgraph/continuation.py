"""What is kept while a graph waits. Its checkpoint has the rest."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from agui_bridge.adapters import Run
from agui_bridge.protocol.answers.decisions import Approve
from agui_bridge.protocol.threads.records import Json
from agui_bridge_langgraph.calls.wire_ids import Call


@dataclass(frozen=True, slots=True)
class Approval:
    """An approval of a call whose tool has not come to its end.

    It counts until then: a tool that asks something itself begins again when that is answered.

    Attributes:
        args: the arguments that were approved.
        edited: whether the person had changed them.
        actor: who approved.
    """

    args: Mapping[str, Json]
    edited: bool
    actor: str

    def decision(self) -> Approve:
        """The approval as the decision that it was."""
        return Approve(self.args, edited=self.edited, actor=self.actor)


@dataclass(frozen=True, slots=True)
class Waiting:
    """What is kept while a graph waits.

    Attributes:
        interrupts: ids of LangGraph's interrupts that were asked about.
        breakpoint: nodes before which it stands, at a breakpoint that was compiled in.
        checkpoint: id of the checkpoint that it waits at.
        calls: the tool calls that are approved, by `Ask.native_id`.
        approved: earlier approvals of calls that go on, by tool call id.
        judged: ids of calls that the bridge's policy asked about.
        asked: the calls that interrupted a task, in their order, by its namespace.
        results: what tools of tasks that begin again gave, by tool call id.
        frontend: the application's calls, by interrupt id; "" stands for the graph's end.
        offered: the application's tools: an answer may come without them.
        actor: who began the run.
        subagents: the agents at work inside tools.
        told: the calls that may come again, as `WireIds` has them. All other ids of calls here are
            those on the wire.
        unsettled: ids of messages that were told and the graph's state does not have: the node that
            said them begins again.
        tools: names of the tools that were asked about and the graph had.
        rounds: what calls asked in their middle.
        interrupting: ids of calls whose tools raised interrupts themselves.
    """

    interrupts: list[str] = field(default_factory=list)
    breakpoint: list[str] = field(default_factory=list)
    checkpoint: str | None = None
    calls: dict[str, str] = field(default_factory=dict)
    approved: dict[str, Approval] = field(default_factory=dict)
    judged: list[str] = field(default_factory=list)
    asked: dict[str, list[str]] = field(default_factory=dict)
    results: dict[str, list[str]] = field(default_factory=dict)
    frontend: dict[str, list[str]] = field(default_factory=dict)
    offered: list[dict[str, Json]] = field(default_factory=list)
    actor: str = ""
    subagents: dict[str, Json] = field(default_factory=dict)
    told: list[Json] = field(default_factory=list)
    unsettled: list[str] = field(default_factory=list)
    tools: list[str] = field(default_factory=list)
    rounds: dict[str, Json] = field(default_factory=dict)
    interrupting: list[str] = field(default_factory=list)

    @classmethod
    def from_json(cls, kept: Any) -> Waiting:
        """Read a continuation."""
        approved = {call: Approval(**one) for call, one in kept["approved"].items()}
        read = cls(**{**kept, "approved": approved})
        return read if "told" in kept else replace(read, told=_told_before(read))

    def to_json(self) -> Json:
        """Write a continuation."""
        made: Json = asdict(self)
        return made


def offered(run: Run, kept: Waiting, own: Collection[str]) -> dict[str, Any]:
    """The application's tools, by name, those of a pause where none came with its answers.

    Args:
        run: the run.
        kept: what was kept while the graph waited.
        own: names of the graph's own tools, which go first.
    """
    tools = [t.model_dump(by_alias=True, mode="json") for t in run.tools]
    return {tool["name"]: tool for tool in tools or kept.offered if tool["name"] not in own}


def _told_before(kept: Waiting) -> list[Json]:
    """The calls of a continuation that an earlier version wrote: on the wire it had models' ids."""
    tasks = {call: task for task, calls in kept.asked.items() for call in calls}
    handed = [call for calls in kept.frontend.values() for call in calls]
    named = [*kept.calls.values(), *kept.approved, *kept.judged, *kept.results, *handed, *tasks]
    return [
        asdict(Call(own, own, "", message=1, task=tasks.get(own, "")))
        for own in dict.fromkeys(named)
    ]
