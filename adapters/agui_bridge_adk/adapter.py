"""The adapter of Google ADK's agents, which run in this process."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Callable
from importlib import import_module
from typing import Any, Final

from google.adk.agents import BaseAgent, RunConfig

# Documented there; ADK makes it in a private module and does not tell type checkers.
from google.adk.agents.run_config import StreamingMode  # type: ignore[attr-defined]
from google.adk.apps import App
from google.adk.artifacts import BaseArtifactService, InMemoryArtifactService
from google.adk.memory import BaseMemoryService

from agui_bridge.adapters import AdapterCapabilities, Run, RunItem
from agui_bridge.errors import ConfigurationError
from agui_bridge.import_object import import_object
from agui_bridge_adk.turn import Turn
from agui_bridge_adk.unique_calls import hold_calls

__all__ = ["AdkAdapter"]

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


class AdkAdapter:
    """Runs an agent of Google ADK, whose confirmations become questions.

    Tools with `require_confirmation` are approved by people, with edits, wherever in the tree of
    agents they are called; `tool_context.request_confirmation` with a payload, long-running tools
    that return None and `adk_request_input` are questions. The session is the thread: nothing is
    kept in a session service.

    Args:
        agent: an agent, an `App`, a function from the `Run` to one of these, or
            `module:attribute` of one of all these. The App is made resumable.
        run_config: a `RunConfig`, or `module:attribute` of one; its streaming mode is SSE anyway.
        artifact_service: where artifacts are; by default in the memory of this process.
        memory_service: what tools search that look into earlier conversations.

    Raises:
        ConfigurationError: one of them is none.
    """

    capabilities: AdapterCapabilities = AdapterCapabilities(
        edit=True, respond=True, stop=True, policy=True
    )

    def __init__(
        self,
        agent: BaseAgent | App | Callable[[Run], BaseAgent | App] | str,
        *,
        run_config: RunConfig | str | None = None,
        artifact_service: BaseArtifactService | str | None = None,
        memory_service: BaseMemoryService | str | None = None,
    ) -> None:
        for name in _IMPORTED_LATE:
            # Half a second in which no run of the process could say that it is alive.
            with contextlib.suppress(ImportError):
                import_module(name)
        self._agent: Any = _object_of(agent)
        if not isinstance(self._agent, BaseAgent | App) and not callable(self._agent):
            raise ConfigurationError(
                f"agent should be an agent or an App of google.adk, or a function that makes one "
                f"of the Run, not {self._agent!r:.80}."
            )
        config = _expect("run_config", _object_of(run_config), RunConfig) or RunConfig()
        self._config: RunConfig = config.model_copy(update={"streaming_mode": StreamingMode.SSE})
        artifacts = _expect("artifact_service", _object_of(artifact_service), BaseArtifactService)
        self._services: dict[str, Any] = {
            "artifact_service": artifacts or InMemoryArtifactService(),
            "memory_service": _expect(
                "memory_service", _object_of(memory_service), BaseMemoryService
            ),
        }
        hold_calls()

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
        found = self._agent if isinstance(self._agent, BaseAgent | App) else self._agent(run)
        turn = Turn(run, found, self._config, self._services)
        async with contextlib.aclosing(turn.items()) as items:
            async for item in items:
                yield item

    async def aclose(self) -> None:
        """Nothing is held: agents, their toolsets and services are the application's."""


def _object_of(given: Any) -> Any:
    return import_object(given) if isinstance(given, str) else given


def _expect(name: str, found: Any, kind: type[Any]) -> Any:
    if found is not None and not isinstance(found, kind):
        raise ConfigurationError(f"{name} should be a {kind.__name__}, not {found!r:.80}.")
    return found
