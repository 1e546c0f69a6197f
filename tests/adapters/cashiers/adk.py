"""The cashier of Google ADK."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.adk.tools.function_tool import FunctionTool
from google.genai import types

from agui_bridge import Adapter
from agui_bridge_adk import AdkAdapter
from tests.adapters.cashiers.cashier import Cashier, Heard, called

__all__ = ["Adk"]


class Adk(Cashier):
    def adapter(self) -> Adapter:
        pay = FunctionTool(self.pay, require_confirmation=self.gated)
        model = self.model or self._model()
        agent = LlmAgent(name="cashier", model=model, tools=self.tools(pay, self.look))
        return AdkAdapter(agent, **self.options)

    def _model(self) -> Any:
        cashier = self

        class Model(BaseLlm):
            model: str = "cashier"

            async def generate_content_async(
                self, llm_request: Any, stream: bool = False
            ) -> AsyncGenerator[LlmResponse, None]:
                heard: list[Heard] = []
                for content in llm_request.contents:
                    for part in content.parts or ():
                        call, result = part.function_call, part.function_response
                        if call is not None:
                            heard.append(called(str(call.id), call.args or {}))
                        elif result is not None:
                            told = str(next(iter((result.response or {}).values()), ""))
                            heard.append(Heard("tool", str(result.id), told))
                        elif content.role == "user" and part.text:
                            heard.append(Heard("user", "", part.text))
                uses = cashier.reply(heard)
                calls = [types.FunctionCall(id=u.id, name=u.name, args=u.args) for u in uses]
                parts = [types.Part(function_call=call) for call in calls]
                said = types.Content(role="model", parts=parts or [types.Part(text="Done.")])
                if parts:
                    # As a piece of the stream first, and then whole: the same calls.
                    yield LlmResponse(content=said, partial=True)
                yield LlmResponse(content=said)

        return Model()
