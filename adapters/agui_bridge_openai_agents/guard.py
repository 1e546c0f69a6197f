"""What stands before every tool and model of a run, those of agents inside tools included.

The SDK has no hook that reaches all of them: `RunHooks` end at the first agent that is a tool, and
an agent that a tool runs by itself knows of none. What each of them does before it can call a tool
is to ask its agent for its tools. There, while a run of the bridge is under way, it gets copies
that ask the gate first. Outside such a run the SDK is as it was.
"""

from __future__ import annotations

import asyncio
import copy
import functools
from collections.abc import Awaitable, Callable, Collection, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from contextvars import ContextVar
from typing import Any, Final

from ag_ui.core import (
    BaseEvent,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)
from agents import (
    FunctionTool,
    Handoff,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    RunContextWrapper,
    RunHooks,
    RunResultStreaming,
    ToolGuardrailFunctionOutput,
    ToolInputGuardrail,
    ToolOutputGuardrail,
)
from agents.agent import AgentBase
from agents.run_internal import run_loop

from agui_bridge.adapters import Run
from agui_bridge.emitting import emit, events_in
from agui_bridge.errors import ConfigurationError
from agui_bridge.frameworks.needs_input import NeedsInput
from agui_bridge.frameworks.private_names import PrivateName, expect_names
from agui_bridge.frameworks.rounds import refused
from agui_bridge.frameworks.subagents import Subagents
from agui_bridge.protocol.answers.asks import Ask
from agui_bridge.protocol.answers.unexecuted import STOPPED, denied_by_policy
from agui_bridge.tool_gate import AskFirst, Execute, GateVerdict, Refuse, ToolGate
from agui_bridge_openai_agents.content import UNREADABLE, arguments_of, output_text
from agui_bridge_openai_agents.models import UniqueModel, hold_models

_ALLOW: Final = ToolGuardrailFunctionOutput.allow()
_NAME: Final = "agui_bridge"
_ACTING: Final = ("on_invoke_tool", "executor", "editor", "computer")

_current: ContextVar[Guard | None] = ContextVar("agui_bridge_openai_agents_guard", default=None)
_within: ContextVar[str | None] = ContextVar("agui_bridge_openai_agents_call", default=None)


NEEDED: Final = (
    PrivateName(AgentBase, "get_all_tools", ("run_context",)),
    PrivateName(run_loop, "get_model", ("agent", "run_config")),
    PrivateName(FunctionTool, "_agent_instance"),
    PrivateName(Handoff, "_agent_ref"),
    PrivateName(OpenAIResponsesModel, "_get_client"),
    PrivateName(OpenAIChatCompletionsModel, "_get_client"),
    PrivateName(RunResultStreaming, "run_loop_task"),
)
"""What is replaced, and what is read though it is private."""


def hold_agents() -> None:
    """Have agents ask the guard of their run for tools and models. Once per process.

    Raises:
        ConfigurationError: the SDK that is installed is another one than the adapter knows.
    """
    expect_names("openai-agents", NEEDED)
    plain = AgentBase.get_all_tools
    if getattr(plain, _NAME, False):
        return

    @functools.wraps(plain)
    async def get_all_tools(self: Any, run_context: RunContextWrapper[Any]) -> list[Any]:
        tools = await plain(self, run_context)
        guard = _current.get()
        return tools if guard is None else guard.held(self, tools)

    setattr(get_all_tools, _NAME, True)
    # No hook of the SDK may hold a tool back, and an agent that is a tool of another lies behind a
    # closure. Every agent asks for its tools here; outside of a run nothing changes.
    AgentBase.get_all_tools = get_all_tools  # type: ignore[method-assign]
    hold_models(_model_in_run)


def _model_in_run(model: Any) -> Any:
    guard = _current.get()
    return model if guard is None else guard.model(model)


