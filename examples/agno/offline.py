"""Makes a model of a function, so that agents run without a network and without a key."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from agno.metrics import MessageMetrics
from agno.models.base import Model
from agno.models.message import Message
from agno.models.response import ModelResponse

__all__ = ["Call", "OfflineModel", "Reply", "Thought"]


@dataclass(frozen=True)
class Call:
    """A tool call that the model makes."""

    name: str
    args: dict[str, Any] | str = field(default_factory=dict)


@dataclass(frozen=True)
class Thought:
    """What the model thinks before it says something; `signature` is what it wants back."""

    text: str
    signature: str = "thought"


Reply = Callable[[list[Message], set[str]], AsyncIterator[Any]]
"""From the messages, and the names of the tools, to texts, calls and thoughts."""


@dataclass
class OfflineModel(Model):
    """A model that streams what a function gives."""

    id: str = "offline"
    reply: Reply | None = None

    async def ainvoke_stream(
        self,
        messages: list[Message],
        assistant_message: Message,
        tools: Sequence[dict[str, Any]] | None = None,
        **_: Any,
    ) -> AsyncIterator[ModelResponse]:
        """Stream a reply."""
        assert self.reply is not None
        names = {tool["function"]["name"] for tool in tools or ()}
        async for one in self.reply(messages, names):
            yield _response(one)
        usage = MessageMetrics(input_tokens=7, output_tokens=3, total_tokens=10)
        yield ModelResponse(response_usage=usage)

    async def ainvoke(self, *given: Any, **options: Any) -> ModelResponse:
        """Give a reply in one piece, which Agno wants of a structured output."""
        said = [one async for one in self.ainvoke_stream(*given, **options)]
        text = "".join(str(one.content) for one in said if one.content)
        whole = ModelResponse(content=text, response_usage=said[-1].response_usage)
        whole.tool_calls = [call for one in said for call in one.tool_calls]
        return whole

    def invoke(self, *_: Any, **__: Any) -> ModelResponse:
        raise NotImplementedError("It streams.")

    def invoke_stream(self, *_: Any, **__: Any) -> Iterator[ModelResponse]:
        raise NotImplementedError("It streams.")

    def _parse_provider_response(self, response: Any, **_: Any) -> ModelResponse:
        raise NotImplementedError

    def _parse_provider_response_delta(self, response: Any) -> ModelResponse:
        raise NotImplementedError


def _response(one: Any) -> ModelResponse:
    if isinstance(one, Thought):
        return ModelResponse(reasoning_content=one.text, provider_data={"signature": one.signature})
    if isinstance(one, Call):
        arguments = one.args if isinstance(one.args, str) else json.dumps(one.args)
        function = {"name": one.name, "arguments": arguments}
        call = {"id": f"call_{uuid4().hex}", "type": "function", "function": function}
        return ModelResponse(tool_calls=[call])
    return ModelResponse(content=one)
