"""What stands before every tool of a run, in the agent and in all below it: a plugin of ADK."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Final

from google.adk.events import RequestInput
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.function_tool import FunctionTool
from google.genai import types

from agui_bridge.adapters import Run
from agui_bridge.errors import ConfigurationError
from agui_bridge.frameworks.needs_input import NeedsInput, give
from agui_bridge.frameworks.rounds import TWO_WAYS, Rounds, refused
from agui_bridge.protocol.answers.asks import Ask
from agui_bridge.protocol.answers.decisions import Decision, Respond
from agui_bridge.protocol.answers.unexecuted import UNTOLD, denied_by_policy
from agui_bridge.protocol.json_values import same_json
from agui_bridge.protocol.threads.records import Json, ToolCall
from agui_bridge.tool_gate import AskFirst, Execute, GateVerdict, Refuse, ToolGate
from agui_bridge_adk.content import as_json, result_text
from agui_bridge_adk.nodes import (
    INPUT,
    MAY_RUN,
    NodeCall,
    NodeResult,
    confirmed_by,
    hold_arguments,
    may_run,
    requests_in,
    tool_of,
)
from agui_bridge_adk.pauses import Waiting
from agui_bridge_adk.surface_tool import SurfaceTool

OUTPUT: Final = "set_model_response"
"""The tool by which a model gives its structured output."""

CONTROLS: Final = frozenset({"transfer_to_agent", OUTPUT, INPUT})
"""Tools of ADK itself that say how the run goes on: they are no acts."""

_NAME: Final = "agui_bridge"
_WAITS: Final = {"error": "This tool call waits for an approval."}


class NodeFailed(Exception):
    """A workflow's function failed that a person had approved, whatever ADK would try then."""


class FrontendTool(BaseTool):
    """A tool that the application carries out: it waits for its result.

    Args:
        name: its name.
        description: what it is good for.
        parameters: its JSON Schema.
    """

    def __init__(self, name: str, description: str, parameters: Any) -> None:
        super().__init__(name=name, description=description, is_long_running=True)
        self._parameters = parameters or {"type": "object", "properties": {}}

    def _get_declaration(self) -> types.FunctionDeclaration:
        return types.FunctionDeclaration(
            name=self.name,
            description=self.description,
            parameters_json_schema=self._parameters,
        )

    async def run_async(self, *, args: dict[str, Any], tool_context: Any) -> Any:
        """Wait: ADK asks again when there is a result."""
        return None


