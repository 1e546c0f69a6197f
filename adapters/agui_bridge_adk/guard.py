"""What stands before every tool of a run, in the agent and in all below it: a plugin of ADK."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, Final

from google.adk.plugins.base_plugin import BasePlugin
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.base_tool import BaseTool
from google.genai import types

from agui_bridge.adapters import Run
from agui_bridge.errors import ConfigurationError
from agui_bridge.protocol.answers.asks import Ask
from agui_bridge.protocol.answers.decisions import Decision, Respond
from agui_bridge.protocol.answers.unexecuted import denied_by_policy
from agui_bridge.protocol.threads.records import Json, ToolCall
from agui_bridge.tool_gate import AskFirst, Execute, GateVerdict, Refuse, ToolGate
from agui_bridge_adk.content import result_text
from agui_bridge_adk.pauses import INPUT

__all__ = ["CONTROLS", "OUTPUT", "FrontendTool", "Guard"]

OUTPUT: Final = "set_model_response"
"""The tool by which a model gives its structured output."""

CONTROLS: Final = frozenset({"transfer_to_agent", OUTPUT, INPUT})
"""Tools of ADK itself that say how the run goes on: they are no acts."""

_NAME: Final = "agui_bridge"
_WAITS: Final = {"error": "This tool call waits for an approval."}


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
        permits: ids of those among them that the bridge asked about, not their tools.
        instructions: what the application tells the model.

    Attributes:
        asks: the gate's questions, by tool call id.
        outputs: what tools returned, by tool call id.
        unfinished: ids of the calls whose tools will have their results later.
        parameters: JSON Schemas of tools' arguments, by tool call id.
    """

    def __init__(
        self,
        run: Run,
        gate: Callable[[Callable[[ToolCall], bool]], ToolGate],
        decided: Mapping[str, Decision],
        permits: Collection[str],
        instructions: list[str],
    ) -> None:
        super().__init__(_NAME)
        self.asks: dict[str, Ask] = {}
        self.outputs: dict[str, str] = {}
        self.unfinished: set[str] = set()
        self.parameters: dict[str, Mapping[str, Json]] = {}
        self._run = run
        self._decided = decided
        self._permits = permits
        self._instructions = instructions
        self._frontend = [
            FrontendTool(tool.name, tool.description, tool.parameters) for tool in run.tools
        ]
        self._must_be_approved: set[str] = set()
        self._running: dict[str, AbstractAsyncContextManager[None]] = {}
        self._root: asyncio.Task[Any] | None = None
        self.gate = gate(lambda call: call.id in self._must_be_approved)

    @property
    def frontend(self) -> set[str]:
        """Names of the application's tools."""
        return {tool.name for tool in self._frontend}

    @property
    def is_cut_off(self) -> bool:
        """Whether what the root agent worked in was cancelled, which ADK keeps to itself."""
        return self._root is not None and self._root.cancelled()

    # --- what ADK calls ---

    async def before_run_callback(self, *, invocation_context: Any) -> None:
        """Note that an agent begins."""
        if invocation_context.session.id == self._run.thread_id:
            self._root = None

    async def before_agent_callback(self, *, agent: Any, callback_context: Any) -> None:
        """Note what the first agent works in, which is the root."""
        if self._root is None:
            self._root = asyncio.current_task()

    async def before_model_callback(self, *, callback_context: Any, llm_request: Any) -> None:
        """Give the agents that talk to the application its tools and instructions."""
        if self._is_inner(callback_context):
            return
        known = llm_request.tools_dict
        llm_request.append_tools([tool for tool in self._frontend if tool.name not in known])
        if self._instructions:
            llm_request.append_instructions(self._instructions)

    async def before_tool_callback(
        self, *, tool: Any, tool_args: dict[str, Any], tool_context: Any
    ) -> dict[str, Any] | None:
        """Let a call begin, or not; after the agent's own callbacks, which may change arguments."""
        agent = tool_context._invocation_context.agent
        own = list(getattr(agent, "canonical_before_tool_callbacks", ()))
        if not own:
            return await self.judge(tool, tool_args, tool_context)
        if own[-1] is not _last_callback:
            agent.before_tool_callback = [*own, _last_callback]
        return None

    async def after_tool_callback(
        self, *, tool: Any, tool_args: dict[str, Any], tool_context: Any, result: Any
    ) -> None:
        """Note that a tool runs no more, and what it returned."""
        call = await self._over(tool_context)
        if call in tool_context.actions.requested_tool_confirmations:
            # Else the model is asked beside the pause, and answers for the person.
            tool_context.actions.skip_summarization = True
        elif tool.is_long_running and not result:
            self.unfinished.add(call)
        elif not self._is_inner(tool_context):
            told = result if isinstance(result, dict) else {"result": result}
            self.outputs[call] = result_text(told)

    async def on_tool_error_callback(
        self, *, tool: Any, tool_args: dict[str, Any], tool_context: Any, error: Exception
    ) -> None:
        """Note that a tool runs no more."""
        await self._over(tool_context)

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
                context.request_confirmation(hint=ask.message or "")
                return dict(_WAITS)
            case _:
                name = context._invocation_context.agent.name
                return {
                    "error": denied_by_policy(
                        f"It has to be approved, and nobody can be asked while {name!r} is a tool "
                        "of another agent; make it a sub-agent."
                    )
                }

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
        return await self.gate.before(call, tool.name, args, parameters=parameters)

    async def _over(self, context: Any) -> str:
        call: str = context.function_call_id
        running = self._running.pop(call, None)
        if running is not None:
            await running.__aexit__(None, None, None)
        return call

    def _is_inner(self, context: Any) -> bool:
        """Whether it is of an agent inside a tool, which has a session of its own."""
        session = context._invocation_context.session
        return bool(session.id != self._run.thread_id)


async def _last_callback(tool: Any, args: dict[str, Any], tool_context: Any) -> Any:
    """The last of an agent's own callbacks; it remains, and does nothing outside of a run."""
    plugin = tool_context._invocation_context.plugin_manager.get_plugin(_NAME)
    return await plugin.judge(tool, args, tool_context) if isinstance(plugin, Guard) else None


def _parameters_of(tool: Any) -> Mapping[str, Json] | None:
    """The JSON Schema of a tool's arguments."""
    declared = tool._get_declaration()
    if declared is None:
        return None
    if declared.parameters_json_schema is not None:
        found: Mapping[str, Json] = declared.parameters_json_schema
        return found
    if declared.parameters is None:
        return None
    made: Mapping[str, Json] = declared.parameters.json_schema.model_dump(
        mode="json", exclude_none=True, by_alias=True
    )
    return made
