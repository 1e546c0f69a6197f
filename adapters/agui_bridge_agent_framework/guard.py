"""What stands before every tool and every request to a model of an agent's run."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import replace
from typing import Any, Final
from uuid import uuid4

from agent_framework import (
    AgentExecutor,
    BaseAgent,
    ChatContext,
    ChatMiddleware,
    Content,
    FunctionInvocationContext,
    FunctionMiddleware,
    FunctionTool,
    MiddlewareTermination,
    Workflow,
    WorkflowAgent,
    WorkflowExecutor,
)

from agui_bridge.adapters import StopSignal
from agui_bridge.errors import ConfigurationError
from agui_bridge.protocol.answers.asks import Ask
from agui_bridge.protocol.answers.decisions import Approve, Decision, Respond
from agui_bridge.protocol.answers.unexecuted import FAILED, denied_by_policy
from agui_bridge.protocol.json_values import same_json
from agui_bridge.protocol.threads.records import Json, ToolCall
from agui_bridge.tool_gate import AskFirst, Execute, Refuse, ToolGate
from agui_bridge_agent_framework.arguments import StandIn, as_json, values_of
from agui_bridge_agent_framework.content import as_result, result_text
from agui_bridge_agent_framework.unique_calls import UniqueCalls

__all__ = ["INSTEAD", "Guard", "RequestGuard", "agents_in", "guard_tools_in"]

INSTEAD: Final = (
    "Leave it out: here people approve calls, and routine ones a policy of the bridge, or a "
    "decision that it remembers."
)
"""What to do about something in an agent that approves calls."""

_GUARD: ContextVar[Guard | None] = ContextVar("agui_bridge_guard", default=None)

_IS_IN_TOOL: ContextVar[bool] = ContextVar("agui_bridge_is_in_tool", default=False)
"""Whether an agent runs that is a tool: its calls are known to nobody, and may have any ids."""

_FAILED: Final = "Error: Function failed."
"""What the framework tells the model of a tool that raised."""


class Guard(FunctionMiddleware):
    """Lets the tools of one run through the gate.

    Args:
        gate: makes the run's, given which calls have to be approved.
        decided: what people decided, by tool call id.
        calls: the thread's calls.

    Attributes:
        calls: see above.
        gate: the run's.
        asks: the gate's questions, by tool call id.
        outputs: what tools returned, by tool call id.
        judged: ids of the calls that came to the gate.
        failed: ids of the calls that did not begin because the run is to fail.
        tools: the tools that the model was given, by name.
        requests: how many requests to the model were made.
        must_be_approved: ids of the calls that people approve: each execution of them.
    """

    def __init__(
        self,
        gate: Callable[[Callable[[ToolCall], bool]], ToolGate],
        decided: Mapping[str, Decision],
        calls: UniqueCalls,
    ) -> None:
        self.calls = calls
        self.asks: dict[str, Ask] = {}
        self.outputs: dict[str, str] = {}
        self.judged: set[str] = set()
        self.failed: set[str] = set()
        self.tools: dict[str, FunctionTool] = {}
        self.requests: int = 0
        self.must_be_approved: set[str] = set(decided)
        self.gate: ToolGate = gate(lambda call: call.id in self.must_be_approved)
        self._decided = decided

    def watch(self) -> None:
        """Stand before the tools of a workflow's agents, in what this task does from now on."""
        _GUARD.set(self)

    async def process(
        self, context: FunctionInvocationContext, call_next: Callable[[], Awaitable[None]]
    ) -> None:
        """Execute a tool, or say what stands for its result; the framework calls this around each.

        Raises:
            MiddlewareTermination: the run is to end; see `ToolGate.fault`.
        """
        await self.judge(context, call_next, is_inner=False)

    async def judge(
        self,
        context: FunctionInvocationContext,
        call_next: Callable[[], Awaitable[None]],
        *,
        is_inner: bool,
    ) -> None:
        """See `process`.

        Args:
            context: the call.
            call_next: executes it.
            is_inner: whether it is of an agent inside a tool, which nobody can be asked for.

        Raises:
            MiddlewareTermination: see `process`.
        """
        tool, call = context.function, str(context.metadata["call_id"])
        args = as_json(_mapping(context.arguments))
        if not _IS_IN_TOOL.get():
            self.judged.add(call)
        if _IS_IN_TOOL.get():
            # What was decided about a call of the same id is not about this one.
            call = f"{tool.name}:{uuid4()}"
        if tool.approval_mode == "always_require":
            self.must_be_approved.add(call)
        approved = _Approved(tool)
        try:
            verdict = await self.gate.before(
                call, tool.name, args, parameters=tool.parameters(), validated=approved.validated
            )
        except Exception as error:
            raise self._fails(call, context, error) from error
        match verdict:
            case Execute(args=judged):
                if isinstance(tool, StandIn):
                    context.arguments = dict(judged)
                elif not same_json(judged, args):
                    context.arguments = approved.values
                await self._execute(context, call, call_next, is_inner)
            case Refuse(by="stop"):
                # The run is cancelled as soon as no other tool runs.
                await asyncio.Event().wait()
            case Refuse(text=text):
                context.result = text
            case AskFirst() if call in self.outputs:
                # Middleware has it executed once more: an approval is of one execution.
                context.result = self.outputs[call]
            case AskFirst() if call in self.asks and "approval_response" in context.metadata:
                raise self._fails(
                    call,
                    context,
                    ConfigurationError(
                        f"Middleware of the agent approves {tool.name!r}, about which nobody was "
                        f"asked, and would do so without end. {INSTEAD}"
                    ),
                )
            case AskFirst(ask=ask) if not is_inner:
                # People are shown what the model gave, and not what the framework made of it.
                made = Content.from_function_call(
                    call, tool.name, arguments=self.calls.proposed.get(call, json.dumps(args))
                )
                shown = ToolCall(call, tool.name, dict(made.parse_arguments() or {}))
                self.asks[call] = replace(ask, tool_call=shown)
                context.result = _request(context, made)
            case _:
                context.result = denied_by_policy(
                    "It has to be approved, and nobody can be asked while its agent is a tool of "
                    "another agent."
                )

    def _fails(
        self, call: str, context: FunctionInvocationContext, error: Exception
    ) -> MiddlewareTermination:
        """Have the run fail, and not the tool, as the framework would take it."""
        self.gate.fault = self.gate.fault or error
        self.failed.add(call)
        context.result = FAILED
        return MiddlewareTermination("The run failed.", result=FAILED)

    async def _execute(
        self,
        context: FunctionInvocationContext,
        call: str,
        call_next: Callable[[], Awaitable[None]],
        is_inner: bool,
    ) -> None:
        agent = _agent_of(context.function)
        if agent is not None:
            # A stop waits for the tools of an agent in a tool, not for its model.
            guard_tools_of(agent)
            watching, is_in_tool = _GUARD.set(self), _IS_IN_TOOL.set(True)
            try:
                await call_next()
            finally:
                _GUARD.reset(watching)
                _IS_IN_TOOL.reset(is_in_tool)
        else:
            async with self.gate.running(call):
                try:
                    await call_next()
                except Exception:
                    if not is_inner:
                        self.outputs[call] = _FAILED
                    raise
        if not is_inner:
            made = Content.from_function_result(call, result=context.result)
            self.outputs[call] = result_text(made)

    def tell(self, content: Content) -> None:
        """Put in place of the framework's sentence what a person gave, or why it did not run."""
        decision = self._decided.get(content.call_id or "")
        if decision is None or isinstance(decision, Approve):
            return
        if content.call_id not in self.gate.begun | self.judged:
            told = decision.result if isinstance(decision, Respond) else decision.text
            as_result(content, told)

    def tell_all(self, context: ChatContext) -> None:
        """Do so in a request to the model, and note the tools that it is given."""
        context.stream_transform_hooks.append(self.calls.renamer())
        self.requests += 1
        for tool in (context.options or {}).get("tools") or ():
            if isinstance(tool, FunctionTool):
                self.tools[tool.name] = tool
        for message in context.messages:
            for content in message.contents:
                if content.type == "function_result":
                    self.tell(content)


