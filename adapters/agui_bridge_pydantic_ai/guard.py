"""What stands before every tool of an agent's run, without a change of the agent."""

from __future__ import annotations

import asyncio
from typing import Any

from pydantic_ai import ApprovalRequired
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.tools import RunContext, ToolDefinition

from agui_bridge.protocol.answers.asks import Ask
from agui_bridge.tool_gate import AskFirst, Execute, Refuse, ToolGate

__all__ = ["Guard"]


class Guard(AbstractCapability[Any]):
    """Lets tools through the gate, and knows the tools that the model was given.

    Args:
        gate: the run's.

    Attributes:
        asks: questions of the policy, by tool call id.
        parameters: JSON Schemas of the tools' arguments, by name.
        outputs: names of the tools by which the model gives its output.
    """

    def __init__(self, gate: ToolGate) -> None:
        self.asks: dict[str, Ask] = {}
        self.parameters: dict[str, dict[str, Any]] = {}
        self.outputs: set[str] = set()
        self._gate = gate

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
