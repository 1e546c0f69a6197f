"""Which tool call an interrupt of Strands is about: its stream tells, its result does not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from strands import Agent

from agui_bridge.frameworks.subagents import Subagents
from agui_bridge.protocol.threads.records import Json
from agui_bridge_strands.content import to_json
from agui_bridge_strands.guard import FRONTEND, Guard, parameters_of
from agui_bridge_strands.own_copy import agents_in, inner_agent
from agui_bridge_strands.pauses import Kind, Waiting

_HUMAN: Final = "strands:human-in-the-loop"


class Interrupts:
    """Those of one run.

    Args:
        agent: the agent that talks to the application.
        guard: knows what it asked itself, and which tools had begun.
        subagents: the agents inside tools.
    """

    def __init__(self, agent: Agent, guard: Guard, subagents: Subagents) -> None:
        self._agent = agent
        self._guard = guard
        self._subagents = subagents
        self._uses: dict[str, Mapping[str, Any]] = {}
        self._inner: set[str] = set()
        self._approving = {_HUMAN}
        for one in agents_in(agent):
            self._approving |= {handler.name for handler in one._intervention_registry.handlers}

    def note(self, event: Mapping[str, Any]) -> None:
        """Look for interrupts in an event of the stream, and in those of agents inside tools."""
        self._note(event, self._agent, None)

    def read(self, interrupts: Iterable[Any]) -> Iterator[tuple[Waiting, Any]]:
        """What waits, and what its author says of it."""
        for one in interrupts:
            use = self._uses.get(one.id)
            call = use["toolUseId"] if use is not None else None
            args = to_json(use["input"]) if use is not None else {}
            kind = self._kind(one.name, call)
            if kind == "tool" and call is not None:
                args = dict(self._guard.entered[call])
            waiting = Waiting(
                id=one.id,
                name=one.name,
                kind=kind,
                call=call,
                tool=str(use["name"]) if use is not None else "",
                args=args if isinstance(args, dict) else {},
                subagent=self._subagents.owner(call) if call is not None else None,
            )
            yield waiting, one.reason

    def parameters(self, waiting: Waiting) -> Mapping[str, Json] | None:
        """The JSON Schema of the arguments of the call that waits."""
        for agent in agents_in(self._agent):
            tool = agent.tool_registry.registry.get(waiting.tool)
            if tool is not None:
                return parameters_of(tool)
        return None

    def _kind(self, name: str, call: str | None) -> Kind:
        if name.startswith(FRONTEND):
            return "frontend"
        if name in self._guard.asks:
            return "permit"
        if name in self._approving and call is not None:
            return "approval"
        return "tool" if call in self._guard.entered else "hook"

    def _note(self, event: Mapping[str, Any], agent: Agent, outer: str | None) -> None:
        streamed = event.get("tool_stream_event")
        if isinstance(streamed, Mapping) and isinstance(streamed.get("data"), Mapping):
            use = streamed["tool_use"]
            inner = inner_agent(agent.tool_registry.registry.get(use["name"]))
            if inner is not None:
                self._note(streamed["data"], inner, use["toolUseId"])
            return
        raised = event.get("tool_interrupt_event")
        if not isinstance(raised, Mapping):
            return
        for one in raised["interrupts"]:
            # An agent's tool passes its interrupts on, each with an id that ends in its own.
            own = max((i for i in self._inner if one.id.endswith(f":{i}")), key=len, default=None)
            self._uses[one.id] = self._uses[own] if own is not None else raised["tool_use"]
            if outer is not None:
                self._inner.add(one.id)
                if own is None:
                    self._guard.tell_call(agent.name, outer, raised["tool_use"])
