"""The adapter of the Agent Framework's agents and workflows, which run in this process."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Callable, Mapping
from pathlib import Path
from typing import Any

from agent_framework import (
    AgentMiddlewareLayer,
    BaseAgent,
    CheckpointStorage,
    HistoryProvider,
    InMemoryHistoryProvider,
    ToolApprovalMiddleware,
    Workflow,
)

from agui_bridge.adapters import AdapterCapabilities, Run, RunItem
from agui_bridge.errors import ConfigurationError
from agui_bridge.import_object import import_object
from agui_bridge_agent_framework.guard import INSTEAD, agents_in
from agui_bridge_agent_framework.turn import Turn
from agui_bridge_agent_framework.workflows.checkpoints import Checkpoints, place_of, storage_of
from agui_bridge_agent_framework.workflows.turn import WorkflowTurn

__all__ = ["AgentFrameworkAdapter"]


class AgentFrameworkAdapter:
    """Runs an agent or a workflow of the Agent Framework, whose requests become questions.

    Tools with `approval_mode="always_require"` are approved by people, with edits; a tool without
    a function is a question, or the application's if it has one of that name. The session is the
    thread: what providers keep in it comes back with the next message. What a workflow requests
    (`request_info`) is asked; its checkpoint waits in a storage of the application's.

    Args:
        agent: an `Agent`, a function from the `Run` to one or to a `Workflow`, or
            `module:attribute` of either. A workflow holds its state, so each run has its own.
        checkpoints: where workflows wait: a folder (`Path`), a function from the `Run` to a
            `CheckpointStorage` that its thread has, or `module:attribute` of either.
        kwargs: a function from the `Run` to what tools find in `ctx.kwargs`, or
            `module:attribute` of one. The run has the principal and the shared state.

    Raises:
        ConfigurationError: one of them is none, or the agent keeps the conversation elsewhere, or
            approves calls itself.
    """

    capabilities: AdapterCapabilities = AdapterCapabilities(
        edit=True, respond=True, stop=True, policy=True
    )

    def __init__(
        self,
        agent: BaseAgent | Callable[[Run], BaseAgent | Workflow] | str,
        *,
        checkpoints: Path | Callable[[Run], CheckpointStorage] | str | None = None,
        kwargs: Callable[[Run], Mapping[str, Any]] | str | None = None,
    ) -> None:
        self._agent: Any = _object_of(agent)
        self._checkpoints: Any = _object_of(checkpoints)
        self._kwargs: Any = _object_of(kwargs)
        if isinstance(self._agent, Workflow):
            raise ConfigurationError(
                "A Workflow holds the state of one conversation: give a function that builds one "
                "for each run, such as `lambda run: build()`."
            )
        if isinstance(self._agent, BaseAgent):
            _check(self._agent)
        elif not callable(self._agent):
            raise ConfigurationError(
                f"agent should be an Agent of agent_framework, or a function that makes one of the "
                f"Run, not {self._agent!r:.80}."
            )
        if self._checkpoints is not None and not (
            isinstance(self._checkpoints, Path) or callable(self._checkpoints)
        ):
            raise ConfigurationError(
                f"checkpoints should be a Path, or a function from the Run to a "
                f"CheckpointStorage, not {self._checkpoints!r:.80}."
            )
        if self._kwargs is not None and not callable(self._kwargs):
            raise ConfigurationError(
                f"kwargs should be a function from the Run to what tools are given, "
                f"not {self._kwargs!r:.80}."
            )

    async def run(self, run: Run) -> AsyncGenerator[RunItem, None]:
        """Carry out one run.

        Raises:
            ConfigurationError: the function made none, or a workflow and there is no storage; or an
                agent approves calls itself.
            NotDelivered: what was kept of the pause can't be read; nothing was done.
            UpstreamError: the agent wants what the bridge can't give, or keeps what is no JSON.
            Fenced, PolicyFailed: see `ToolGate.before`; whatever the agent raises.
        """
        if run.stop.requested:
            run.not_begun = [*run.resume.decisions] if run.resume else []
            return
        found = self._agent if isinstance(self._agent, BaseAgent) else self._agent(run)
        kwargs = dict(self._kwargs(run) or {}) if self._kwargs is not None else {}
        turn: Turn | WorkflowTurn
        if isinstance(found, Workflow):
            for agent in agents_in(found):
                _check_approvals(agent)
            turn = WorkflowTurn(run, found, self._checkpoints_of(run), kwargs)
        else:
            if found is not self._agent:
                _check(found)
            turn = Turn(run, found, kwargs)
        async with contextlib.aclosing(turn.items()) as items:
            async for item in items:
                yield item

    async def aclose(self) -> None:
        """Nothing is held: agents and their clients are the application's."""

    def _checkpoints_of(self, run: Run) -> Checkpoints:
        if self._checkpoints is None:
            raise ConfigurationError(
                "A workflow waits in a CheckpointStorage: give AgentFrameworkAdapter "
                "checkpoints=Path(…), a folder that all processes share, or a function of the Run."
            )
        resumed = run.resume.continuation if run.resume else None
        left = [resumed] if resumed else [closed.continuation for closed in run.closed]
        place = resumed["place"] if resumed else place_of(run)
        earlier = [one["checkpoint"] for one in left if isinstance(one, dict)]
        return Checkpoints(storage_of(self._checkpoints, run, place), place, earlier)


def _object_of(given: Any) -> Any:
    return import_object(given) if isinstance(given, str) else given


def _check(agent: Any) -> None:
    if not isinstance(agent, AgentMiddlewareLayer):
        raise ConfigurationError(
            f"{type(agent).__name__} takes no middleware, so the bridge can't stand before its "
            "tools. Use an Agent of agent_framework, or a function that builds a Workflow."
        )
    _check_approvals(agent)
    for provider in getattr(agent, "context_providers", None) or ():
        is_history = isinstance(provider, HistoryProvider) and provider.load_messages
        if is_history and not isinstance(provider, InMemoryHistoryProvider):
            raise ConfigurationError(
                f"The agent's history provider {provider.source_id!r} keeps the conversation, "
                "which the bridge keeps: the model would be told it twice. Leave it out, or make "
                "it with load_messages=False."
            )


def _check_approvals(agent: Any) -> None:
    own = [*(getattr(agent, "middleware", None) or ())]
    own += getattr(agent, "agent_middleware", None) or ()
    if any(isinstance(one, ToolApprovalMiddleware) for one in own):
        name = agent.name or agent.id
        raise ConfigurationError(
            f"The agent {name!r} has ToolApprovalMiddleware, which asks about one call at a time "
            f"and approves some itself: its runs would not end behind the bridge. {INSTEAD} "
            "create_harness_agent has disable_tool_auto_approval=True."
        )
