"""The adapter of Strands' agents, which run in this process."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any

from strands import Agent

from agui_bridge.adapters import AdapterCapabilities, Run, RunItem
from agui_bridge.errors import ConfigurationError
from agui_bridge.import_object import import_object
from agui_bridge_strands.own_copy import expect_runnable
from agui_bridge_strands.pauses import calls_in
from agui_bridge_strands.turn import Turn

__all__ = ["StrandsAdapter"]


class StrandsAdapter:
    """Runs an agent of Strands, whose interrupts become questions.

    What `HumanInTheLoop` and other interventions want confirmed is approved by people, with edits;
    `interrupt` in tools and hooks asks a question. All of that holds for agents that are tools of
    the agent, too. The thread is the session: the agent must have no session manager.

    Args:
        agent: an `Agent`, of which each run has a copy; a function from the `Run` to one; or
            `module:attribute` of either.
        approve: names of tools that people have to approve besides.
        invocation_state: a function from the `Run` to what tools and hooks find in their
            `invocation_state`, or `module:attribute` of one. It is called for each run, a resumed
            one too, and what it returns is never stored.
        limits: what one run may take at most, as Strands has it: `turns`, `output_tokens`,
            `total_tokens`.

    Raises:
        ConfigurationError: one of them is none, or the agent keeps the conversation itself.
    """

    capabilities: AdapterCapabilities = AdapterCapabilities(
        edit=True, respond=True, subagents=True, stop=True, policy=True, null=False
    )

    def __init__(
        self,
        agent: Agent | Callable[[Run], Agent] | str,
        *,
        approve: tuple[str, ...] | list[str] = (),
        invocation_state: Callable[[Run], Mapping[str, Any] | None] | str | None = None,
        limits: Mapping[str, int] | None = None,
    ) -> None:
        self._agent: Any = _object_of(agent)
        self._given: Any = _object_of(invocation_state)
        if isinstance(self._agent, Agent):
            expect_runnable(self._agent)
        elif not callable(self._agent) or hasattr(self._agent, "stream_async"):
            raise ConfigurationError(
                f"agent should be a strands.Agent, or a function that makes one of the Run, "
                f"not {self._agent!r:.80}."
            )
        names: Any = approve
        if isinstance(names, str) or not all(isinstance(name, str) for name in names):
            raise ConfigurationError(f"approve should be names of tools, not {approve!r:.80}.")
        if self._given is not None and not callable(self._given):
            raise ConfigurationError(
                f"invocation_state should be a function from the Run to a mapping, "
                f"not {self._given!r:.80}."
            )
        self._approve = frozenset(approve)
        self._limits = dict(limits) if limits else None

    async def run(self, run: Run) -> AsyncGenerator[RunItem, None]:
        """Carry out one run.

        Raises:
            NotDelivered: what was kept of the pause can't be resumed; nothing was done.
            ConfigurationError: the agent that was made of the run keeps the conversation itself.
            Fenced, PolicyFailed: see `ToolGate.before`; whatever the agent raises.
        """
        if run.stop.requested:
            run.not_begun = calls_in(run.resume.continuation) if run.resume else []
            return
        agent = self._agent if isinstance(self._agent, Agent) else self._agent(run)
        given = self._given(run) if self._given is not None else None
        turn = Turn(run, agent, given or {}, self._limits, self._approve)
        waited = run.resume or run.handoff
        if waited is not None and turn.is_left_alone:
            run.not_begun = calls_in(waited.continuation)
            return
        async with contextlib.aclosing(turn.items()) as items:
            async for item in items:
                yield item

    async def aclose(self) -> None:
        """Nothing is held: the agent and its tools are the application's."""


def _object_of(given: Any) -> Any:
    return import_object(given) if isinstance(given, str) else given
