"""What providers count of a reply, in their own words, is told in those of AG-UI."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from types import SimpleNamespace
from typing import Any, Final

import pytest
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatResponse
from pydantic import PrivateAttr

from agui_bridge import Bridge
from agui_bridge.testing import talk
from agui_bridge_llama_index import LlamaIndexAdapter
from examples.llama_index.model import OfflineModel

pytestmark = pytest.mark.anyio

CHAT: Final = {
    "prompt_tokens": 4,
    "prompt_tokens_details": SimpleNamespace(cached_tokens=2),
    "completion_tokens": 3,
    "completion_tokens_details": {"reasoning_tokens": 1},
}
RESPONSES: Final = {
    "input_tokens": 4,
    "input_tokens_details": {"cached_tokens": 2},
    "output_tokens": 3,
    "output_tokens_details": {"reasoning_tokens": 1},
}
GOOGLE: Final = {
    "prompt_token_count": 4,
    "cached_content_token_count": 2,
    "candidates_token_count": 3,
    "thoughts_token_count": 1,
}
RAW: Final[dict[str, Any]] = {
    "chat completions": {"model": "m", "usage": CHAT},
    "chat completions, an object": {"model": "m", "usage": SimpleNamespace(**CHAT)},
    "responses": {"type": "response.completed", "response": {"model": "m", "usage": RESPONSES}},
    "google": {"model": "m", "usage_metadata": GOOGLE},
}
WHOLE: Final = {
    **{"model": "m", "inputTokens": 4, "outputTokens": 3, "totalTokens": 7},
    **{"cachedInputTokens": 2, "reasoningTokens": 1},
}


async def _hello(_: Any, __: Collection[str]) -> AsyncIterator[str]:
    yield "Hello."


class Counting(OfflineModel):
    """A model whose provider counts in its own way."""

    _raw: Any = PrivateAttr()

    def __init__(self, raw: Any) -> None:
        super().__init__(_hello)
        self._raw = raw

    async def _grown(self, *given: Any) -> AsyncIterator[ChatResponse]:
        async for response in super()._grown(*given):
            response.raw = self._raw
            yield response


@pytest.mark.parametrize("raw", RAW.values(), ids=RAW)
async def test_tokens_have_their_parts_whatever_a_provider_calls_them(raw: Any) -> None:
    bridge = Bridge("memory:")
    bridge.add("agent", LlamaIndexAdapter(FunctionAgent(name="agent", llm=Counting(raw))))
    async with talk(bridge, "agent") as one:
        ended = await one.say("hi")
    assert ended.events[-1]["usage"] == [WHOLE]
