"""The cashier of LlamaIndex."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from typing import Any

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ToolCallBlock
from llama_index.core.tools import FunctionTool

from agui_bridge import Adapter
from agui_bridge_llama_index import LlamaIndexAdapter
from examples.llama_index.model import Call, OfflineModel
from tests.adapters.cashiers.cashier import Cashier, Heard, called

__all__ = ["LlamaIndex"]


class LlamaIndex(Cashier):
    notes_edits = True

    def adapter(self) -> Adapter:
        tools: Any = self.tools(*map(FunctionTool.from_defaults, (self.pay, self.look)))
        agent = FunctionAgent(
            name="cashier", tools=tools, llm=self.model or OfflineModel(self._stream)
        )
        approve = ["pay"] if self.gated else []
        return LlamaIndexAdapter(agent, approve=approve, **self.options)

    async def _stream(self, messages: Any, _: Collection[str]) -> AsyncIterator[Any]:
        heard: list[Heard] = []
        for message in messages:
            if message.role.value == "user":
                heard.append(Heard("user", "", str(message.content)))
            elif message.role.value == "tool":
                own = str(message.additional_kwargs["tool_call_id"])
                heard.append(Heard("tool", own, str(message.content)))
            for block in message.blocks:
                if isinstance(block, ToolCallBlock):
                    args: Any = block.tool_kwargs
                    heard.append(called(str(block.tool_call_id), args))
        uses = self.reply(heard)
        if not uses:
            yield "Done."
        for use in uses:
            yield Call(use.name, use.args, use.id)
