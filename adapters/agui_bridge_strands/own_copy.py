"""An agent for one run: Strands runs an agent once at a time, and a bridge has many threads.

A copy has the model, the tools and the hooks of its original, and everything of its own that a run
changes. Agents that are tools of it are copied with it. What is not known here is refused: a copy
would share it with all threads.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from enum import Enum
from typing import Any, Final

from strands import Agent
from strands.agent._agent_as_tool import _AgentAsTool
from strands.agent.state import AgentState
from strands.telemetry.metrics import EventLoopMetrics
from strands.tools._caller import _ToolCaller

from agui_bridge.errors import ConfigurationError
from agui_bridge.frameworks.private_names import PrivateName, expect_names

STRANDS: Final = "strands-agents"
"""What pip calls it."""

_REFUSED: Final[Mapping[str, str]] = {
    "_session_manager": "a session manager: the bridge keeps the conversation. Leave it out.",
    "_background_tasks": "background tasks, which would outlive the run. Leave them out.",
    "_checkpointing": "checkpointing, by which it stops where nobody is asked. Leave it out.",
}
_OWN: Final[Mapping[str, Callable[[Any], Any]]] = {
    "messages": copy.deepcopy,
    "state": lambda state: AgentState(state.get()),
    "event_loop_metrics": lambda _: EventLoopMetrics(),
    "conversation_manager": copy.copy,
    "_retry_strategy": copy.copy,
    "_interrupt_state": lambda state: type(state)(),
    "_concurrency": lambda one: type(one)(one.mode),
    "_cancel_signal": lambda _: threading.Event(),
    "_model_state": lambda _: {},
    "tool_registry": lambda registry: _registry_of(registry),
}
"""What a run changes, and what the copy has in its place."""

_MADE_ANEW: Final = frozenset({"tool_caller", "hooks", "_middleware_registry"})
"""What `own_copy` makes besides."""

_READ: Final = ("_default_structured_output_model", "_intervention_registry")
"""What other modules here look at."""

_OF_TOOLS: Final = ("_agent", "_lock", "_preserve_context")
"""What is needed of an agent's tool."""

_SHARED: Final = frozenset(
    {
        *_REFUSED,
        *_READ,
        "_aux_model",
        "_checkpoint",
        "_context_manager",
        "_context_manager_instance",
        "_model_router",
        "_plugin_registry",
        "_sandbox",
        "_storage",
        "_system_prompt_content",
        "baggage_attributes",
        "callback_handler",
        "memory_manager",
        "model",
        "tool_executor",
        "tool_watcher",
        "trace_attributes",
        "trace_span",
        "tracer",
    }
)
"""What no run changes, or sets for itself alone: a copy may have the original's."""

_PLAIN: Final = (str, bytes, int, float, bool, type(None), type, Enum)


def expect_runnable(agent: Agent) -> None:
    """Refuse what would keep the conversation, or act, where the bridge does not see it.

    Raises:
        ConfigurationError: it has such a part, or an agent among its tools has; or the installed
            Strands lacks something that the bridge needs of it.
    """
    for one in agents_in(agent):
        expect_names(STRANDS, _names_of(one))
        for name, told in _REFUSED.items():
            if getattr(one, name):
                raise ConfigurationError(f"The agent {one.name!r} has {told}")
        if getattr(one.model, "stateful", False):
            raise ConfigurationError(
                f"The agent {one.name!r} has a model that keeps the conversation at its provider. "
                "Make it one that does not."
            )


def expect_copyable(agent: Agent) -> None:
    """Refuse an agent of which a copy would share what only one thread may have.

    Raises:
        ConfigurationError: it, or an agent among its tools, has an attribute that is not known
            here.
    """
    for one in agents_in(agent):
        for name, value in vars(one).items():
            known = name in _OWN or name in _SHARED or name in _MADE_ANEW
            if not known and not isinstance(value, _PLAIN):
                raise ConfigurationError(
                    f"The agent {one.name!r} has an attribute {name!r} that the bridge does not "
                    "know: all threads would share it. Give a function from the Run to a new "
                    "agent instead."
                )


def _names_of(agent: Agent) -> Iterator[PrivateName]:
    """What is needed of an agent beyond Strands' public interface."""
    for name in (*_OWN, *_MADE_ANEW, *_REFUSED, *_READ):
        yield PrivateName(agent, name)
    made: Any = agent
    yield PrivateName(made._concurrency, "mode")
    yield PrivateName(made._middleware_registry, "_handlers")
    yield PrivateName(made.hooks, "_registered_callbacks")
    yield PrivateName(made.tool_registry, "_tool_providers")
    for tool in made.tool_registry.registry.values():
        if isinstance(tool, _AgentAsTool):
            yield from (PrivateName(tool, name) for name in _OF_TOOLS)


def own_copy(agent: Agent) -> Agent:
    """A copy of an agent, and of those that are its tools."""
    made = copy.copy(agent)
    fields: dict[str, Any] = vars(made)
    moved: dict[int, Any] = {}
    for name, renew in _OWN.items():
        old = fields[name]
        setattr(made, name, renew(old))
        moved[id(old)] = fields[name]
    made.tool_caller = _ToolCaller(made)
    made.hooks = _hooks_of(agent.hooks, moved)
    middleware = copy.copy(agent._middleware_registry)
    middleware._handlers = {stage: [*held] for stage, held in middleware._handlers.items()}
    made._middleware_registry = middleware
    for name, tool in made.tool_registry.registry.items():
        inner = inner_agent(tool)
        if inner is not None:
            held: Any = copy.copy(tool)
            held._agent = own_copy(inner)
            held._lock = threading.Lock()
            made.tool_registry.registry[name] = held
    return made


def inner_agent(tool: Any) -> Agent | None:
    """The agent that a tool is, if it is one."""
    return tool.agent if isinstance(tool, _AgentAsTool) else None


def inner_agents(agent: Agent) -> Iterator[tuple[str, Any, Agent]]:
    """The agents that are tools of one: name of the tool, the tool, the agent."""
    for name, tool in agent.tool_registry.registry.items():
        inner = inner_agent(tool)
        if inner is not None:
            yield name, tool, inner


def agents_in(agent: Agent) -> Iterator[Agent]:
    """An agent, and all that are tools of it or of these."""
    yield agent
    for _, _, inner in inner_agents(agent):
        yield from agents_in(inner)


def _registry_of(registry: Any) -> Any:
    made = copy.copy(registry)
    made.registry = dict(registry.registry)
    made.dynamic_tools = dict(registry.dynamic_tools)
    # An agent that is gone closes them, and with them the original's connections.
    made._tool_providers = []
    return made


def _hooks_of(hooks: Any, moved: Mapping[int, Any]) -> Any:
    """The hooks; those that are methods of what was copied are the copies'."""
    made = copy.copy(hooks)
    made._registered_callbacks = {
        event: [_entry_of(entry, moved) for entry in entries]
        for event, entries in hooks._registered_callbacks.items()
    }
    return made


def _entry_of(entry: Any, moved: Mapping[int, Any]) -> Any:
    owner = moved.get(id(getattr(entry.callback, "__self__", None)))
    if owner is None:
        return entry
    return replace(entry, callback=getattr(owner, entry.callback.__func__.__name__))