class Guard(BasePlugin):
    """Lets the tools of one run through the gate.

    Args:
        run: the run.
        gate: makes its gate, given which calls their tools want approved.
        decided: what people decided, by tool call id.
        waited: what was waited for.
        instructions: what the application tells the model.
        words: gives what a model reads before what the user said last, "" for nothing, by the
            names of its tools.
        tell: takes what no event of ADK tells: the tools that nodes of workflows run.
        is_workflow: whether the root is a workflow.
        toolsets: what stands for the application's tools among those of agents, by the agent's
            name; where none does, each agent gets all of them.
        rounds: the calls whose tools ask in their middle.
        surface: makes surfaces, where the client offers them, in the place of the application's
            tool that draws them.

    Attributes:
        asks: the gate's questions, by tool call id.
        outputs: what tools returned, by tool call id.
        unfinished: ids of the calls whose tools will have their results later.
        parameters: JSON Schemas of tools' arguments, by tool call id.
        of_nodes: ids of the calls that nodes of workflows make, by the node's path.
        frontend: names of the application's tools.
    """

    def __init__(
        self,
        run: Run,
        gate: Callable[[Callable[[ToolCall], bool]], ToolGate],
        decided: Mapping[str, Decision],
        waited: Collection[Waiting],
        instructions: list[str],
        words: Callable[[Collection[str]], str],
        tell: Callable[[NodeCall | NodeResult], None],
        is_workflow: bool,
        toolsets: Mapping[str, Sequence[Any]],
        rounds: Rounds,
        surface: SurfaceTool | None = None,
    ) -> None:
        super().__init__(_NAME)
        self.asks: dict[str, Ask] = {}
        self.outputs: dict[str, str] = {}
        self.unfinished: set[str] = set()
        self.parameters: dict[str, Mapping[str, Json]] = {}
        self._run = run
        self._decided = decided
        self._permits = {one.call for one in waited if one.kind == "permit"}
        self._confirmed = {one.call for one in waited if one.kind in ("approval", "confirmation")}
        self.of_nodes: dict[str, str] = {
            one.responds_to.removeprefix(MAY_RUN): one.call
            for one in waited
            if one.of_node and one.responds_to.startswith(MAY_RUN)
        }
        self._functions = {one.call: one.args for one in waited if one.kind == "node"}
        if is_workflow:
            hold_arguments(_approved_of)
        self._instructions = instructions
        self._words = words
        self._tell = tell
        self._is_workflow = is_workflow
        self._frontend = [
            FrontendTool(tool.name, tool.description, tool.parameters) for tool in run.tools
        ]
        self.frontend: set[str] = {tool.name for tool in self._frontend}
        self._toolsets = toolsets
        self._rounds = rounds
        self._surface = surface
        self._must_be_approved: set[str] = set()
        self._running: dict[str, AbstractAsyncContextManager[None]] = {}
        # What the root agent works in, or each agent and tool of a workflow.
        self._working = list[asyncio.Task[Any]]()
        self.gate = gate(lambda call: call.id in self._must_be_approved)

    @property
    def is_cut_off(self) -> bool:
        """Whether what the root agent worked in was cancelled, which ADK keeps to itself."""
        return any(task.cancelled() for task in self._working)

    # --- what ADK calls ---

    async def before_run_callback(self, *, invocation_context: Any) -> None:
        """Note that an agent begins."""
        if invocation_context.session.id == self._run.thread_id:
            self._working.clear()

    async def before_agent_callback(self, *, agent: Any, callback_context: Any) -> None:
        """Note what the first agent works in, which is the root; of a workflow every one."""
        if not self._working or self._is_workflow:
            self._note_task()

    async def on_event_callback(self, *, invocation_context: Any, event: Any) -> None:
        """Note that a tool runs no more which a node ran, and which has asked something.

        Raises:
            NodeFailed: a function failed. ADK waits for this before it tries again, and of another
                try it would ask nobody: an approval is of one execution.
        """
        path = event.node_info.path if event.error_code else None
        if path is not None and self.of_nodes.get(path) in self._functions:
            error = NodeFailed(f"{path} failed: {event.error_code}: {event.error_message}")
            self.gate.fail(error)
            raise error
        for asked in requests_in(event) if self._is_workflow and not event.partial else ():
            asked.args = as_json(asked.args)
            if call := self.of_nodes.get(confirmed_by(asked) or ""):
                await self._over(call)

    async def before_model_callback(self, *, callback_context: Any, llm_request: Any) -> None:
        """Give the agents that talk to the application its tools, instructions and words."""
        if self._is_inner(callback_context):
            return
        known = llm_request.tools_dict
        tools: list[BaseTool] = [*self._frontend_of(callback_context)]
        if self._surface is not None and self._surface.name not in known:
            tools, words = self._surface.among(tools), self._surface.words
        else:
            words = self._words({*known, *(tool.name for tool in tools)})
        if words:
            llm_request.contents = with_words(llm_request.contents, words)
        llm_request.append_tools([tool for tool in tools if tool.name not in known])
        if self._instructions:
            llm_request.append_instructions(self._instructions)

    async def before_tool_callback(
        self, *, tool: Any, tool_args: dict[str, Any], tool_context: Any
    ) -> dict[str, Any] | None:
        """Let a call begin, or not; after the agent's own callbacks, which may change arguments."""
        if (path := tool_of(tool_context)) is not None:
            of_node: dict[str, Any] | None = await self._judge_node(
                path, tool, tool_args, tool_context
            )
            return of_node
        agent = tool_context.get_invocation_context().agent
        own = list(getattr(agent, "canonical_before_tool_callbacks", ()))
        if not own:
            return await self.judge(tool, tool_args, tool_context)
        if own[-1] is not _last_callback:
            agent.before_tool_callback = [*own, _last_callback]
        return None

    async def after_tool_callback(
        self, *, tool: Any, tool_args: dict[str, Any], tool_context: Any, result: Any
    ) -> dict[str, Any] | None:
        """Note that a tool runs no more, and what it returned.

        Raises:
            AgentMistake: it asks in its middle, where nobody can be asked.
        """
        call = tool_context.function_call_id
        await self._over(call)
        if isinstance(result, NeedsInput):
            if tool_of(tool_context) is not None or self._is_inner(tool_context):
                raise refused(tool.name, self.gate)
            wished = call in tool_context.actions.requested_tool_confirmations
            if wished or call in self._confirmed - self._must_be_approved:
                raise refused(tool.name, self.gate, TWO_WAYS)
            too_often = self._rounds.ask(call, result, self.gate)
            if too_often is not None:
                self.outputs[call] = too_often
                return {"error": too_often}
            tool_context.request_confirmation()
            tool_context.actions.skip_summarization = True
            return dict(_WAITS)
        if tool_of(tool_context) is not None:
            if not isinstance(result, RequestInput):
                self._tell(NodeResult(call, result_text(result)))
        elif call in tool_context.actions.requested_tool_confirmations:
            # Else the model is asked beside the pause, and answers for the person.
            tool_context.actions.skip_summarization = True
        elif tool.is_long_running and not result:
            self.unfinished.add(call)
        elif not self._is_inner(tool_context):
            self.outputs[call] = result_text(result)
        return None

    async def on_tool_error_callback(
        self, *, tool: Any, tool_args: dict[str, Any], tool_context: Any, error: Exception
    ) -> None:
        """Note that a tool runs no more."""
        await self._over(tool_context.function_call_id)

    def _frontend_of(self, context: Any) -> list[FrontendTool]:
        """The application's tools that an agent may call."""
        if not self._toolsets:
            return self._frontend
        toolsets = self._toolsets.get(context.agent_name, ())
        tools = [tool for one in toolsets for tool in self._frontend if _is_let(one, tool, context)]
        return list(dict.fromkeys(tools))

    # --- a call ---

    async def judge(self, tool: Any, args: dict[str, Any], context: Any) -> dict[str, Any] | None:
        """What stands for the call's result; None lets it begin, with exactly what was approved."""
        if tool.name in CONTROLS or isinstance(tool, FrontendTool):
            return None
        call = context.function_call_id
        try:
            verdict = await self._verdict(tool, args, context)
        except Exception as error:
            self.gate.fail(error)
            raise
        match verdict:
            case Execute():
                if call in self._permits and call not in self._must_be_approved:
                    # Its tool has not asked anything yet: it must not take this for an answer.
                    context.tool_confirmation = None
                # ADK carries a call out in the task that asks this.
                give(self._rounds.given(call))
                if not same_json(verdict.args, as_json(args)):
                    args.clear()
                    args.update(verdict.args)
                if not isinstance(tool, AgentTool):
                    # A stop waits for the tools of an agent in a tool, not for its model.
                    running = self.gate.running(call)
                    await running.__aenter__()
                    self._running[call] = running
                return None
            case Refuse(by="stop"):
                # The run is cancelled as soon as no other tool runs.
                never: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
                return await never
            case Refuse(text=text):
                given = isinstance(self._decided.get(call), Respond) and verdict.by == "person"
                return {"result" if given else "error": text}
            case AskFirst(ask=ask) if not self._is_inner(context):
                self.asks[call] = ask
                if tool_of(context) is None:
                    context.request_confirmation(hint=ask.message or "")
                return dict(_WAITS)
            case _:
                name = context.agent_name
                return {
                    "error": denied_by_policy(
                        f"It has to be approved, and nobody can be asked while {name!r} is a tool "
                        "of another agent; make it a sub-agent."
                    )
                }

    async def _judge_node(self, path: str, tool: Any, args: dict[str, Any], context: Any) -> Any:
        """The same for a tool that a node of a workflow runs, in place of a model."""
        self._note_task()
        call = self.of_nodes.get(path)
        if call is None or call in self.gate.begun:
            if call is not None:
                # Of one that failed, and is tried again, nothing else is told.
                self._tell(NodeResult(call, UNTOLD))
            call = self.of_nodes[path] = self._run.mint()
            self._tell(NodeCall(call, tool.name, as_json(args)))
        context.function_call_id = call
        verdict = await self.judge(tool, args, context)
        if verdict == _WAITS:
            asked = self.asks[call]
            return may_run(path, tool.name, as_json(args), asked.message)
        # What a person gave in the tool's place is what the node gives.
        return verdict["result"] if verdict is not None and "result" in verdict else verdict

    def _note_task(self) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._working.append(task)

    async def _verdict(self, tool: Any, args: dict[str, Any], context: Any) -> GateVerdict:
        if isinstance(tool, AgentTool) and not tool.include_plugins:
            raise ConfigurationError(
                f"The tool {tool.name!r} is an AgentTool with include_plugins=False: the bridge "
                "can't hold back what its agent does. Leave that out."
            )
        call = context.function_call_id
        parameters = _parameters_of(tool)
        if parameters is not None:
            self.parameters[call] = parameters
        check = getattr(tool, "check_require_confirmation", None)
        if check is not None and await check(args, context):
            self._must_be_approved.add(call)
        return await self.gate.before(call, tool.name, as_json(args), parameters=parameters)

    async def _over(self, call: str) -> None:
        running = self._running.pop(call, None)
        if running is not None:
            await running.__aexit__(None, None, None)

    def _is_inner(self, context: Any) -> bool:
        """Whether it is of an agent inside a tool, which has a session of its own."""
        return bool(context.session.id != self._run.thread_id)

    def approved_of(self, path: str) -> Mapping[str, Json] | None:
        """The arguments with which the function of a node was approved; None where none was."""
        return self._functions.get(self.of_nodes.get(path, ""))


