"""The adapter of Strands' agents, which run in this process."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from typing import Any
from weakref import WeakSet

from strands import Agent

from agui_bridge.adapters import AdapterCapabilities, Run, RunItem
from agui_bridge.errors import ConfigurationError
from agui_bridge.frameworks.a2ui.settings import A2UI, WHERE_OFFERED
from agui_bridge.frameworks.application import Application, ContextOption
from agui_bridge.frameworks.forwarded import Forwarded
from agui_bridge.frameworks.predicted_state import PredictState
from agui_bridge.import_object import import_object
from agui_bridge_strands.official import official
from agui_bridge_strands.own_copy import expect_copyable, expect_runnable
from agui_bridge_strands.pauses import calls_in
from agui_bridge_strands.turn import Settings, Turn


class StrandsAdapter:
    """Runs an agent of Strands, whose interrupts become questions.

    What `HumanInTheLoop` and other interventions want confirmed is approved by people, with edits;
    `interrupt` in tools and hooks asks a question. All of that holds for agents that are tools of
    the agent, too. The thread is the session: the agent must have no session manager.

    Args:
        agent: an `Agent`, of which each run has a copy; a StrandsAgent of ag_ui_strands, whose
            settings are read; a function from the `Run` to an `Agent`; or `module:attribute` of
            one of them.
        approve: names of tools that people have to approve besides.
        invocation_state: a function from the `Run` to what tools and hooks find in their
            `invocation_state`, or `module:attribute` of one. It is called for each run, a resumed
            one too, and what it returns is never stored.
        limits: what one run may take at most, as Strands has it: `turns`, `output_tokens`,
            `total_tokens`.
        forwarded_props: names of what clients forward that tools and hooks find there
            under `forwarded_props`; True for all.
        context: what the model is told of the page; see `Application`.
        client_instructions: whether it is told the client's `system` messages.
        predict_state: which arguments of calls show in the page's state while they stream.
        state_context_builder: as ag_ui_strands has it: a function from the run's input, with the
            shared state, and the user's text to what the model reads in its place; or
            `module:attribute` of one. It is called before each request to the model.
        a2ui: the surfaces that it may make of a page that offers A2UI; None: none.

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
        forwarded_props: bool | Collection[str] = False,
        context: ContextOption = "model",
        client_instructions: bool = False,
        predict_state: Sequence[PredictState] = (),
        state_context_builder: Callable[[Any, str], str] | str | None = None,
        a2ui: A2UI | None = WHERE_OFFERED,
    ) -> None:
        self._agent: Any = _object_of(agent)
        wrapped = official(self._agent)
        if wrapped is not None:
            self._agent = wrapped.agent
        self._given: Any = _object_of(invocation_state)
        if isinstance(self._agent, Agent):
            expect_runnable(self._agent)
            expect_copyable(self._agent)
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
        self._seen = WeakSet[Agent]()
        builder: Any = _object_of(state_context_builder)
        if builder is None and wrapped is not None:
            builder = wrapped.state_context_builder
        if builder is not None and not callable(builder):
            raise ConfigurationError(
                f"state_context_builder should be a function of the input and the user's text, "
                f"not {builder!r:.80}."
            )
        self._forwarded = Forwarded(forwarded_props)
        self._settings = Settings(
            approve=frozenset([*approve, *(wrapped.approve if wrapped else ())]),
            limits=dict(limits) if limits else None,
            application=Application(context, client_instructions),
            predictions=(*predict_state, *(wrapped.predictions if wrapped else ())),
            behaviors=wrapped.behaviors if wrapped else {},
            state_context_builder=builder,
            a2ui=wrapped.a2ui if wrapped is not None and a2ui is WHERE_OFFERED else a2ui,
        )

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
        agent = self._agent_of(run)
        given = self._given(run) if self._given is not None else None
        given = self._forwarded.beside(given or {}, run)
        turn = Turn(run, agent, given, self._settings)
        waited = run.resume or run.handoff
        if waited is not None and turn.is_left_alone:
            run.not_begun = calls_in(waited.continuation)
            return
        async with contextlib.aclosing(turn.items()) as items:
            async for item in items:
                yield item

    def _agent_of(self, run: Run) -> Agent:
        if isinstance(self._agent, Agent):
            return self._agent
        agent: Agent = self._agent(run)
        if agent in self._seen:
            # Made once, and given to several runs.
            expect_copyable(agent)
        self._seen.add(agent)
        return agent

    async def aclose(self) -> None:
        """Nothing is held: the agent and its tools are the application's."""


def _object_of(given: Any) -> Any:
    return import_object(given) if isinstance(given, str) else given
