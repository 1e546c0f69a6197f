"""The agents that work inside a tool: each announced before anything of it, and closed.

LangGraph tells of each message in which namespace its agent works. That of an agent inside a tool
lies below the namespace of the task that carries the tool's call out.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import asdict, replace
from typing import Any

from ag_ui.core import BaseEvent, SubagentFinishedEvent

from agui_bridge.adapters import RunItem
from agui_bridge.frameworks.subagents import Subagent
from agui_bridge.protocol.answers.asks import Handoff, Pause
from agui_bridge.protocol.threads.records import Json, ToolCall


class Subagents:
    """Those of one run.

    Args:
        mint: gives a new id.
        tasks: the calls that a task carries out, by the task's namespace. `create_agent` has a task
            for each; of a plain `ToolNode`'s several nobody knows in which an agent works.
        kept: what `to_json` gave when the run paused that this one continues.
    """

    def __init__(
        self, mint: Callable[[], str], tasks: Mapping[str, Collection[str]], kept: Mapping[str, Any]
    ) -> None:
        self._mint = mint
        self._tasks = tasks
        self._known = {one["call"]: Subagent(**one) for one in kept.get("agents", ())}
        self._owners: dict[str, str] = dict(kept.get("owners", {}))
        self._open: dict[str | None, Subagent] = {}

    def to_json(self, calls: Mapping[str, object]) -> dict[str, Json]:
        """Those that go on when the run does.

        Args:
            calls: the calls that are open, by id.
        """
        agents: list[Json] = [asdict(one) for one in self._known.values() if one.call in calls]
        owners: dict[str, Json] = {c: own for c, own in self._owners.items() if c in calls}
        return {"agents": agents, "owners": owners}

    def speaking(self, namespace: str, name: str | None) -> tuple[str | None, list[BaseEvent]]:
        """Who says a message, None for the graph itself; and what announces a new one.

        Args:
            namespace: of the task that says it.
            name: the agent's, None where LangChain was told none.
        """
        parts = namespace.split("|")
        for end in range(len(parts) - 1, 0, -1):
            calls = self._tasks.get("|".join(parts[:end]), ())
            if len(calls) > 1:
                break
            for call in calls:
                if call not in self._known:
                    above = self._owners.get(call)
                    self._known[call] = Subagent(self._mint(), name or "agent", call, above)
                return self._known[call].id, list(self._announce(self._known[call]))
        return None, []

    def are_in(self, namespace: Collection[str]) -> bool:
        """Whether a graph works inside a call.

        Args:
            namespace: the graph's.
        """
        parts = tuple(namespace)
        return any("|".join(parts[:end]) in self._tasks for end in range(1, len(parts) + 1))

    def own(self, call: str, subagent: str) -> None:
        """Note whose call one is."""
        self._owners[call] = subagent

    def owner(self, call: str | None) -> tuple[str | None, list[BaseEvent]]:
        """Whose call it is, None of the graph's own; and what announces them anew."""
        found = self._owners.get(call) if call is not None else None
        for one in self._known.values():
            if one.id == found:
                return found, list(self._announce(one))
        return None, []

    def ending(self, end: Pause | Handoff) -> Iterator[RunItem]:
        """The end of a run, each question that of the sub-agent whose call it is about."""
        if isinstance(end, Pause):
            asks = []
            for ask in end.asks:
                call = next(iter(ask.calls), None)
                owner, events = self.owner(call.id if isinstance(call, ToolCall) else call)
                yield from events
                asks.append(replace(ask, subagent_run_id=owner))
            end = replace(end, asks=asks)
        yield end

    def finish(self, task: str) -> Iterator[SubagentFinishedEvent]:
        """Close those that worked inside the calls of a task, which has come to its end."""
        for call in tuple(self._tasks.get(task, ())):
            self._known.pop(call, None)
            one = self._open.pop(call, None)
            if one is not None:
                yield one.finished

    def _announce(self, one: Subagent) -> Iterator[BaseEvent]:
        if one.call in self._open:
            return
        _, above = self.owner(one.call)
        yield from above
        self._open[one.call] = one
        yield one.started