def _approved_of(context: Any) -> Mapping[str, Json] | None:
    """The same, of the node of a context, in the run of the bridge that it is in."""
    plugin = context.get_invocation_context().plugin_manager.get_plugin(_NAME)
    return plugin.approved_of(context.node_path) if isinstance(plugin, Guard) else None


async def _last_callback(tool: Any, args: dict[str, Any], tool_context: Any) -> Any:
    """The last of an agent's own callbacks; it remains, and does nothing outside of a run."""
    plugin = tool_context.get_invocation_context().plugin_manager.get_plugin(_NAME)
    return await plugin.judge(tool, args, tool_context) if isinstance(plugin, Guard) else None


def with_words(contents: Sequence[types.Content], words: str) -> list[types.Content]:
    """What a model is asked with, with words before what the user said last.

    Args:
        contents: of the request; they stay as they are.
        words: see `Application.words`.
    """
    told, part = list(contents), types.Part(text=words)
    for place in reversed(range(len(told))):
        parts = told[place].parts or []
        if told[place].role == "user" and _is_said(parts):
            told[place] = types.Content(role="user", parts=[part, *parts])
            return told
    return [*told, types.Content(role="user", parts=[part])]


def _is_said(parts: Sequence[types.Part]) -> bool:
    """Whether a user said it: other agents' words, and results of calls, have their role, too."""
    if not parts or any(part.function_response or part.function_call for part in parts):
        return False
    return not (parts[0].text or "").startswith("For context:")


def _is_let(toolset: Any, tool: FrontendTool, context: Any) -> bool:
    """Whether a toolset's filter, names or a function, lets one of the application's tools pass."""
    allowed = toolset.tool_filter
    if callable(allowed):
        return bool(allowed(tool, context))
    return not allowed or tool.name in allowed


def _parameters_of(tool: Any) -> Mapping[str, Json] | None:
    """The JSON Schema of a tool's arguments; a function takes no others."""
    declared = tool._get_declaration()
    found: Any = declared.parameters_json_schema if declared is not None else None
    if found is None and declared is not None and declared.parameters is not None:
        found = declared.parameters.json_schema.model_dump(
            mode="json", exclude_none=True, by_alias=True
        )
    if found is None:
        return None
    # ADK drops what a function does not name, and people would read that it was approved.
    return {**found, "additionalProperties": False} if isinstance(tool, FunctionTool) else found
