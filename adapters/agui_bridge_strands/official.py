"""Agents in the class of Strands' own AG-UI server: StrandsAgent of ag_ui_strands.

The class keeps what its agents are made of, and settings for the page. Both are read, and the class
itself is never run. ag_ui_strands is no dependency: only who gives such an agent has it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from strands import Agent

from agui_bridge.errors import ConfigurationError
from agui_bridge.frameworks.a2ui.settings import A2UI, WHERE_OFFERED
from agui_bridge.frameworks.predicted_state import PredictState
from agui_bridge.frameworks.private_names import PrivateName, expect_names

_PACKAGE: Final = "ag_ui_strands"
_READ: Final = (
    *("_model", "_system_prompt", "_tools", "_agent_kwargs", "_hooks", "_plugins"),
    *("_unforwardable_params", "_orchestrator", "config", "name"),
)
_REFUSED: Final[Mapping[str, str]] = {
    "session_manager_provider": "The thread is the session: leave it out.",
    "thread_agent_kwargs": "Give a function from the Run to an agent instead.",
    "template_tools_provider": "Give a function from the Run to an agent instead.",
}
_HOOKS: Final = frozenset({"StrandsInterruptHook", "TemplateToolsNarrowingHook"})
"""Which the class adds itself."""


@dataclass(frozen=True)
class Official:
    """What such a class holds.

    Attributes:
        agent: an agent of the same parts.
        behaviors: how its tools tell the page, by their names.
        approve: names of tools that people approve.
        predictions: of the state, from the arguments of calls.
        state_context_builder: see `StrandsAdapter`.
        a2ui: what surfaces it may make.
    """

    agent: Agent
    behaviors: Mapping[str, Any] = field(default_factory=dict)
    approve: tuple[str, ...] = ()
    predictions: tuple[PredictState, ...] = ()
    state_context_builder: Callable[[Any, str], str] | None = None
    a2ui: A2UI = WHERE_OFFERED


def official(found: Any) -> Official | None:
    """Read a StrandsAgent; None if it is none.

    Raises:
        ConfigurationError: it has a setting that has no place here; says what to do instead.
    """
    if not any(base.__module__.partition(".")[0] == _PACKAGE for base in type(found).__mro__):
        return None
    expect_names(_PACKAGE, [PrivateName(found, name) for name in _READ])
    if found._orchestrator is not None:
        raise ConfigurationError(
            "A Graph or Swarm can't be run: make its agents tools of one agent, and give that."
        )
    if found._unforwardable_params:
        lost = ", ".join(found._unforwardable_params)
        raise ConfigurationError(
            f"The StrandsAgent {found.name!r} does not keep all of its agent: {lost}. "
            "Give that agent itself."
        )
    config = found.config
    for name, instead in _REFUSED.items():
        if getattr(config, name, None):
            raise ConfigurationError(
                f"The StrandsAgent {found.name!r} has {name}, which has no place here. {instead}"
            )
    behaviors: dict[str, Any] = dict(config.tool_behaviors)
    for tool, behavior in behaviors.items():
        if behavior.args_streamer is not None:
            raise ConfigurationError(
                f"The tool behaviour of {tool!r} has args_streamer, which has no place here: "
                "arguments are told as the model writes them. Leave it out."
            )
    agent = Agent(
        **{
            "callback_handler": None,
            **found._agent_kwargs,
            "model": found._model,
            "system_prompt": found._system_prompt,
            "tools": list(found._tools),
            "hooks": [hook for hook in found._hooks if type(hook).__name__ not in _HOOKS],
            "plugins": list(found._plugins),
        }
    )
    return Official(
        agent,
        behaviors,
        tuple(tool for tool, behavior in behaviors.items() if behavior.interrupt_on_call),
        tuple(
            PredictState(one.state_key, one.tool, one.tool_argument)
            for behavior in behaviors.values()
            for one in _several(behavior.predict_state)
        ),
        config.state_context_builder,
        A2UI.of(getattr(config, "a2ui", None) or {}),
    )


def _several(mappings: Any) -> tuple[Any, ...]:
    """Predictions of a behaviour, which may have one, several or none."""
    if mappings is None:
        return ()
    return (mappings,) if hasattr(mappings, "state_key") else tuple(mappings)
