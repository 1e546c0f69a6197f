"""The adapter of Google ADK's agents, which run in this process."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Callable, Collection, Sequence
from importlib import import_module
from typing import Any, Final

from google.adk.agents import LlmAgent, RunConfig

# Documented there; ADK makes it in a private module and does not tell type checkers.
from google.adk.agents.run_config import StreamingMode  # type: ignore[attr-defined]
from google.adk.apps import App
from google.adk.artifacts import BaseArtifactService, InMemoryArtifactService
from google.adk.flows.llm_flows import functions
from google.adk.memory import BaseMemoryService
from google.adk.tools.base_tool import BaseTool
from google.adk.workflow import BaseNode

from agui_bridge.adapters import AdapterCapabilities, Run, RunItem
from agui_bridge.errors import ConfigurationError
from agui_bridge.frameworks.a2ui.settings import A2UI, WHERE_OFFERED
from agui_bridge.frameworks.application import Application, ContextOption
from agui_bridge.frameworks.forwarded import Forwarded
from agui_bridge.frameworks.predicted_state import PredictState
from agui_bridge.frameworks.private_names import PrivateName, expect_names
from agui_bridge.import_object import import_object
from agui_bridge_adk.nodes import expect_gated
from agui_bridge_adk.official import (
    confirmed_tools,
    connect_surfaces,
    predictions_of,
    settings_of,
    toolsets_of,
)
from agui_bridge_adk.pauses import ADK
from agui_bridge_adk.surface_tool import hook_agents
from agui_bridge_adk.turn import Turn
from agui_bridge_adk.unique_calls import hold_calls

_IMPORTED_LATE: Final = (
    "google.adk.apps.compaction",
    "google.adk.apps.llm_event_summarizer",
    "google.adk.auth.auth_preprocessor",
    "google.adk.auth.exchanger.oauth2_credential_exchanger",
    "google.adk.flows.llm_flows.auto_flow",
    "google.adk.flows.llm_flows.single_flow",
    "google.adk.integrations.openai._openai_responses_llm",
    "google.adk.models.google_llm",
    "google.adk.telemetry.node_tracing",
    "google.adk.telemetry.tracing",
    "google.adk.tools.computer_use.computer_use_tool",
    "google.adk.tools.enterprise_search_tool",
    "google.adk.tools.set_model_response_tool",
    "google.adk.tools.transfer_to_agent_tool",
    "google.adk.tools.vertex_ai_search_tool",
    "google.adk.workflow",
    "google.adk.workflow._dynamic_node_scheduler",
    "google.adk.workflow._llm_agent_wrapper",
    "google.adk.workflow._tool_node",
    "google.adk.workflow._workflow",
)
"""What ADK imports when an agent runs for the first time, in the event loop."""


_PRIVATE: Final = (
    PrivateName(functions, "populate_client_function_call_id", ("model_response_event",)),
    PrivateName(BaseTool, "_get_declaration"),
    PrivateName(LlmAgent, "canonical_tools", ("ctx",)),
)
"""What of ADK is replaced, or read, that it does not document."""


class AdkAdapter:
    """Runs an agent of Google ADK, whose confirmations become questions.

    Tools with `require_confirmation` are approved by people, with edits, wherever in the tree of
    agents they are called; `tool_context.request_confirmation` with a payload, long-running tools
    that return None and `adk_request_input` are questions. The session is the thread: nothing is
    kept in a session service.

    Args:
        agent: an agent, a `Workflow`, an `App`, a function from the `Run` to one of these, an
            `ADKAgent` of ag_ui_adk, whose settings count where none is given here, or
            `module:attribute` of one of all these. The App is made resumable.
        run_config: a `RunConfig`, or `module:attribute` of one; its streaming mode is SSE anyway.
        artifact_service: where artifacts are; by default in the memory of this process.
        memory_service: what tools search that look into earlier conversations.
        forwarded_props: names of what clients forward that tools find in
            `run_config.custom_metadata`, under `forwarded_props`; True for all.
        context: what the model is told of the page; see `Application`. Tools
            find it in the state's `_ag_ui_context`.
        client_instructions: whether it is told the client's `system` messages.
        predict_state: which arguments of calls show in the page's state while they stream;
            the mappings of ag_ui_adk, too.
        confirm_changes: names of the tools whose predicted changes the page's user is asked about,
            by a call of its tool `confirm_changes` when the run has ended.
        a2ui: the surfaces that agents may make of a page that offers A2UI; None: none.

    Raises:
        ConfigurationError: one of them is none.
    """

    capabilities: AdapterCapabilities = AdapterCapabilities(
        edit=True, respond=True, subagents=True, stop=True, policy=True
    )

    def __init__(
        self,
        agent: BaseNode | App | Callable[[Run], BaseNode | App] | str,
        *,
        run_config: RunConfig | str | None = None,
        artifact_service: BaseArtifactService | str | None = None,
        memory_service: BaseMemoryService | str | None = None,
        forwarded_props: bool | Collection[str] = False,
        context: ContextOption = "model",
        client_instructions: bool = False,
        predict_state: Sequence[PredictState | Any] = (),
        confirm_changes: Collection[str] = (),
        a2ui: A2UI | None = WHERE_OFFERED,
    ) -> None:
        for name in _IMPORTED_LATE:
            # Half a second in which no run of the process could say that it is alive.
            with contextlib.suppress(ImportError):
                import_module(name)
        self._agent: Any = _object_of(agent)
        given = settings_of(self._agent)
        if given is not None:
            self._agent = given.agent
            predict_state = predict_state or given.predict_state
            a2ui = given.a2ui if a2ui is WHERE_OFFERED else a2ui
        self._a2ui = a2ui
        self._given = given
        expect_names(ADK, _PRIVATE)
        self._toolsets = dict[str, list[Any]]()
        if isinstance(self._agent, BaseNode | App):
            self._toolsets = _expected(self._agent)
        elif not callable(self._agent):
            raise ConfigurationError(
                f"agent should be an agent, a Workflow or an App of google.adk, or a function that "
                f"makes one of the Run, not {self._agent!r:.80}."
            )
        self._config: RunConfig | None = _expect("run_config", _object_of(run_config), RunConfig)
        artifacts = _expect("artifact_service", _object_of(artifact_service), BaseArtifactService)
        memory = _expect("memory_service", _object_of(memory_service), BaseMemoryService)
        services = {"artifact_service": artifacts, "memory_service": memory}
        self._services: dict[str, Any] = {
            "artifact_service": InMemoryArtifactService(),
            **(given.services if given is not None else {}),
            **{name: one for name, one in services.items() if one is not None},
        }
        self._application = Application(context, client_instructions)
        self._forwarded = Forwarded(forwarded_props)
        self._predictions = predictions_of(predict_state)
        self._confirmed = {*confirm_changes, *confirmed_tools(predict_state)}
        hold_calls()
        hook_agents()

    async def run(self, run: Run) -> AsyncGenerator[RunItem, None]:
        """Carry out one run.

        Raises:
            NotDelivered: what was kept of the pause can't be read; nothing was done.
            AgentRefused: the model gave no reply, for a reason such as safety.
            UpstreamError: it gave none for another one, or an agent wants what the bridge can't
                give.
            Fenced, PolicyFailed: see `ToolGate.before`; whatever the agent raises.
        """
        if run.stop.requested:
            run.not_begun = [*run.resume.decisions] if run.resume else []
            return
        found, toolsets, given = self._agent, self._toolsets, self._given
        if not isinstance(found, BaseNode | App):
            found = found(run)
            toolsets = _expected(found)
        config = self._config or (given.config(run) if given is not None else RunConfig())
        turn = Turn(
            run,
            found,
            config.model_copy(
                update={
                    "streaming_mode": StreamingMode.SSE,
                    "custom_metadata": self._forwarded.beside(config.custom_metadata or {}, run)
                    or None,
                }
            ),
            self._services,
            self._application,
            self._predictions,
            self._confirmed,
            (given.user(run) if given is not None else "") or run.principal.actor or "user",
            toolsets,
            self._a2ui,
        )
        async with contextlib.aclosing(turn.items()) as items:
            async for item in items:
                yield item

    async def aclose(self) -> None:
        """Nothing is held: agents, their toolsets and services are the application's."""


def _expected(agent: BaseNode | App) -> dict[str, list[Any]]:
    """Check that an agent can be run, and give its `AGUIToolset`s."""
    root: Any = agent.root_agent if isinstance(agent, App) else agent
    expect_gated(root)
    connect_surfaces(root)
    return toolsets_of(root)


def _object_of(given: Any) -> Any:
    return import_object(given) if isinstance(given, str) else given


def _expect(name: str, found: Any, kind: type[Any]) -> Any:
    if found is not None and not isinstance(found, kind):
        raise ConfigurationError(f"{name} should be a {kind.__name__}, not {found!r:.80}.")
    return found