class RequestGuard(ChatMiddleware):
    """Knows the tools that the model was given, and tells it what people decided.

    Args:
        guard: the run's.
        stop: the run's.
        check: raises where the model must not be asked, given the calls that have a result.
    """

    def __init__(
        self, guard: Guard, stop: StopSignal, check: Callable[[Collection[str]], None]
    ) -> None:
        self._guard = guard
        self._stop = stop
        self._check = check

    async def process(self, context: ChatContext, call_next: Callable[[], Awaitable[None]]) -> None:
        """Ask the model; the framework calls this around each request."""
        guard = self._guard
        if self._stop.requested:
            # The run is cancelled as soon as no tool runs.
            await asyncio.Event().wait()
        guard.gate.raise_fault()
        contents = [content for message in context.messages for content in message.contents]
        self._check({str(one.call_id) for one in contents if one.type == "function_result"})
        guard.tell_all(context)
        await call_next()


class _InnerRequest(ChatMiddleware):
    """Tells the model of an agent in a workflow what people decided."""

    async def process(self, context: ChatContext, call_next: Callable[[], Awaitable[None]]) -> None:
        guard = _GUARD.get()
        if guard is not None:
            guard.gate.raise_fault()
            if not _IS_IN_TOOL.get():
                guard.tell_all(context)
        await call_next()


