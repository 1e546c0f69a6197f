"""The adapter of LlamaIndex's workflows and agents, which run in this process."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from typing import Any, Final

from workflows import Workflow
from workflows.events import Event, StartEvent

from agui_bridge.adapters import AdapterCapabilities, Run, RunItem
from agui_bridge.errors import ConfigurationError
from agui_bridge.frameworks.application import Application, ContextOption
from agui_bridge.frameworks.forwarded import Forwarded
from agui_bridge.frameworks.predicted_state import PredictState
from agui_bridge.import_object import import_object
from agui_bridge_llama_index.held import expect_holdable, is_agent
from agui_bridge_llama_index.reader import Told
from agui_bridge_llama_index.turn import Settings, Turn

_OF_STEPS: Final = AdapterCapabilities(approve=False, decline=False, stop=True)
"""What a workflow does that is no agent."""


class LlamaIndexAdapter:
    """Runs a workflow of LlamaIndex, or an agent, whose `InputRequiredEvent`s become questions.

    The answer is the `HumanResponseEvent`. Its context is what a run goes on from, in any process.
    Tools of agents pass the bridge's gate: people can be asked before one begins. The thread is the
    memory.

    Args:
        agent: an agent of LlamaIndex, an `AgentWorkflow`, or any `Workflow`; a
            function from the `Run` to one; or `module:attribute` of either.
        approve: names of tools that people have to approve, with edits.
        start: what a workflow that is no agent begins with: a function from the `Run` to the
            members of its `StartEvent`, or to that event. By default they are `user_msg` and
            `chat_history`, as of agents.
        tell: a function from an event that the workflow streams to what is told of it: text, an
            event of AG-UI, several of these, or None.
        max_iterations: how many times the agents' models are asked in one run; at it the run ends.
        forwarded_props: names of what clients forward that tools find in the context's store,
            under `forwarded_props`, and workflows in their `StartEvent`; True for all.
        context: what the models are told of the page; see `Application`.
        client_instructions: whether they are told the client's `system` messages.
        predict_state: which arguments of calls show in the page's state while they stream.

    Raises:
        ConfigurationError: one of them is none, the agent's tools can't be held back, or
            LlamaIndex is another one than the adapter knows.
    """

    capabilities: AdapterCapabilities = AdapterCapabilities(
        edit=True, respond=True, stop=True, policy=True
    )

    def __init__(
        self,
        agent: Workflow | Callable[[Run], Workflow] | str,
        *,
        approve: Collection[str] = (),
        start: Callable[[Run], Mapping[str, Any] | StartEvent] | str | None = None,
        tell: Callable[[Event], Told] | str | None = None,
        max_iterations: int | None = None,
        forwarded_props: bool | Collection[str] = False,
        context: ContextOption = "model",
        client_instructions: bool = False,
        predict_state: Sequence[PredictState] = (),
    ) -> None:
        self._workflow: Any = _object_of(agent)
        names: Any = approve
        if isinstance(names, str) or not all(isinstance(name, str) for name in names):
            raise ConfigurationError(f"approve should be names of tools, not {approve!r:.80}.")
        functions: dict[str, Any] = {"start": _object_of(start), "tell": _object_of(tell)}
        for name, given in functions.items():
            if given is not None and not callable(given):
                raise ConfigurationError(f"{name} should be a function, not {given!r:.80}.")
        self._settings = Settings(
            approve=frozenset(approve),
            start=functions["start"],
            tell=functions["tell"],
            max_iterations=max_iterations,
            application=Application(context, client_instructions),
            forwarded=Forwarded(forwarded_props),
            predictions=tuple(predict_state),
        )
        if isinstance(self._workflow, Workflow):
            self._expect(self._workflow)
            if not is_agent(self._workflow):
                # Its steps are its author's code: there is no call that could be judged.
                self.capabilities = _OF_STEPS
        elif isinstance(self._workflow, type) or not callable(self._workflow):
            raise ConfigurationError(
                "agent should be an agent or a workflow of LlamaIndex, or a function that makes "
                f"one of the Run, not {self._workflow!r:.80}."
            )

    async def run(self, run: Run) -> AsyncGenerator[RunItem, None]:
        """Carry out one run.

        Raises:
            NotDelivered: what was kept of the pause can't be resumed; nothing was done.
            ConfigurationError: the workflow that was made of the run is none, or its tools can't
                be held back, or judged by the policy.
            Fenced, PolicyFailed: see `ToolGate.before`; whatever the workflow raises.
        """
        if run.stop.requested:
            waited = run.resume or run.handoff
            kept: Any = waited.continuation if waited else {}
            run.not_begun = [own for own in kept.get("calls", ()) if own not in kept["entered"]]
            return
        workflow = self._workflow
        if not isinstance(workflow, Workflow):
            workflow = workflow(run)
            self._expect(workflow)
            if run.policy is not None and not is_agent(workflow):
                raise ConfigurationError("The bridge has a policy, and no workflow's steps ask it.")
        turn = Turn(run, workflow, self._settings)
        async with contextlib.aclosing(turn.items()) as items:
            async for item in items:
                yield item

    def _expect(self, workflow: Any) -> None:
        if not isinstance(workflow, Workflow):
            raise ConfigurationError(f"It should be a workflow, not {workflow!r:.80}.")
        expect_holdable(workflow)
        if self._settings.approve and not is_agent(workflow):
            raise ConfigurationError(
                "approve names tools of agents; a workflow asks with an InputRequiredEvent."
            )

    async def aclose(self) -> None:
        """Nothing is held: the workflow is the application's."""


def _object_of(given: Any) -> Any:
    return import_object(given) if isinstance(given, str) else given
