"""The agents of a bridge: how functions and adapters become agents with a name."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final, TypeVar, overload

from ag_ui.core import AgentCapabilities
from pydantic import ValidationError

from agui_bridge.adapters import Adapter, adapter_of
from agui_bridge.agents.function.adapter import AgentFunction, FunctionAdapter
from agui_bridge.approvals import Approvals
from agui_bridge.engine.input.settings import Settings
from agui_bridge.engine.input.submission import Agent
from agui_bridge.engine.run.end_hooks import RunEndHook
from agui_bridge.errors import ConfigurationError, Refused
from agui_bridge.policy import Policy
from agui_bridge.protocol.answers.from_message import Extractor
from agui_bridge.protocol.argument_types import checked_arguments
from agui_bridge.protocol.threads.records import Json

F = TypeVar("F", bound=AgentFunction)
P = TypeVar("P", bound=Policy)
A = TypeVar("A", bound=Approvals)
H = TypeVar("H", bound=RunEndHook)

_TOLD_BY_US: Final = ("transport", "state", "humanInTheLoop")
_IDENTITY_BY_US: Final = ("name", "type", "version", "description")
"""What of AG-UI's AgentCapabilities the bridge tells itself."""
_NAME: Final = re.compile(r"(?!\.+$)[A-Za-z0-9._~-]+")


