"""What stands before every tool and every request to a model of an agent's run."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import replace
from types import CodeType
from typing import Any, Final
from uuid import uuid4

from agent_framework import (
    AgentExecutor,
    BaseAgent,
    ChatContext,
    ChatMiddleware,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FunctionInvocationContext,
    FunctionMiddleware,
    FunctionTool,
    Message,
    MiddlewareTermination,
    ResponseStream,
    SessionContext,
    Workflow,
    WorkflowAgent,
    WorkflowExecutor,
    _sessions,
)

from agui_bridge.adapters import Run, StopSignal
from agui_bridge.errors import ConfigurationError
from agui_bridge.frameworks.needs_input import NeedsInput, answering, collecting, only_one
from agui_bridge.frameworks.private_names import PrivateName
from agui_bridge.frameworks.rounds import LOST, NOWHERE, Rounds, refused
from agui_bridge.protocol.answers.asks import Ask
from agui_bridge.protocol.answers.decisions import Approve, Decision, Respond
from agui_bridge.protocol.answers.unexecuted import FAILED, denied_by_policy
from agui_bridge.protocol.json_values import same_json
from agui_bridge.protocol.threads.records import Json, ToolCall
from agui_bridge.tool_gate import AskFirst, Execute, Refuse, ToolGate
from agui_bridge_agent_framework.arguments import Approved, StandIn, as_json, parameters_of
from agui_bridge_agent_framework.content import as_result, is_text_of, result_text
from agui_bridge_agent_framework.shared_state import SharedState
from agui_bridge_agent_framework.unique_calls import UniqueCalls

INSTEAD: Final = (
    "Leave it out: here people approve calls, and routine ones a policy of the bridge, or a "
    "decision that it remembers."
)
"""What to do about something in an agent that approves calls."""

_GUARD: ContextVar[Guard | None] = ContextVar("agui_bridge_guard", default=None)

_IS_IN_TOOL: ContextVar[bool] = ContextVar("agui_bridge_is_in_tool", default=False)
"""Whether an agent runs that is a tool: its calls are known to nobody, and may have any ids."""

_USAGE: Final = {
    "input_token_count": "inputTokens",
    "output_token_count": "outputTokens",
    "total_token_count": "totalTokens",
    "reasoning_output_token_count": "reasoningTokens",
    "cache_read_input_token_count": "cachedInputTokens",
    "cache_creation_input_token_count": "cacheWriteInputTokens",
}
_FAILED: Final = "Error: Function failed."
"""What the framework tells the model of a tool that raised."""


class Guard(FunctionMiddleware):
    """Lets the tools of one run through the gate.

    Args:
        gate: makes the run's, given which calls have to be approved.
        decided: what people decided, by tool call id.
        calls: the thread's calls.
        words: what the application says.
        state: the state that page and agent share.
        rounds: the calls whose tools ask in their middle; None where none can.

    Attributes:
        calls: see above.
        gate: the run's.
        asks: the gate's questions, by tool call id.
        outputs: what tools returned, by tool call id.
        made: these calls.
        judged: ids of the calls that came to the gate.
        failed: ids of the calls that did not begin because the run is to fail.
        tools: the tools that the model was given, by name.
        requests: how many requests to the model were made.
        must_be_approved: ids of the calls that people approve: each execution of them.
        approved_by_rule: ids of the calls that a rule of the agent's author approves.
        unknown: what is told of calls of tools that there are not, by tool call id.
        usage: what all models used, those of agents in tools too, by provider and model.
    """

    def __init__(
        self,
        gate: Callable[[Callable[[ToolCall], bool]], ToolGate],
        decided: Mapping[str, Decision],
        calls: UniqueCalls,
        words: str,
        state: SharedState,
        rounds: Rounds | None = None,
    ) -> None:
        self.calls = calls
        self.asks: dict[str, Ask] = {}
        self.outputs: dict[str, str] = {}
        self.made: dict[str, ToolCall] = {}
        self.judged: set[str] = set()
        self.failed: set[str] = set()
        self.tools: dict[str, FunctionTool] = {}
        self.requests: int = 0
        self.unknown: dict[str, str] = {}
        self.usage: dict[tuple[str | None, str], Counter[str]] = {}
        self.must_be_approved: set[str] = set(decided)
        self.approved_by_rule: set[str] = set()
        self.gate: ToolGate = gate(lambda call: call.id in self.must_be_approved)
        self._decided = decided
        self._words = words
        self._state = state
        self._rounds = rounds

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
        args = as_json(context.arguments)
        if not _IS_IN_TOOL.get():
            self.judged.add(call)
            self.made[call] = ToolCall(call, tool.name, args)
        else:
            # What was decided about a call of the same id is not about this one.
            call = f"{tool.name}:{uuid4()}"
        if tool.approval_mode == "always_require" and call not in self.approved_by_rule:
            self.must_be_approved.add(call)
        approved = Approved(tool)
        try:
            verdict = await self.gate.before(
                call, tool.name, args, parameters=parameters_of(tool), validated=approved.validated
            )
        except Exception as error:
            raise self._fails(call, context, error) from error
        match verdict:
            case Execute(args=judged):
                if isinstance(tool, StandIn):
                    context.arguments = dict(judged)
                elif not same_json(judged, args):
                    context.arguments = approved.values
                await self._execute(context, call, call_next, judged)
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
        args: Mapping[str, Json],
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
                name, session = context.function.name, context.session
                made: list[NeedsInput] = []
                given = self._rounds.given(call) if self._rounds is not None else None
                try:
                    with answering(given), collecting(made):
                        await self._state.around(
                            name, args, session, call_next, lambda: context.result
                        )
                except Exception:
                    if not _IS_IN_TOOL.get():
                        self.outputs[call] = _FAILED
                    raise
            if made:
                self._ask_amid(context, call, made)
        if not _IS_IN_TOOL.get() and call not in self.asks:
            told = Content.from_function_result(call, result=context.result)
            self.outputs[call] = result_text(told)

    def _ask_amid(
        self, context: FunctionInvocationContext, call: str, made: list[NeedsInput]
    ) -> None:
        """Have the run end with what a tool asks, or say that it has asked too often.

        Raises:
            MiddlewareTermination: nobody can be asked here, or it is not known what.
        """
        needed = only_one(one for one in made if is_text_of(context.result, one))
        if needed is None or self._rounds is None or _IS_IN_TOOL.get():
            why = LOST if needed is None else NOWHERE
            mistake = refused(context.function.name, self.gate, why)
            raise self._fails(call, context, mistake) from mistake
        too_often = self._rounds.ask(call, needed, self.gate)
        if too_often is not None:
            context.result = too_often
            return
        self.asks[call] = self._rounds.asks[call][0]
        # As they were proposed or approved: the framework makes the same values of them once more.
        arguments = self.calls.proposed.get(call) or dict(self.gate.executed[call].args)
        again = Content.from_function_call(call, context.function.name, arguments=arguments)
        # It is begun again like a call that was approved.
        context.result = _request(context, again)

    def tell(self, content: Content) -> None:
        """Put in place of the framework's sentence what a person gave, or why it did not run."""
        if content.call_id in self.unknown:
            as_result(content, self.unknown[content.call_id])
            return
        decision = self._decided.get(content.call_id or "")
        if decision is None or isinstance(decision, Approve):
            return
        if content.call_id not in self.gate.begun | self.judged:
            told = decision.result if isinstance(decision, Respond) else decision.text
            as_result(content, told)

    def tell_all(self, context: ChatContext) -> None:
        """Do so in a request to the model, say what the application does, and note its tools."""
        self.requests += 1
        config = getattr(context.client, "function_invocation_configuration", None) or {}
        given = (context.options or {}).get("tools") or ()
        all_given = (*given, *(config.get("additional_tools") or ()))
        tools = {tool.name: tool for tool in all_given if isinstance(tool, FunctionTool)}
        self.tools |= tools
        context.stream_transform_hooks.append(self.calls.renamer(frozenset(tools)))
        for message in context.messages:
            for content in message.contents:
                if content.type == "function_result":
                    self.tell(content)
        context.messages = self._with_words(context)
        if _is_kept(context):
            context.messages = self.calls.as_named(context.messages)

    def tools_for(self, call: str) -> Collection[str]:
        """Names of the tools that the model had which made a call, as far as that is known."""
        return self.calls.tools.get(call, self.tools)

    def note_usage(self, run: Run) -> None:
        """Add what was used to a run's."""
        for (provider, model), used in self.usage.items():
            named = {"model": model} if provider is None else {"provider": provider, "model": model}
            run.usage.append({**named, **used})

    async def ask(self, context: ChatContext, call_next: Callable[[], Awaitable[None]]) -> None:
        """Ask a model, and note what that used."""
        context.stream_result_hooks.append(lambda response: self._note(context, response))
        await call_next()
        if isinstance(context.result, ChatResponse):
            self._note(context, context.result)

    def _note(self, context: ChatContext, response: ChatResponse) -> None:
        provider = getattr(context.client, "OTEL_PROVIDER_NAME", "unknown")
        key = None if provider == "unknown" else str(provider), response.model or "unknown"
        found = response.usage_details or {}
        used = {own: n for name, own in _USAGE.items() if isinstance(n := found.get(name), int)}
        if used:
            self.usage.setdefault(key, Counter()).update(used)

    def _with_words(self, context: ChatContext) -> list[Message]:
        """The messages, with the words before what the user said last."""
        told = list(context.messages)
        place = max((n for n, one in enumerate(told) if one.role == "user"), default=None)
        if place is None and _is_kept(context):
            # A service keeps what it is told: it has them with what the user said.
            return told
        text = "\n\n".join(filter(None, (self._words, self._state.words())))
        if not text or self._state.is_over():
            return told
        # As the message of a context provider: no history keeps it.
        words = SessionContext(input_messages=[])
        words.extend_messages("agui_bridge", [Message("user", [text])])
        place = len(told) if place is None else place
        return [*told[:place], *words.get_messages(), *told[place:]]


