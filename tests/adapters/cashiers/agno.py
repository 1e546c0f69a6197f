"""The cashier of Agno."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

from agno.agent import Agent
from agno.models.response import ModelResponse
from agno.tools import tool

from agui_bridge import Adapter
from agui_bridge_agno import AgnoAdapter
from examples.agno.offline import OfflineModel
from tests.adapters.cashiers.cashier import Cashier, Heard, called

__all__ = ["Agno"]


class Agno(Cashier):
    def adapter(self) -> Adapter:
        def pay(to: str) -> str:
            """Pay somebody."""
            return self.pay(to)

        paying: Any = tool(requires_confirmation=True)(pay) if self.gated else pay
        tools = self.tools(paying, self.look)
        model = self.model or self._model()
        agent = Agent(name="cashier", model=model, tools=tools, telemetry=False)
        return AgnoAdapter(agent, **self.options)

    def _model(self) -> Any:
        cashier = self

        class Model(OfflineModel):
            async def ainvoke_stream(self, messages: Any, *_: Any, **__: Any) -> AsyncIterator[Any]:
                heard: list[Heard] = []
                for one in messages:
                    if one.role == "user":
                        heard.append(Heard("user", "", str(one.content)))
                    elif one.role == "tool":
                        heard.append(Heard("tool", str(one.tool_call_id), str(one.content)))
                    for call in one.tool_calls or ():
                        args = json.loads(call["function"]["arguments"])
                        heard.append(called(call["id"], args))
                uses = cashier.reply(heard)
                calls = [
                    {
                        "id": use.id,
                        "type": "function",
                        "function": {"name": use.name, "arguments": use.text},
                    }
                    for use in uses
                ]
                if calls:
                    yield ModelResponse(tool_calls=calls)
                else:
                    yield ModelResponse(content="Done.")

        return Model()
