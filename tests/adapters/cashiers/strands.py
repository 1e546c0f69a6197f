"""The cashier of Strands."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from strands import Agent, tool
from strands.vended_interventions.hitl import HumanInTheLoop

from agui_bridge import Adapter
from agui_bridge_strands import StrandsAdapter
from examples.strands.model import Call, OfflineModel
from tests.adapters.cashiers.cashier import Cashier, Heard, called

__all__ = ["Strands"]


class Strands(Cashier):
    nests = 1

    def adapter(self) -> Adapter:
        def make(name: str, tools: list[Any]) -> Any:
            gated = ["*", "!pay"] if self.gated else ["*"]
            return Agent(
                model=self.model or OfflineModel(self._stream),
                name=name,
                description=f"Is a {name}.",
                tools=tools,
                callback_handler=None,
                interventions=[HumanInTheLoop(allowed_tools=gated)],
            )

        tools = self.tools(tool(self.pay), tool(self.look))
        clerk = make("clerk", [*tools])
        agent = make("cashier", [*tools, clerk.as_tool()])
        return StrandsAdapter(agent, **self.options)

    async def _stream(self, messages: Any, _: Any) -> AsyncIterator[Any]:
        heard: list[Heard] = []
        for block, role in ((b, m["role"]) for m in messages for b in m["content"]):
            if "text" in block and role == "user":
                heard.append(Heard("user", "", block["text"]))
            elif use := block.get("toolUse"):
                heard.append(called(use["toolUseId"], use["input"]))
            elif result := block.get("toolResult"):
                text = "".join(str(part.get("text", "")) for part in result["content"])
                heard.append(Heard("tool", result["toolUseId"], text))
        uses = self.reply(heard)
        if not uses:
            yield "Done."
        for use in uses:
            yield Call(use.name, use.args, use.id)