def watching() -> Guard | None:
    """The guard that watches this task; None in an agent that is a tool, too."""
    return None if _IS_IN_TOOL.get() else _GUARD.get()


class RequestGuard(ChatMiddleware):
    """Knows the tools that the model was given, and tells it what people decided.

    Args:
        guard: the run's.
        stop: the run's.
        check: raises where the model must not be asked, given the calls that have a result.
        waits: whether it is not asked now, since a call of its last reply has no result yet.
    """

    def __init__(
        self,
        guard: Guard,
        stop: StopSignal,
        check: Callable[[Collection[str]], None],
        *,
        waits: bool,
    ) -> None:
        self._guard = guard
        self._stop = stop
        self._check = check
        self._waits = waits

    async def process(self, context: ChatContext, call_next: Callable[[], Awaitable[None]]) -> None:
        """Ask the model; the framework calls this around each request."""
        guard = self._guard
        if self._stop.requested:
            # The run is cancelled as soon as no tool runs.
            await asyncio.Event().wait()
        guard.gate.raise_fault()
        contents = [content for message in context.messages for content in message.contents]
        self._check({str(one.call_id) for one in contents if one.type == "function_result"})
        if self._waits:
            made = ResponseStream(_nothing(), finalizer=ChatResponse.from_updates)
            context.result = made if context.stream else ChatResponse(messages=[])
            return
        guard.tell_all(context)
        await guard.ask(context, call_next)