class Registry:
    """Agents by name, the policy that judges their tool calls, and who is told of their runs.

    Args:
        settings: defaults of every agent.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.agents: dict[str, Agent] = {}
        self.run_end_hooks: list[RunEndHook] = []
        self._policy: Policy | None = None
        self._approvals: Approvals | None = None

    @overload
    def agent(self, name: F, /) -> F: ...

    @overload
    def agent(
        self,
        name: str | None = None,
        *,
        description: str = "",
        extract: Extractor | None = None,
        **settings: Any,
    ) -> Callable[[F], F]: ...

    @checked_arguments("bridge.agent")
    def agent(
        self,
        name: F | str | None = None,
        *,
        description: str = "",
        extract: Extractor | None = None,
        **settings: Any,
    ) -> F | Callable[[F], F]:
        """Register a function as an agent (decorator, with parentheses or without).

        Args:
            name: its name in addresses; by default the function's.
            description: for people; by default the function's docstring.
            extract: as for `add`.
            **settings: fields of `Settings` that differ for this agent, of those that may.
        """
        if callable(name):
            return self.agent(description=description, extract=extract, **settings)(name)

        def register(function: F) -> F:
            summary = description or (function.__doc__ or "").strip().partition("\n")[0]
            self.add(
                name or function.__name__,
                FunctionAdapter(function),
                description=summary,
                extract=extract,
                **settings,
            )
            return function

        return register

    @checked_arguments("bridge.add")
    def add(
        self,
        name: str,
        adapter: Adapter | Any,
        *,
        description: str = "",
        exempt: bool = False,
        extract: Extractor | None = None,
        capabilities: AgentCapabilities | Mapping[str, Any] | None = None,
        **settings: Any,
    ) -> None:
        """Register an adapter as an agent.

        Args:
            name: its name in addresses.
            adapter: what runs it: an adapter, or an agent of a framework that has an installed one
                (`pydantic_ai.Agent`, `agents.Agent`).
            description: for people.
            exempt: leave it out of the bridge's policy. Needed for an adapter whose framework
                executes tools itself, when there is a policy.
            extract: makes answers of plain messages where `auto_resume` is on; by default
                `Reply.by_rule`.
            capabilities: what clients are told of it besides what the bridge knows, in the shape of
                AG-UI's AgentCapabilities: its tools, what it takes in, and others.
            **settings: fields of `Settings` that differ for this agent, of those that may.

        Raises:
            ConfigurationError: the name is taken or unfit for an address, the adapter is none
                or can't honour the policy, or a setting is unknown, unfit, or the whole
                bridge's.
        """
        if not _NAME.fullmatch(name):
            raise ConfigurationError(
                f"{name!r} can't be an agent's name: it is part of a path, so it has only "
                "letters, digits and ._~- ([A-Za-z0-9._~-]+), and not only dots."
            )
        if name in self.agents:
            raise ConfigurationError(f"There is an agent {name!r} already.")
        if inspect.isroutine(adapter):
            raise ConfigurationError(
                f"Agent {name!r}: {adapter.__name__} is a function: decorate it with "
                f"@bridge.agent({name!r}), or pass FunctionAdapter({adapter.__name__})."
            )
        lacks = _lacks(adapter)
        if lacks and (made := adapter_of(adapter)) is not None:
            adapter, lacks = made, _lacks(made)
        if isinstance(adapter, type) or lacks:
            what = f"the class {adapter.__name__}" if isinstance(adapter, type) else repr(adapter)
            why = f"it lacks {', '.join(lacks)}" if lacks else "make an instance of it"
            raise ConfigurationError(f"Agent {name!r}: {what:.200} is no Adapter: {why}.")
        if inspect.iscoroutinefunction(adapter.run):
            raise ConfigurationError(
                f"Agent {name!r}: {type(adapter).__name__}.run returns instead of yielding: "
                "make it an async generator."
            )
        own = self.settings.of_agent(name, settings)
        if own.checkpoint == "step" and not adapter.capabilities.checkpoints:
            raise ConfigurationError(
                f"Agent {name!r}: {type(adapter).__name__} can't have checkpoint='step': function "
                "agents and chat agents can. Leave it out, or out of the bridge's settings."
            )
        if own.checkpoint == "step" and own.history == "client":
            raise ConfigurationError(
                f"Agent {name!r}: checkpoint='step' needs history='server': the client's list is "
                "gone with the process."
            )
        agent = Agent(
            name,
            adapter,
            own,
            description,
            approvals=self._approvals,
            exempt=exempt,
            extract=extract,
            declares=_declared(name, capabilities) if capabilities is not None else {},
        )
        self.agents[name] = _governed(agent, self._policy)

    @checked_arguments("bridge.policy")
    def policy(self, policy: P) -> P:
        """Have every tool call of every agent judged before it is executed (decorator).

        It gates `run.call` and `run.tool` of function agents, whatever they say; other agents'
        calls where their adapter declares `policy`.

        Args:
            policy: takes a `ProposedCall`; returns "allow", "ask", "deny" or a `Verdict`.

        Raises:
            ConfigurationError: there is one already, or an agent's adapter can't honour it and
                the agent is not exempt.
        """
        if self._policy is not None:
            raise ConfigurationError("There is a policy already: a bridge has one.")
        self.agents.update({name: _governed(a, policy) for name, a in self.agents.items()})
        self._policy = policy
        return policy

    @checked_arguments("bridge.approvals")
    def approvals(self, approvals: A) -> A:
        """Say who may answer each question of every agent, and how many must (decorator).

        It is called once for each question, when that is stored; agents that are exempt from the
        policy are not exempt from it. Where it raises, the question is not asked and the run fails.

        Args:
            approvals: takes an `agui_bridge.approvals.Question`; returns an `ApprovalRule`, or None
                where anyone of the scope may answer; may be async.

        Raises:
            ConfigurationError: there is one already.
        """
        if self._approvals is not None:
            raise ConfigurationError("There are approvals already: a bridge has one such function.")
        self._approvals = approvals
        self.agents.update(
            {name: replace(agent, approvals=approvals) for name, agent in self.agents.items()}
        )
        return approvals

    @checked_arguments("bridge.on_run_end")
    def on_run_end(self, hook: H) -> H:
        """Have a function told of every run that has ended (decorator).

        It is called once the run's end is stored and its stream is complete, in the process that
        carried the run out; a run that was lost with its process tells nobody. What it raises is
        logged. Until it returns, the run counts as one of its scope's.

        Args:
            hook: takes the `Run` and an `EndReason`; may be async.
        """
        self.run_end_hooks.append(hook)
        return hook

    def find(self, name: str) -> Agent:
        """The agent of a name.

        Raises:
            Refused: AGENT_NOT_FOUND.
        """
        if name not in self.agents:
            raise Refused("AGENT_NOT_FOUND", f"There is no agent {name!r}.")
        return self.agents[name]


def _lacks(adapter: object) -> list[str]:
    """What an object lacks for an adapter."""
    parts = ["run", "aclose", "capabilities"]
    declared = getattr(adapter, "capabilities", None)
    if getattr(declared, "called_back", False):
        parts += ["look", "read_callback", "judge_callback"]
    elif getattr(declared, "looks", False):
        parts.append("look")
    return [part for part in parts if not hasattr(adapter, part)]


def _governed(agent: Agent, policy: Policy | None) -> Agent:
    if policy is None or agent.exempt:
        return agent
    if not agent.adapter.capabilities.policy:
        raise ConfigurationError(
            f"Agent {agent.name!r} can't honour the policy: its framework executes tools itself. "
            "Leave it out of the bridge, or out of the policy with exempt=True."
        )
    return replace(agent, policy=policy)


def _declared(agent: str, capabilities: AgentCapabilities | Mapping[str, Any]) -> dict[str, Json]:
    """Check what an author declares; gives it as JSON, without what is null.

    Args:
        agent: its name, for faults.
        capabilities: AG-UI's, as an object or as JSON.

    Raises:
        ConfigurationError: a member is unknown or unfit, or one that the bridge tells itself.
    """
    try:
        model = AgentCapabilities.model_validate(capabilities)
    except ValidationError as fault:
        first = fault.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise ConfigurationError(
            f"Agent {agent!r}: capabilities.{where}: {first['msg']}."
        ) from fault
    told: dict[str, Json] = model.model_dump(mode="json", by_alias=True, exclude_none=True)
    known = {field.alias or name for name, field in AgentCapabilities.model_fields.items()}
    identity: Any = told.get("identity", {})
    ours: list[str] = [key for key in _TOLD_BY_US if key in told]
    ours += [f"identity.{key}" for key in _IDENTITY_BY_US if key in identity]
    if unknown := [key for key in told if key not in known]:
        raise ConfigurationError(
            f"Agent {agent!r}: AG-UI knows no capabilities.{unknown[0]}: "
            "write what is your own under `custom`."
        )
    if ours:
        raise ConfigurationError(
            f"Agent {agent!r}: capabilities.{ours[0]} is what the bridge tells itself: "
            "leave it out."
        )
    return told
