"""The cashier of the Agent Framework."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from agent_framework import Agent, tool

from agui_bridge import Adapter
from agui_bridge_agent_framework import AgentFrameworkAdapter
from tests.adapters.agent_framework.scripted import Call, Scripted
from tests.adapters.cashiers.cashier import Cashier, Heard, called

__all__ = ["AgentFramework"]


class AgentFramework(Cashier):
    remembers = False

    def adapter(self) -> Adapter:
        approval: Any = "always_require" if self.gated else "never_require"
        tools = self.tools(tool(self.pay, approval_mode=approval), tool(self.look))
        client = self.model or Scripted(self._stream)
        agent = Agent(client, name="cashier", tools=tools)
        return AgentFrameworkAdapter(agent, **self.options)

    async def _stream(self, messages: Any, _: Any) -> AsyncIterator[Any]:
        heard: list[Heard] = []
        for message in messages:
            for content in message.contents:
                if content.type == "text" and message.role == "user":
                    heard.append(Heard("user", "", str(content.text)))
                elif content.type == "function_call":
                    heard.append(called(content.call_id, content.parse_arguments() or {}))
                elif content.type == "function_result":
                    heard.append(Heard("tool", content.call_id, str(content.result)))
        uses = self.reply(heard)
        if not uses:
            yield "Done."
        for use in uses:
            yield Call(use.name, use.args, use.id)
