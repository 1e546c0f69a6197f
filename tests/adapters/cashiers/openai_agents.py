"""The cashier of the OpenAI Agents SDK."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

from agents import Agent, function_tool
from openai.types.responses import ResponseFunctionToolCall

from agui_bridge import Adapter
from agui_bridge_openai_agents import OpenAIAgentsAdapter
from examples.openai_agents.offline import OfflineModel
from tests.adapters.cashiers.cashier import Cashier, Heard, called

__all__ = ["OpenAIAgents"]


class OpenAIAgents(Cashier):
    edits = ()
    nests = 2

    def adapter(self) -> Adapter:
        model: Any = self.model or OfflineModel(self._stream)
        paying: Any = function_tool(self.pay, needs_approval=self.gated)
        tools = self.tools(paying, function_tool(self.look))
        clerk: Any = Agent("clerk", model=model, tools=[*tools])
        mine = [*tools, clerk.as_tool("clerk", "Have a clerk do it.")]
        # `context` is the SDK's own word, for what its tools are given.
        named = {"context": "application_context"}
        options = {named.get(name, name): value for name, value in self.options.items()}
        return OpenAIAgentsAdapter(Agent("cashier", model=model, tools=mine), **options)

    async def _stream(self, items: Any, _: Any) -> AsyncIterator[Any]:
        heard: list[Heard] = []
        for item in items:
            kind = item.get("type")
            if item.get("role") == "user":
                heard.append(Heard("user", "", str(item["content"])))
            elif kind == "function_call":
                heard.append(called(item["call_id"], json.loads(item["arguments"])))
            elif kind == "function_call_output":
                heard.append(Heard("tool", item["call_id"], str(item["output"])))
        uses = self.reply(heard)
        if not uses:
            yield "Done."
        for use in uses:
            yield ResponseFunctionToolCall(
                type="function_call", call_id=use.id, name=use.name, arguments=use.text
            )
