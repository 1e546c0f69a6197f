"""The cashier of Pydantic AI."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.messages import ToolCallPart, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import DeltaToolCall, FunctionModel

from agui_bridge import Adapter
from agui_bridge_pydantic_ai import PydanticAIAdapter
from tests.adapters.cashiers.cashier import Cashier, Heard, called

__all__ = ["PydanticAI"]


class PydanticAI(Cashier):
    def adapter(self) -> Adapter:
        agent: Any = Agent(self.model or FunctionModel(stream_function=self._stream))
        if not self.is_lacking:
            agent.tool_plain(requires_approval=self.gated)(self.pay)
        agent.tool_plain(self.look)
        return PydanticAIAdapter(agent, **self.options)

    async def _stream(self, messages: Any, _: Any) -> AsyncIterator[Any]:
        heard: list[Heard] = []
        for part in (part for message in messages for part in message.parts):
            if isinstance(part, UserPromptPart):
                heard.append(Heard("user", "", str(part.content)))
            elif isinstance(part, ToolReturnPart):
                heard.append(Heard("tool", part.tool_call_id, part.model_response_str()))
            elif isinstance(part, ToolCallPart):
                heard.append(called(part.tool_call_id, part.args_as_dict()))
        uses = self.reply(heard)
        if not uses:
            yield "Done."
        for place, use in enumerate(uses):
            yield {place: DeltaToolCall(name=use.name, json_args=use.text[:4], tool_call_id=use.id)}
            yield {place: DeltaToolCall(json_args=use.text[4:])}
