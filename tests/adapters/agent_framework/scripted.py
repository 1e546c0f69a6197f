"""A chat client without a network, which streams what a function of its request gives."""

from __future__ import annotations

import itertools
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agent_framework import (
    BaseChatClient,
    ChatMiddlewareLayer as MiddlewareLayer,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FunctionInvocationLayer,
    Message,
)

__all__ = ["Call", "Scripted", "Thought"]

Reply = Callable[[Sequence[Message], Mapping[str, Any]], AsyncIterator["str | Thought | Call"]]


@dataclass
class Call:
    """A tool call of the model."""

    name: str
    args: dict[str, Any] = field(default_factory=dict)
    id: str | None = None


@dataclass
class Thought:
    """Something that the model thinks, and what its provider wants back."""

    text: str
    protected: str | None = None


class Scripted(FunctionInvocationLayer[Any], MiddlewareLayer[Any], BaseChatClient[Any]):
    """A model whose replies a function gives.

    Args:
        reply: gives texts, thoughts and calls, from the messages and the options of the request.

    Attributes:
        conversation: id of the conversation that its service keeps, where it does.
    """

    OTEL_PROVIDER_NAME = "scripted"
    conversation: str | None = None

    def __init__(self, reply: Reply) -> None:
        super().__init__()
        self._reply = reply
        self._numbers = itertools.count(1)

    def _inner_get_response(
        self, *, messages: Sequence[Message], stream: bool, options: Mapping[str, Any], **_: Any
    ) -> Any:
        updates = self._updates(messages, options)
        if stream:
            return self._build_response_stream(updates)
        return ChatResponse.from_update_generator(updates)

    async def _updates(
        self, messages: Sequence[Message], options: Mapping[str, Any]
    ) -> AsyncIterator[ChatResponseUpdate]:
        async for one in self._reply(messages, options):
            for content in self._contents(one):
                yield ChatResponseUpdate(
                    contents=[content],
                    role="assistant",
                    model="scripted-1",
                    conversation_id=self.conversation,
                )
        usage: Any = {
            "input_token_count": 7,
            "output_token_count": 3,
            "total_token_count": 10,
            "reasoning_output_token_count": 2,
            "cache_read_input_token_count": 5,
            "openai.others": 1,
        }
        yield ChatResponseUpdate(contents=[Content.from_usage(usage)], role="assistant")

    def _contents(self, one: str | Thought | Call) -> list[Content]:
        if isinstance(one, str):
            return [Content.from_text(one)]
        if isinstance(one, Thought):
            return [Content.from_text_reasoning(text=one.text, protected_data=one.protected)]
        own = one.id or f"call-{id(self):x}-{next(self._numbers)}"
        text = json.dumps(one.args)
        return [
            Content.from_function_call(own, one.name, arguments=text[:5]),
            Content.from_function_call(own, "", arguments=text[5:]),
        ]