def expect_holdable(agent: AgentBase[Any], tools: Collection[Any]) -> None:
    """Refuse tools that would begin unasked: the SDK carries them out in this process by itself.

    Raises:
        ConfigurationError: there is one.
    """
    for tool in tools:
        if not isinstance(tool, FunctionTool) and any(getattr(tool, n, None) for n in _ACTING):
            raise ConfigurationError(
                f"Agent {agent.name!r}: the tool {tool.name!r} is a {type(tool).__name__}, which "
                "the bridge can't hold back. Make it a function tool."
            )


class Guard(RunHooks[Any]):
    """Lets the tools of one run through the gate.

    Args:
        run: the run.
        gate: its gate.
        tell: takes events for the client.
        subagents: those of the run.
        frontend: tools that the application carries out, for the agents that talk to it.
        own: ids of calls of these agents that an earlier run was told.
        speaking: names of the agents that talk to the application, as far as they are known.
        words: what the application says to the models of these.

    Attributes:
        asks: questions of the policy, by tool call id.
        outputs: what tools returned, by tool call id.
        own: ids of the calls of the agents that talk to the application: not of those in tools.
        outer: by the id of a call that asks, the call that its agent works in.
        replies: how many replies these agents' models have given.
        caught_up: returns once the client was told of these replies.
    """

    def __init__(
        self,
        run: Run,
        gate: ToolGate,
        tell: Callable[[BaseEvent], None],
        subagents: Subagents,
        frontend: Collection[FunctionTool] = (),
        own: Collection[str] = (),
        speaking: Collection[str] = (),
        words: str = "",
    ) -> None:
        self.asks: dict[str, Ask] = {}
        self.outputs: dict[str, str] = {}
        self.own: set[str] = set(own)
        self.outer: dict[str, str | None] = {}
        self.replies: int = 0
        self.caught_up: Callable[[], Awaitable[None]] | None = None
        self._run = run
        self._gate = gate
        self._tell = tell
        self._subagents = subagents
        self._frontend = {tool.name: tool for tool in frontend}
        self._speaking = set(speaking)
        self._words = words
        self._loop = asyncio.get_running_loop()
        self._verdicts: dict[str, GateVerdict] = {}
        self._copies: dict[int, tuple[FunctionTool, FunctionTool]] = {}
        self._named: dict[tuple[str, str], FunctionTool] = {}
        self._calls = run.call_ids()
        self._models: dict[int, UniqueModel] = {}
        self._cut_off: set[str | None] = set()
        self._running: dict[str, tuple[str | None, AbstractAsyncContextManager[None]]] = {}

    def begin(self) -> None:
        """Guard what runs in this task, and in those that it begins."""
        _current.set(self)
        _within.set(None)

    def model(self, model: Any) -> Any:
        """A model as the SDK asks it while the run is under way."""
        if asyncio.get_running_loop() is not self._loop:
            return model
        # The SDK knows a model that it has asked by its identity.
        made = UniqueModel(model, self._calls.new, self._said)
        return self._models.setdefault(id(model), made)

    def _said(self) -> str:
        """What the application says to the agent that asks its model now: agents in tools none."""
        return self._words if _within.get() is None else ""

    def held(self, agent: AgentBase[Any], tools: list[Any]) -> list[Any]:
        """An agent's tools as they are given to the SDK while the run is under way.

        Raises:
            ConfigurationError: see `expect_holdable`.
        """
        if asyncio.get_running_loop() is not self._loop:
            # A sync tool runs an agent in its thread: the tool around it has passed the gate.
            return tools
        expect_holdable(agent, tools)
        held = [self._held(agent, t) if isinstance(t, FunctionTool) else t for t in tools]
        if _within.get() is None and agent.name in self._speaking:
            names = {getattr(tool, "name", None) for tool in held}
            held += [tool for name, tool in self._frontend.items() if name not in names]
        return held

    def tool(self, agent: str, name: str) -> FunctionTool | None:
        """A tool, as its author made it, by the names of its agent and its own."""
        return self._named.get((agent, name))

    async def judge(
        self, tool: FunctionTool | None, call_id: str, name: str, args: dict[str, Any]
    ) -> GateVerdict:
        """Ask the gate about a call, and remember what it says until the call begins."""
        parameters = tool.params_json_schema if tool is not None else None
        with self._faults():
            verdict = await self._gate.before(call_id, name, args, parameters=parameters)
        if isinstance(verdict, AskFirst):
            self.asks[call_id] = verdict.ask
        else:
            self._verdicts[call_id] = verdict
        return verdict

    def tell_result(self, call_id: str, text: str) -> None:
        """Tell what became of a call of an agent within a tool: no stream does."""
        subagent = self._subagents.owner(call_id)
        if subagent is not None:
            self._tell(
                ToolCallResultEvent(
                    message_id=self._run.mint(),
                    tool_call_id=call_id,
                    content=text,
                    role="tool",
                    subagent_run_id=subagent,
                )
            )

    # --- what the SDK tells of the agents that talk to the application ---

    async def on_agent_start(self, context: Any, agent: Any) -> None:
        """Note who talks to the application."""
        self._speaking.add(agent.name)

    async def on_handoff(self, context: Any, from_agent: Any, to_agent: Any) -> None:
        """Note who talks to the application."""
        self._speaking.add(to_agent.name)

    async def on_llm_end(self, context: Any, agent: Any, response: Any) -> None:
        """Note whose calls these are; they begin when the client has been told of them."""
        self.replies += 1
        for item in response.output:
            self.own |= {str(getattr(item, name, None)) for name in ("call_id", "id")}
        if self.caught_up is not None:
            await self.caught_up()

    # --- around a tool ---

    def _held(self, agent: AgentBase[Any], tool: FunctionTool) -> FunctionTool:
        known = self._copies.get(id(tool))
        if known is not None:
            return known[1]
        made = copy.copy(tool)
        made.on_invoke_tool = _Watched(made.on_invoke_tool, self._gate, self._cut_off)
        made.tool_input_guardrails = [
            *(tool.tool_input_guardrails or ()),
            ToolInputGuardrail(functools.partial(self._before, tool), name=_NAME),
        ]
        made.tool_output_guardrails = [
            ToolOutputGuardrail(self._over, name=_NAME),
            *(tool.tool_output_guardrails or ()),
            ToolOutputGuardrail(self._returned, name=_NAME),
        ]
        if tool.needs_approval is not False or self._run.policy is not None:
            made.needs_approval = functools.partial(self._asks, tool)
        # Both are held, so that their ids are nobody else's; a copy stands for itself.
        self._copies[id(tool)] = self._copies[id(made)] = (tool, made)
        self._named[agent.name, tool.name] = tool
        return made

    async def _asks(
        self, tool: FunctionTool, context: Any, args: dict[str, Any], call_id: str
    ) -> bool:
        """Whether a person is to approve a call: its author's rule, then the policy's."""
        self.outer[call_id] = _within.get()
        rule = tool.needs_approval
        if await rule(context, args, call_id) if callable(rule) else rule:
            return True
        if self._run.policy is None or call_id in self._verdicts:
            return False
        return isinstance(await self.judge(tool, call_id, tool.name, args), AskFirst)

    async def _before(self, tool: FunctionTool, data: Any) -> ToolGuardrailFunctionOutput:
        """Let a call begin, or not; the SDK asks this last of all."""
        call_id = data.context.tool_call_id
        self._tell_call(call_id, tool.name, data.context.tool_arguments, data.agent.name)
        match await self._verdict(tool, call_id, data.context.tool_arguments):
            case Execute():
                outer = _within.get()
                _within.set(call_id)
                inner = getattr(tool, "_agent_instance", None)
                if inner is not None:
                    # A stop waits for the tools of this agent, not for its model.
                    self._announce(inner.name, call_id)
                    return _ALLOW
                running = self._gate.running(call_id)
                await running.__aenter__()
                self._running[call_id] = (outer, running)
                return _ALLOW
            case Refuse(by="stop"):
                # The run is cancelled as soon as no other tool runs.
                await asyncio.Event().wait()
                raise AssertionError
            case Refuse(text=text):
                return self._refused(call_id, text)
            case _:
                # Nobody can be asked any more: the policy has changed its mind.
                return self._refused(call_id, denied_by_policy("It has to be approved first."))

    async def _verdict(self, tool: FunctionTool, call_id: str, arguments: str) -> GateVerdict:
        args = arguments_of(arguments)
        if args is None:
            return Refuse(UNREADABLE, "policy")
        if call_id not in self._verdicts:
            verdict = await self.judge(tool, call_id, tool.name, args)
            self._verdicts.pop(call_id, None)
            return verdict
        with self._faults():
            # What was said before the SDK went on may be old by now.
            await self._run.check_stop()
            if self._run.stop.requested:
                return Refuse(STOPPED, "stop")
            self._run.check_lease()
        return self._verdicts.pop(call_id)

    async def _over(self, data: Any) -> ToolGuardrailFunctionOutput:
        """Note that a tool runs no more, nor what an agent within it began."""
        call_id = data.context.tool_call_id
        for one, (outer, running) in list(self._running.items()):
            if call_id in (one, outer):
                del self._running[one]
                await running.__aexit__(None, None, None)
        return _ALLOW

    async def _returned(self, data: Any) -> ToolGuardrailFunctionOutput:
        """Tell what no stream tells: results of the calls of agents within tools."""
        call_id = data.context.tool_call_id
        for event in self._subagents.finish(call_id):
            self._tell(event)
        if call_id not in self._cut_off:
            for told in events_in(data.output):
                emit(told)
            self.outputs[call_id] = text = output_text(data.output)
            self.tell_result(call_id, text)
        return _ALLOW

    # --- what agents within tools do ---

    def _announce(self, name: str, call_id: str | None) -> str:
        subagent, events = self._subagents.find(name, call_id)
        for event in events:
            self._tell(event)
        return subagent

    def _tell_call(self, call_id: str, name: str, arguments: str, agent: str) -> None:
        if call_id in self.own or self._subagents.owner(call_id) is not None:
            return
        subagent = self._announce(agent, _within.get())
        self._subagents.own(call_id, subagent)
        tag = {"tool_call_id": call_id, "subagent_run_id": subagent}
        self._tell(ToolCallStartEvent(tool_call_name=name, **tag))
        self._tell(ToolCallArgsEvent(delta=arguments or "{}", **tag))
        self._tell(ToolCallEndEvent(**tag))

    def _refused(self, call_id: str, text: str) -> ToolGuardrailFunctionOutput:
        self.tell_result(call_id, text)
        return ToolGuardrailFunctionOutput.reject_content(text)

    @contextmanager
    def _faults(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            self._gate.fail(error)
            raise


class _Watched:
    """What a tool does; the SDK makes a text of its cancellation, which says nothing of its act.

    It has all that the SDK looks for at the tool's own function.

    Args:
        invoke: that function.
        gate: the run's.
        cut_off: takes the ids of the calls that were cancelled.
    """

    def __init__(self, invoke: Any, gate: ToolGate, cut_off: set[str | None]) -> None:
        functools.update_wrapper(self, invoke)
        self._invoke = invoke
        self._gate = gate
        self._cut_off = cut_off

    @property  # type: ignore[misc]
    def __class__(self) -> Any:  # the SDK looks at what kind it is before it judges arguments
        return type(self._invoke)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_invoke"], name)

    async def __call__(self, context: Any, arguments: str) -> Any:
        try:
            with self._gate.cut_off_noted():
                returned = await self._invoke(context, arguments)
        except asyncio.CancelledError:
            self._cut_off.add(_within.get())
            raise
        if isinstance(returned, NeedsInput):
            raise refused(context.tool_name, self._gate)
        return returned
