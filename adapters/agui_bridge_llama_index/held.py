"""A workflow as one run has it: a copy whose steps, tools and waits pass the run's guard.

LlamaIndex has no hook that may hold a tool back. A step is looked up at the workflow each time that
it runs, so a copy of a subclass can stand around it; the author's own object stays as it is. What
is not public of that is in `NEEDED`.
"""

from __future__ import annotations

import asyncio
import copy
import functools
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Final, Protocol
from weakref import WeakKeyDictionary

from llama_index.core.agent.workflow import AgentWorkflow
from llama_index.core.agent.workflow.base_agent import BaseWorkflowAgent
from llama_index.core.tools import ToolOutput
from workflows import Context, Workflow
from workflows.context.context_types import SerializedContext
from workflows.events import InputRequiredEvent
from workflows.runtime.types import internal_state

from agui_bridge.errors import ConfigurationError
from agui_bridge.frameworks.private_names import PrivateName, expect_names

CORE: Final = "llama-index-core"
WORKFLOWS: Final = "llama-index-workflows"
_AGENTS: Final = (BaseWorkflowAgent, AgentWorkflow)
NEEDED: Final = tuple(
    PrivateName(owner, name, parameters)
    for owner in _AGENTS
    for name, parameters in (
        ("_call_tool", ("ctx", "tool", "tool_input")),
        ("get_tools", ("input_str",)),
        ("run_agent_step", ("ctx", "ev")),
        ("call_tool", ("ctx", "ev")),
    )
)
NEEDED_OF_WORKFLOWS: Final = (
    PrivateName(Workflow, "_get_steps"),
    PrivateName(Workflow, "_step_functions"),
    PrivateName(Workflow, "_get_steps_from_class"),
    PrivateName(Context, "get_step_context"),
    PrivateName(
        Context,
        "wait_for_event",
        ("event_type", "waiter_event", "waiter_id", "requirements", "timeout"),
    ),
    PrivateName(SerializedContext, "model_fields"),
    # With it a workflow is idle only where no event is under way, which would be lost in a pause.
    PrivateName(internal_state, "Delivery"),
)


class Guarding(Protocol):
    """What a held workflow asks; `guard.Guard` is one."""

    async def step(self, name: str, plain: Callable[[], Any]) -> Any:
        """Run a step."""

    async def reply(self, ctx: Any, ev: Any, plain: Callable[[Any], Any]) -> Any:
        """Have a model reply."""

    async def call(self, ctx: Any, ev: Any, plain: Callable[[Any], Any]) -> Any:
        """Carry out a call of a reply."""

    async def execute(self, ctx: Any, tool: Any, args: Any, plain: Callable[..., Any]) -> Any:
        """Execute a tool, or what stands for its result."""

    async def ask(self, wait: Callable[..., Any], asked: Any, options: dict[str, Any]) -> Any:
        """Wait for the answer to a question."""

    def tools(self, own: list[Any]) -> list[Any]:
        """The tools of an agent, and the application's."""


current: Final[ContextVar[Guarding]] = ContextVar("agui_bridge_llama_index")
"""The guard of the run whose tasks these are."""


def is_agent(workflow: Workflow) -> bool:
    """Whether a workflow is an agent, or one of several agents."""
    return isinstance(workflow, _AGENTS)


def expect_holdable(workflow: Workflow) -> None:
    """Refuse a workflow whose tools could begin unasked, and versions that nobody tried.

    Raises:
        ConfigurationError: that is so.
    """
    expect_names(CORE, NEEDED)
    expect_names(WORKFLOWS, NEEDED_OF_WORKFLOWS)
    if not is_agent(workflow):
        return
    kind = type(workflow)
    plain = AgentWorkflow if isinstance(workflow, AgentWorkflow) else BaseWorkflowAgent
    for name in ("_call_tool", "call_tool", "run_agent_step"):
        if getattr(kind, name) is not getattr(plain, name):
            raise ConfigurationError(
                f"{kind.__name__} has a {name} of its own, and the bridge could not hold its "
                "tools back. Leave it as it is, and put what it does into the tools."
            )


def held(workflow: Workflow) -> Workflow:
    """A copy of a workflow, for one run: its tasks must have their guard as `current`."""
    made = copy.copy(workflow)
    object.__setattr__(made, "__class__", _subclass_of(type(workflow)))
    return made


_made: Final[WeakKeyDictionary[type, tuple[type, frozenset[str]]]] = WeakKeyDictionary()


def _subclass_of(kind: type[Workflow]) -> type[Workflow]:
    steps = kind._get_steps_from_class()
    known = _made.get(kind)
    if known is not None and known[1] == frozenset(steps):
        return known[0]
    members: dict[str, Any] = {"__module__": kind.__module__, "__doc__": kind.__doc__}
    for name, function in steps.items():
        if asyncio.iscoroutinefunction(function):
            is_free = name in kind._step_functions
            members[name] = _step(name, function, is_free=is_free)
    if issubclass(kind, _AGENTS):
        members |= {"_call_tool": _call_tool(kind), "get_tools": _get_tools(kind)}
    # By `type` itself: the metaclasses of workflows and of pydantic would make it anew.
    made = type.__new__(type(kind), kind.__name__, (kind,), members)
    _made[kind] = (made, frozenset(steps))
    return made


def _step(name: str, plain: Callable[..., Any], *, is_free: bool) -> Any:
    around = {"run_agent_step": "reply", "call_tool": "call"}.get(name)

    @functools.wraps(plain)
    async def held_step(*this: Any, **given: Any) -> Any:
        guard = current.get()
        context = Context.get_step_context()
        object.__setattr__(context, "__class__", _HeldContext)
        if around is None or not this or not is_agent(this[0]):
            return await guard.step(name, functools.partial(plain, *this, **given))

        async def go_on(ev: Any) -> Any:
            return await plain(*this, **{**given, "ev": ev})

        passing = getattr(guard, around)
        return await guard.step(name, functools.partial(passing, context, given["ev"], go_on))

    return staticmethod(held_step) if is_free else held_step


def _call_tool(kind: Any) -> Any:
    plain = kind._call_tool

    @functools.wraps(plain)
    async def call_tool(self: Any, ctx: Any, tool: Any, tool_input: Any) -> ToolOutput:
        result: ToolOutput = await current.get().execute(
            ctx, tool, tool_input, functools.partial(plain, self, ctx, tool)
        )
        return result

    return call_tool


def _get_tools(kind: Any) -> Any:
    plain = kind.get_tools

    @functools.wraps(plain)
    async def get_tools(self: Any, *args: Any, **options: Any) -> list[Any]:
        return current.get().tools(list(await plain(self, *args, **options)))

    return get_tools


class _HeldContext(Context):
    """The context of a step of a held workflow."""

    async def wait_for_event(
        self,
        event_type: Any,
        waiter_event: Any = None,
        waiter_id: str | None = None,
        requirements: dict[str, Any] | None = None,
        timeout: float | None = 2000,
    ) -> Any:
        """Wait for an event: what goes with a question is asked of people."""
        wait = super().wait_for_event
        if not isinstance(waiter_event, InputRequiredEvent):
            return await wait(event_type, waiter_event, waiter_id, requirements, timeout)
        options = {
            "event_type": event_type,
            "id": waiter_id,
            "requirements": requirements or {},
            "timeout": timeout,
        }
        return await current.get().ask(wait, waiter_event, options)
