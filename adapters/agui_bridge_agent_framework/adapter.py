"""The adapter of the Agent Framework's agents and workflows, which run in this process."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from agent_framework import (
    AgentMiddlewareLayer,
    BaseAgent,
    CheckpointStorage,
    HistoryProvider,
    InMemoryHistoryProvider,
    Workflow,
)

from agui_bridge.adapters import AdapterCapabilities, Run, RunItem
from agui_bridge.errors import ConfigurationError
from agui_bridge.frameworks.application import Application, ContextOption
from agui_bridge.frameworks.forwarded import Forwarded
from agui_bridge.frameworks.predicted_state import PredictState
from agui_bridge.frameworks.private_names import expect_names
from agui_bridge.import_object import import_object
from agui_bridge_agent_framework.approval_rules import (
    check_approvals,
    private_names_of_approvals,
)
from agui_bridge_agent_framework.guard import agents_in, private_names
from agui_bridge_agent_framework.pauses import PACKAGE
from agui_bridge_agent_framework.shared_state import StateSchema, keys_of, predictions_of
from agui_bridge_agent_framework.turn import Turn
from agui_bridge_agent_framework.workflows.checkpoints import Checkpoints, place_of, storage_of
from agui_bridge_agent_framework.workflows.turn import WorkflowTurn


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
        forwarded_props: names of what clients forward that tools find in `ctx.kwargs`
            under `forwarded_props`; True for all.
        context: what the model is told of the page; see `Application`.
        client_instructions: whether it is told the client's `system` messages.
        state_schema: the keys of the state that page and agent share, with their JSON Schemas, or
            a pydantic model of it: tools find them in `session.state`, the model reads them.
        predict_state: which arguments of calls show in the page's state while they stream, and
            become it once the tool is done; or what the framework's own server takes for it.

    Raises:
        ConfigurationError: one of them is none, or the agent keeps the conversation elsewhere, or
            has a class of its own that approves calls.
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
        forwarded_props: bool | Collection[str] = False,
        context: ContextOption = "model",
        client_instructions: bool = False,
        state_schema: StateSchema | None = None,
        predict_state: Sequence[PredictState] | Mapping[str, Mapping[str, str]] = (),
    ) -> None:
        expect_names(PACKAGE, [*private_names(), *private_names_of_approvals()])
        self._keys = keys_of(state_schema)
        self._predictions = predictions_of(predict_state)
        self._agent: Any = _object_of(agent)
        self._checkpoints: Any = _object_of(checkpoints)
        self._kwargs: Any = _object_of(kwargs)
        kind = type(self._agent)
        if kind.__module__.partition(".")[0] == "agent_framework_ag_ui":
            raise ConfigurationError(
                f"{kind.__name__} is for the server of agent-framework-ag-ui. Give its agent "
                "instead: AgentFrameworkAdapter(wrapped.agent, "
                "state_schema=wrapped.config.state_schema, "
                "predict_state=wrapped.config.predict_state_config); of a workflow, a function "
                "that builds it."
            )
        if isinstance(self._agent, Workflow):
            raise ConfigurationError(
                "A Workflow holds the state of one conversation: give a function that builds one "
                "for each run, such as `lambda run: build()`."
            )
        if isinstance(self._agent, BaseAgent):
            _check(self._agent, self._keys)
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
        self._application = Application(context, client_instructions)
        self._forwarded = Forwarded(forwarded_props)

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
        kwargs = self._kwargs(run) or {} if self._kwargs is not None else {}
        kwargs = self._forwarded.beside(kwargs, run)
        told = self._application.words(run), self._keys, self._predictions
        turn: Turn | WorkflowTurn
        if isinstance(found, Workflow):
            for agent in agents_in(found):
                check_approvals(agent)
            checkpoints = self._checkpoints_of(run)
            turn = WorkflowTurn(run, found, checkpoints, kwargs, *told)
        else:
            if found is not self._agent:
                _check(found, self._keys)
            turn = Turn(run, found, kwargs, *told)
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


def _check(agent: Any, keys: Collection[str]) -> None:
    if not isinstance(agent, AgentMiddlewareLayer):
        raise ConfigurationError(
            f"{type(agent).__name__} takes no middleware, so the bridge can't stand before its "
            "tools. Use an Agent of agent_framework, or a function that builds a Workflow."
        )
    check_approvals(agent)
    providers = getattr(agent, "context_providers", None) or ()
    taken = {InMemoryHistoryProvider.DEFAULT_SOURCE_ID, *(one.source_id for one in providers)}
    if taken & {*keys}:
        raise ConfigurationError(
            f"The key {min(taken & {*keys})!r} of state_schema is that of a context provider, "
            "which keeps its own state there: name it otherwise."
        )
    for provider in providers:
        is_history = isinstance(provider, HistoryProvider) and provider.load_messages
        if is_history and not isinstance(provider, InMemoryHistoryProvider):
            raise ConfigurationError(
                f"The agent's history provider {provider.source_id!r} keeps the conversation, "
                "which the bridge keeps: the model would be told it twice. Leave it out, or make "
                "it with load_messages=False."
            )
