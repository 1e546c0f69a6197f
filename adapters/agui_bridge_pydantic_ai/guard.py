"""What stands before every tool of an agent's run, without a change of the agent."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from pydantic_ai import ApprovalRequired, CallDeferred, CallToolsNode, UsageLimitExceeded
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    PartStartEvent,
    ToolCallPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.tools import RunContext, ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool, WrapperToolset

from agui_bridge.adapters import CallIds, ReplyIds
from agui_bridge.errors import NotDelivered
from agui_bridge.frameworks.needs_input import NeedsInput, answering
from agui_bridge.frameworks.private_names import PrivateName
from agui_bridge.frameworks.rounds import TWO_WAYS, Rounds, refused
from agui_bridge.protocol.answers.asks import Ask
from agui_bridge.tool_gate import AskFirst, Execute, Refuse, ToolGate

NEEDED: Final = (
    PrivateName(AbstractCapability, "wrap_tool_execute", ("call", "tool_def", "args", "handler")),
    PrivateName(AbstractCapability, "wrap_model_request", ("request_context", "handler")),
    PrivateName(AbstractCapability, "before_node_run", ("node",)),
    PrivateName(AbstractCapability, "prepare_tools", ("tool_defs",)),
    PrivateName(AbstractCapability, "prepare_output_tools", ("tool_defs",)),
    PrivateName(AbstractCapability, "get_wrapper_toolset", ("toolset",)),
)
"""The hooks of pydantic-ai that the guard takes: under another name it would never be asked."""


class Waits(Exception):
    """The model is not asked now: a call of its last reply has no result yet.

    Args:
        messages: the conversation so far; a sentence stands for that result.
    """

    def __init__(self, messages: list[ModelMessage]) -> None:
        super().__init__("A call of the application's has no result yet.")
        self.messages = messages


class Guard(AbstractCapability[Any]):
    """Lets tools through the gate, and knows the tools and the calls of the model.

    Args:
        gate: the run's.
        rounds: the calls whose tools ask in their middle.
        calls: the ids of the thread's calls.
        words: what the application says: the model reads it, the history doesn't have it.
        approved: names of the tools whose calls were approved, and are carried out first.
        waits: whether no model is asked.

    Attributes:
        asks: questions of the policy, by tool call id.
        parameters: JSON Schemas of the tools' arguments, by name.
        outputs: names of the tools by which the model gives its output.
        exceeded: what a tool raised whose own agent came to a limit, which is none of this run's.
    """

    def __init__(
        self,
        gate: ToolGate,
        rounds: Rounds,
        calls: CallIds,
        words: str = "",
        approved: Collection[str] = (),
        *,
        waits: bool = False,
    ) -> None:
        self.asks: dict[str, Ask] = {}
        self.parameters: dict[str, dict[str, Any]] = {}
        self.outputs: set[str] = set()
        self.exceeded: UsageLimitExceeded | None = None
        self._gate = gate
        self._rounds = rounds
        self._words = words
        self._approved = approved
        self._waits = waits
        self._calls = calls
        self._reply = ReplyIds(calls.new)

    def told(self, event: Any) -> Any:
        """An event of a reply, its calls under ids that no other call of the thread has."""
        if type(event) is not PartStartEvent:
            return event
        if event.index == 0:
            self._reply = ReplyIds(self._calls.new)
        part = event.part
        if not isinstance(part, ToolCallPart):
            return event
        own = self._reply.piece(event.index, part.tool_call_id)
        if own == part.tool_call_id:
            return event
        return replace(event, part=replace(part, tool_call_id=own))

    def get_wrapper_toolset(self, toolset: AbstractToolset[Any]) -> AbstractToolset[Any]:
        """Have tools that go on told the truth about approvals; called once in each run."""
        return _Truthful(toolset, self._gate, self._rounds)

    async def before_node_run(self, ctx: RunContext[Any], *, node: Any) -> Any:
        """Give a reply's calls the ids that were told; pydantic-ai calls this before each step.

        Of a reply that an earlier run was told there are no pieces: it has its ids.
        """
        if isinstance(node, CallToolsNode):
            reply, self._reply = self._reply, ReplyIds(self._calls.new)
            if reply.has_begun:
                _rename(node.model_response, reply)
        return node

    async def prepare_tools(
        self, ctx: RunContext[Any], tool_defs: list[ToolDefinition]
    ) -> list[ToolDefinition]:
        """Note the tools; pydantic-ai calls this before each request, and before approved calls.

        Raises:
            NotDelivered: a tool is gone whose call was approved.
        """
        self.parameters.update({tool.name: tool.parameters_json_schema for tool in tool_defs})
        approved, self._approved = self._approved, ()
        for name in approved:
            if name not in self.parameters:
                raise NotDelivered(f"The agent has no tool {name!r} any more.")
        return tool_defs

    async def prepare_output_tools(
        self, ctx: RunContext[Any], tool_defs: list[ToolDefinition]
    ) -> list[ToolDefinition]:
        """Note the output tools; pydantic-ai calls this before each request."""
        self.outputs.update(tool.name for tool in tool_defs)
        return tool_defs

    async def wrap_model_request(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, handler: Any
    ) -> ModelResponse:
        """Put the words before what the user said; pydantic-ai calls this around each request.

        What it calls before one may, in old versions, change the history.

        Raises:
            Waits: the model is not to be asked.
        """
        if self._waits:
            raise Waits(list(ctx.messages))
        if self._words:
            messages = _with_words(request_context.messages, self._words)
            request_context = replace(request_context, messages=messages)
        response: ModelResponse = await handler(request_context)
        return response

    async def wrap_tool_execute(
        self,
        ctx: RunContext[Any],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: dict[str, Any],
        handler: Any,
    ) -> Any:
        """Execute a tool, or what stands for its result; pydantic-ai calls this around each.

        Raises:
            ApprovalRequired: the policy has people asked, or the tool asks in its middle.
            Fenced, PolicyFailed: see `ToolGate.before`.
        """
        async with self._gate.acting(
            call.tool_call_id,
            call.tool_name,
            call.args_as_dict(),
            parameters=tool_def.parameters_json_schema,
        ) as verdict:
            match verdict:
                case Execute():
                    # Validated from the same arguments: an approval always overrides them.
                    try:
                        with answering(self._rounds.given(call.tool_call_id)):
                            result = await handler(args)
                    except UsageLimitExceeded as error:
                        self.exceeded = error
                        raise
                    except (ApprovalRequired, CallDeferred) as error:
                        if self._rounds.before(call.tool_call_id):
                            raise refused(call.tool_name, self._gate, TWO_WAYS) from error
                        raise
                    if not isinstance(result, NeedsInput):
                        return result
                    given_up = self._rounds.ask(call.tool_call_id, result, self._gate)
                    if given_up is None:
                        # It is begun again like a call that was approved.
                        raise ApprovalRequired
                    return given_up
                case AskFirst(ask=ask):
                    self.asks[call.tool_call_id] = ask
                    raise ApprovalRequired
                case Refuse(by="stop"):
                    # The run is cancelled as soon as no other tool runs.
                    return await asyncio.Event().wait()
                case Refuse(text=text):
                    return text


@dataclass
class _Truthful(WrapperToolset[Any]):
    """A run's tools, of which one that goes on is not called approved if nobody approved it.

    Pydantic AI begins a call again that it takes for approved.

    Attributes:
        gate: knows who approved what.
        rounds: the calls whose tools ask in their middle.
    """

    gate: ToolGate
    rounds: Rounds

    async def call_tool(
        self,
        name: str,
        tool_args: dict[str, Any],
        ctx: RunContext[Any],
        tool: ToolsetTool[Any],
    ) -> Any:
        """Call a tool."""
        call = ctx.tool_call_id
        if call is not None and self.rounds.before(call) and call in self.gate.executed:
            ctx = replace(ctx, tool_call_approved=bool(self.gate.executed[call].approvers))
        return await self.wrapped.call_tool(name, tool_args, ctx, tool)


def _with_words(messages: Sequence[ModelMessage], words: str) -> list[ModelMessage]:
    """The messages, with words before what the user said last; those given stay as they are."""
    told, part = list(messages), UserPromptPart(words)
    for place in reversed(range(len(told))):
        message = told[place]
        if isinstance(message, ModelRequest):
            said = [n for n, one in enumerate(message.parts) if isinstance(one, UserPromptPart)]
            if said:
                parts = [*message.parts[: said[-1]], part, *message.parts[said[-1] :]]
                told[place] = replace(message, parts=parts)
                return told
    return [*told, ModelRequest(parts=[part])]


def _rename(response: Any, reply: ReplyIds) -> None:
    """Name the calls of a reply as they were told; the history has the same reply."""
    calls = [part for part in response.parts if isinstance(part, ToolCallPart)]
    own = dict(zip(map(id, calls), reply.whole(call.tool_call_id for call in calls), strict=True))
    if any(own[id(call)] != call.tool_call_id for call in calls):
        response.parts = [
            replace(part, tool_call_id=own[id(part)]) if id(part) in own else part
            for part in response.parts
        ]