class _Inner(FunctionMiddleware):
    """Stands before the tools of an agent that is a tool, or in a workflow.

    It remains, and does something only while such an agent runs within another's run: the same
    agent may have runs of its own.
    """

    async def process(
        self, context: FunctionInvocationContext, call_next: Callable[[], Awaitable[None]]
    ) -> None:
        guard = _GUARD.get()
        if guard is None:
            await call_next()
        else:
            await guard.judge(context, call_next, is_inner=True)


def _agent_of(tool: FunctionTool) -> Any:
    """The agent that a tool runs; `as_tool` keeps it in its function alone."""
    function: Any = tool.func
    names = getattr(getattr(function, "__code__", None), "co_freevars", ())
    cells = getattr(function, "__closure__", None) or ()
    held = [cell.cell_contents for name, cell in zip(names, cells, strict=True) if name == "self"]
    return held[0] if held and isinstance(held[0], BaseAgent) else None


def guard_tools_of(agent: Any) -> None:
    """Stand before the tools of an agent that somebody else runs, while a guard watches."""
    if isinstance(agent, WorkflowAgent):
        guard_tools_in(agent.workflow)
        return
    own = list(getattr(agent, "middleware", None) or ())
    if not own or not isinstance(own[-1], _InnerRequest):
        others = (one for one in own if not isinstance(one, _Inner | _InnerRequest))
        agent.middleware = [*others, _Inner(), _InnerRequest()]


def guard_tools_in(workflow: Workflow) -> None:
    """Do so for all agents of a workflow, and of the workflows that are executors of it."""
    for agent in agents_in(workflow):
        guard_tools_of(agent)


def agents_in(workflow: Workflow) -> Iterator[Any]:
    """The agents of a workflow, and of those within it."""
    for executor in workflow.get_executors_list():
        if isinstance(executor, WorkflowExecutor):
            yield from agents_in(executor.workflow)
        elif isinstance(executor, AgentExecutor):
            if isinstance(executor.agent, WorkflowAgent):
                yield from agents_in(executor.agent.workflow)
            else:
                yield executor.agent


class _Approved:
    """Arguments that a person approved, as the tool is called with them."""

    def __init__(self, tool: FunctionTool) -> None:
        self.values: dict[str, Any] = {}
        self._tool = tool.tool if isinstance(tool, StandIn) else tool

    def validated(self, args: Mapping[str, Json]) -> Mapping[str, Json]:
        """Make values of them; gives these as JSON."""
        self.values = values_of(self._tool, args)
        return as_json(self.values)


def _request(context: FunctionInvocationContext, made: Content) -> Content:
    """What has the framework stop for an approval of a call that needs none by itself."""
    made.id = str(context.metadata.get("function_call_occurrence_id") or made.call_id)
    return Content.from_function_approval_request(id=made.id, function_call=made)


def _mapping(arguments: Any) -> Mapping[str, Any]:
    return arguments if isinstance(arguments, Mapping) else arguments.model_dump()
