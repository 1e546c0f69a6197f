"""What a provider signs of its thoughts reaches the page, and the provider with the next turn."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from langchain_core.messages import AIMessageChunk
from langchain_core.outputs import ChatGenerationChunk
from pydantic_ai.messages import ThinkingPart
from pydantic_ai.models.function import DeltaThinkingPart, FunctionModel

from agui_bridge import Bridge
from agui_bridge.testing import talk
from tests.adapters.cashiers import Cashier, by_place
from tests.adapters.cashiers.langgraph import CashierModel, LangGraph
from tests.adapters.cashiers.pydantic_ai import PydanticAI

pytestmark = pytest.mark.timeout(120)


def pydantic_ai(read: list[str]) -> Cashier:
    async def reply(messages: Any, _: Any) -> AsyncIterator[Any]:
        parts = [part for message in messages for part in message.parts]
        read.append(str([one.signature for one in parts if isinstance(one, ThinkingPart)]))
        yield {0: DeltaThinkingPart(content="Hm")}
        yield {0: DeltaThinkingPart(content=".", signature="signed")}
        yield "Done."

    return PydanticAI(by_place, model=FunctionModel(stream_function=reply))


def langgraph(*blocks: dict[str, Any], provider: str = "") -> Callable[[list[str]], Cashier]:
    def made(read: list[str]) -> Cashier:
        class Thinking(CashierModel):
            async def _astream(self, messages: Any, *_: Any, **__: Any) -> AsyncIterator[Any]:
                read.append(str([one.content for one in messages if one.type == "ai"]))
                about = {"model_provider": provider} if provider else {}
                for block in (*blocks, {"type": "text", "text": "Done.", "index": 1}):
                    chunk = AIMessageChunk(content=[block], response_metadata=about)
                    yield ChatGenerationChunk(message=chunk)

        cashier = LangGraph(by_place)
        cashier.model = Thinking(cashier=cashier)
        return cashier

    return made


THOUGHT = {"type": "thinking", "thinking": "Hm.", "index": 0}
SIGNED = {"type": "thinking", "signature": "signed", "index": 0}
WHOLE = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": "Hm.", "index": 0}],
    "encrypted_content": "signed",
    "index": 0,
}


@pytest.mark.parametrize(
    "build",
    [
        pytest.param(pydantic_ai, id="pydantic_ai"),
        pytest.param(langgraph(THOUGHT, SIGNED, provider="anthropic"), id="langgraph, Anthropic's"),
        pytest.param(langgraph(THOUGHT, SIGNED), id="langgraph, of a model that it does not know"),
        pytest.param(langgraph(WHOLE, provider="openai"), id="langgraph, OpenAI's"),
    ],
)
async def test_what_a_provider_signs_is_told_and_goes_back_to_it(
    build: Callable[[list[str]], Cashier],
) -> None:
    read: list[str] = []
    bridge = Bridge("memory:")
    bridge.add("thinker", build(read).adapter())
    async with talk(bridge, "thinker") as one:
        ended = await one.say("hello")
        assert ended.ending == "success", ended.events[-1]
        told = [e for e in ended.events if e["type"] == "REASONING_ENCRYPTED_VALUE"]
        (start,) = (e for e in ended.events if e["type"] == "REASONING_MESSAGE_START")
        assert [(e["subtype"], e["entityId"], e["encryptedValue"]) for e in told] == [
            ("message", start["messageId"], "signed")
        ]
        (thought,) = (m for m in await one.messages() if m["role"] == "reasoning")
        assert (thought["content"], thought["encryptedValue"]) == ("Hm.", "signed")
        await one.say("and?")
    assert "signed" not in read[0] and "signed" in read[1]
