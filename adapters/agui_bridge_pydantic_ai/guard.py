"""What stands before every tool of an agent's run, without a change of the agent."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

from pydantic_ai import ApprovalRequired, CallToolsNode
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import PartStartEvent, ToolCallPart
from pydantic_ai.tools import RunContext, ToolDefinition

from agui_bridge.adapters import CallIds, ReplyIds
from agui_bridge.protocol.answers.asks import Ask
from agui_bridge.tool_gate import AskFirst, Execute, Refuse, ToolGate

__all__ = ["Guard"]


class Guard(AbstractCapability[Any]):
    """Lets tools through the gate, and knows the tools and the calls of the model.

    Args:
        gate: the run's.
        calls: the ids of the thread's calls.

    Attributes:
        asks: questions of the policy, by tool call id.
        parameters: JSON Schemas of the tools' arguments, by name.
        outputs: names of the tools by which the model gives its output.
    """

    def __init__(self, gate: ToolGate, calls: CallIds) -> None:
        self.asks: dict[str, Ask] = {}
        self.parameters: dict[str, dict[str, Any]] = {}
        self.outputs: set[str] = set()
        self._gate = gate
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
        """Note the tools; pydantic-ai calls this before each request."""
        self.parameters.update({tool.name: tool.parameters_json_schema for tool in tool_defs})
        return tool_defs

    async def prepare_output_tools(
        self, ctx: RunContext[Any], tool_defs: list[ToolDefinition]
    ) -> list[ToolDefinition]:
        """Note the output tools; pydantic-ai calls this before each request."""
        self.outputs.update(tool.name for tool in tool_defs)
        return tool_defs

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
            ApprovalRequired: the policy has people asked.
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
                    return await handler(args)
                case AskFirst(ask=ask):
                    self.asks[call.tool_call_id] = ask
                    raise ApprovalRequired
                case Refuse(by="stop"):
                    # The run is cancelled as soon as no other tool runs.
                    return await asyncio.Event().wait()
                case Refuse(text=text):
                    return text


def _rename(response: Any, reply: ReplyIds) -> None:
    """Name the calls of a reply as they were told; the history has the same reply."""
    calls = [part for part in response.parts if isinstance(part, ToolCallPart)]
    own = dict(zip(map(id, calls), reply.whole(call.tool_call_id for call in calls), strict=True))
    if any(own[id(call)] != call.tool_call_id for call in calls):
        response.parts = [
            replace(part, tool_call_id=own[id(part)]) if id(part) in own else part
            for part in response.parts
        ]
