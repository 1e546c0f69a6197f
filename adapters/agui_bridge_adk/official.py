"""What an agent brings that was made for ag_ui_adk, ADK's own AG-UI server: found, never imported.

Its `ADKAgent` stands around an agent or an App, with settings; its `AGUIToolset` stands among an
agent's tools for those of the application.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final
from uuid import uuid4

from ag_ui.core import (
    SubagentFinishedEvent,
    SubagentStartedEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)
from google.adk.agents import RunConfig
from google.adk.apps import App
from google.adk.workflow import BaseNode

from agui_bridge.adapters import Run
from agui_bridge.emitting import emit
from agui_bridge.frameworks.a2ui.settings import A2UI
from agui_bridge.frameworks.predicted_state import PredictState
from agui_bridge.frameworks.private_names import PrivateName, expect_names
from agui_bridge_adk.nodes import in_tree

_PACKAGE: Final = "ag_ui_adk"
DISTRIBUTION: Final = "ag_ui_adk"
_READ: Final = (
    "_adk_agent",
    "_app",
    "_artifact_service",
    "_credential_service",
    "_memory_service",
    "_predict_state",
    "_run_config_factory",
    "_static_app_name",
    "_static_user_id",
    "_user_id_extractor",
)


@dataclass(frozen=True, slots=True)
class Settings:
    """What an `ADKAgent` says; its session service is left out: the thread is the session.

    Attributes:
        agent: what it stands around.
        services: of a `Runner`, by its parameters' names.
        config: gives how ADK runs the agent.
        user: gives the user's id, "" where the caller's name is it.
        predict_state: as `predictions_of` takes it.
        a2ui: what surfaces its agents may make.
    """

    agent: BaseNode | App
    services: Mapping[str, Any]
    config: Callable[[Run], RunConfig]
    user: Callable[[Run], str]
    predict_state: Sequence[Any]
    a2ui: A2UI


def settings_of(found: Any) -> Settings | None:
    """The settings of an `ADKAgent`; None if it is none.

    Raises:
        ConfigurationError: the installed ag_ui_adk keeps them elsewhere.
    """
    if not is_official(found, "ADKAgent"):
        return None
    expect_names(DISTRIBUTION, [PrivateName(found, name) for name in _READ])
    agent, name = found._adk_agent, found._static_app_name
    if found._app is None and name and str(name).isidentifier():
        agent = App(name=name, root_agent=agent)
    names = ("artifact_service", "memory_service", "credential_service")
    services = {name: getattr(found, f"_{name}") for name in names}
    extract, fixed = found._user_id_extractor, found._static_user_id or ""
    predictions = found._predict_state
    several = predictions if isinstance(predictions, Sequence) else (predictions,)
    return Settings(
        found._app or agent,
        {name: one for name, one in services.items() if one is not None},
        lambda run: found._run_config_factory(run.input),
        lambda run: str(extract(run.input)) if extract is not None else fixed,
        [] if predictions is None else list(several),
        A2UI.of(getattr(found, "_a2ui_config", None) or {}),
    )


def predictions_of(given: Sequence[Any]) -> tuple[PredictState, ...]:
    """Predictions, of our kind or of ag_ui_adk's."""
    return tuple(
        PredictState(one.state_key, one.tool, one.tool_argument)
        if hasattr(one, "state_key")
        else one
        for one in given
    )


def confirmed_tools(given: Sequence[Any]) -> set[str]:
    """Names of the tools whose changes the page's user is to confirm, as ag_ui_adk's say."""
    return {one.tool for one in given if getattr(one, "emit_confirm_tool", False)}


def toolsets_of(root: BaseNode) -> dict[str, list[Any]]:
    """The `AGUIToolset`s of a tree of agents, by the agent's name.

    By itself one raises when ADK asks it for tools, which ADK logs at each request to a model.
    """
    found = dict[str, list[Any]]()
    for node in in_tree(root):
        for tool in getattr(node, "tools", None) or ():
            if is_official(tool, "AGUIToolset"):
                tool.get_tools = _no_tools
                found.setdefault(node.name, []).append(tool)
    return found


async def _no_tools(readonly_context: Any = None) -> list[Any]:
    """What a placeholder gives: the guard gives each agent the application's tools."""
    return []


def is_official(found: Any, name: str) -> bool:
    """Whether an object is of a class of ag_ui_adk."""
    return any(
        base.__name__ == name and base.__module__.partition(".")[0] == _PACKAGE
        for base in type(found).__mro__
    )


# --- the surfaces of the tool that ag_ui_adk has for them, among an agent's tools ---
#
# It tells the page what its model draws by a queue that ag_ui_adk's server gives to a copy of it,
# run by run. Here each call gets a copy, whose queue leads to the page of the run.

_CLASS: Final = "A2UISubAgentTool"
_NAME: Final = "a2ui"
_DRAWN: Final = json.dumps({"status": "drawn"})


def connect_surfaces(root: BaseNode) -> None:
    """Have such tools in a tree of agents tell the page of their run what they draw.

    Outside of a run of the bridge nothing changes: ag_ui_adk's server makes copies of its own.

    Raises:
        ConfigurationError: the installed ag_ui_adk makes no copies.
    """
    for node in in_tree(root):
        for tool in getattr(node, "tools", None) or ():
            if is_official(tool, _CLASS):
                expect_names(DISTRIBUTION, [PrivateName(tool, "for_run", ("event_queue",))])
                tool.run_async = partial(_carried_out, tool)


async def _carried_out(tool: Any, *, args: dict[str, Any], tool_context: Any) -> Any:
    """The result of a call."""
    page = _Page(tool_context.function_call_id)
    result = await tool.for_run(page).run_async(args=args, tool_context=tool_context)
    page.close()
    return result


class _Page:
    """Tells what one call draws as a sub-agent's calls, so that no model reads them again.

    Args:
        call: the id of the call.
    """

    def __init__(self, call: str) -> None:
        self._call = call
        self._owner = ""
        self._own = ""

    async def put(self, event: Any) -> None:
        """Take an event; all tries have one id in the tool's, and one each on the wire."""
        if isinstance(event, ToolCallStartEvent):
            self._own = str(uuid4())
            if not self._owner:
                self._owner = str(uuid4())
                emit(
                    SubagentStartedEvent(
                        subagent_run_id=self._owner, name=_NAME, parent_tool_call_id=self._call
                    )
                )
        ids = {"tool_call_id": self._own, "subagent_run_id": self._owner}
        emit(event.model_copy(update=ids))
        if isinstance(event, ToolCallEndEvent):
            emit(ToolCallResultEvent(message_id=str(uuid4()), content=_DRAWN, role="tool", **ids))

    def close(self) -> None:
        """Note that nothing is drawn any more."""
        if self._owner:
            emit(SubagentFinishedEvent(subagent_run_id=self._owner))
