"""The adapter of the OpenAI Agents SDK's agents, which run in this process."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from agents import Agent, RunConfig

from agui_bridge.adapters import AdapterCapabilities, Run, RunItem
from agui_bridge.errors import ConfigurationError
from agui_bridge.frameworks.application import Application, ContextOption
from agui_bridge.frameworks.predicted_state import PredictState
from agui_bridge.import_object import import_object
from agui_bridge_openai_agents.guard import expect_holdable, hold_agents
from agui_bridge_openai_agents.turn import Turn

_TURNS: Final = 10
"""The SDK's own limit of model steps in one run."""


class OpenAIAgentsAdapter:
    """Runs an agent of the OpenAI Agents SDK, whose interruptions become questions.

    Tools with `needs_approval` are approved by people, wherever they are called: by the agent, by
    one that it hands the conversation to, or by one that it uses as a tool. Arguments can't be
    edited: the SDK refuses a call whose arguments have changed.

    Args:
        agent: an `Agent`, a function from the `Run` to one, or `module:attribute` of either.
        context: a function from the `Run` to the context of the agent's tools, sync or async, or
            `module:attribute` of one. It is called for each run, a resumed one too, and what it
            returns is never stored.
        run_config: a `RunConfig` of the SDK, or `module:attribute` of one.
        max_turns: how many times the model is asked in one run.
        application_context: what the model is told of the page: `context` of `Application`.
        client_instructions: whether it is told the client's `system` messages.
        predict_state: which arguments of calls show in the page's state while they stream.

    Raises:
        ConfigurationError: one of them is none, a tool can't be held back, or the SDK is another
            one than the adapter knows.
    """

    capabilities: AdapterCapabilities = AdapterCapabilities(
        edit=False, answer=False, respond=True, subagents=True, stop=True, policy=True
    )

    def __init__(
        self,
        agent: Agent[Any] | Callable[[Run], Agent[Any]] | str,
        *,
        context: Callable[[Run], Any | Awaitable[Any]] | str | None = None,
        run_config: RunConfig | str | None = None,
        max_turns: int = _TURNS,
        application_context: ContextOption = "model",
        client_instructions: bool = False,
        predict_state: Sequence[PredictState] = (),
    ) -> None:
        self._agent: Any = import_object(agent) if isinstance(agent, str) else agent
        self._context: Any = import_object(context) if isinstance(context, str) else context
        config: Any = import_object(run_config) if isinstance(run_config, str) else run_config
        if not isinstance(self._agent, Agent) and not callable(self._agent):
            raise ConfigurationError(
                f"agent should be an agents.Agent or a function that makes one of the Run, "
                f"not {self._agent!r:.80}."
            )
        if isinstance(self._agent, Agent):
            expect_holdable(self._agent, self._agent.tools)
        if self._context is not None and not callable(self._context):
            raise ConfigurationError(
                f"context should be a function from the Run to the context, "
                f"not {self._context!r:.80}."
            )
        if config is not None and not isinstance(config, RunConfig):
            raise ConfigurationError(f"run_config should be a RunConfig, not {config!r:.80}.")
        self._options: dict[str, Any] = {
            "run_config": _late_guardrails(config),
            "max_turns": max_turns,
        }
        self._application = Application(application_context, client_instructions)
        self._predictions = tuple(predict_state)
        hold_agents()

    async def run(self, run: Run) -> AsyncGenerator[RunItem, None]:
        """Carry out one run.

        Raises:
            NotDelivered: what was kept of the pause can't be resumed; nothing was done.
            AgentRefused: a guardrail of the agent ended the run.
            Fenced, PolicyFailed: see `ToolGate.before`; whatever the agent raises.
        """
        if run.stop.requested:
            run.not_begun = [*run.resume.decisions] if run.resume else []
            return
        agent = self._agent if isinstance(self._agent, Agent) else self._agent(run)
        context = self._context(run) if self._context is not None else None
        if isinstance(context, Awaitable):
            context = await context
        words = self._application.words(run)
        turn = Turn(run, agent, context, self._options, words, self._predictions)
        async with contextlib.aclosing(turn.items()) as items:
            async for item in items:
                yield item

    async def aclose(self) -> None:
        """Nothing is held: the agent is the application's."""


def _late_guardrails(config: RunConfig | None) -> RunConfig | None:
    """The configuration, with tools' guardrails right before the execution alone: ours is one."""
    execution = getattr(config, "tool_execution", None)
    if config is None or execution is None:
        return config
    late = replace(execution, pre_approval_tool_input_guardrails=False)
    return replace(config, tool_execution=late)