class _InnerRequest(ChatMiddleware):
    """Tells the model of an agent in a workflow what people decided."""

    async def process(self, context: ChatContext, call_next: Callable[[], Awaitable[None]]) -> None:
        guard = _GUARD.get()
        if guard is None:
            await call_next()
            return
        guard.gate.raise_fault()
        if not _IS_IN_TOOL.get():
            guard.tell_all(context)
        await guard.ask(context, call_next)


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


def no_such_tool(name: str) -> str:
    """What the framework, and so the model and the client, is told of a call of no tool."""
    return f'Error: Requested function "{name}" not found.'


def private_names() -> list[PrivateName]:
    """What this needs of the framework beyond its public API."""
    inner = [one for one in BaseAgent.as_tool.__code__.co_consts if isinstance(one, CodeType)]
    held = dict.fromkeys(name for one in inner for name in one.co_freevars)
    return [
        PrivateName(_sessions, "LOCAL_HISTORY_CONVERSATION_ID"),
        PrivateName(type("The function of BaseAgent.as_tool", (), held), "self"),
    ]


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


def _is_kept(context: ChatContext) -> bool:
    """Whether a service keeps the conversation, and is told what is new alone."""
    kept = (context.options or {}).get("conversation_id")
    return bool(kept) and kept != _sessions.LOCAL_HISTORY_CONVERSATION_ID


def _request(context: FunctionInvocationContext, made: Content) -> Content:
    """What has the framework stop for an approval of a call that needs none by itself."""
    made.id = str(context.metadata.get("function_call_occurrence_id") or made.call_id)
    return Content.from_function_approval_request(id=made.id, function_call=made)


async def _nothing() -> AsyncIterator[ChatResponseUpdate]:
    """A reply that has nothing in it."""
    for update in list[ChatResponseUpdate]():
        yield update
