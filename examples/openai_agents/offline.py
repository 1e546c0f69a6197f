"""Makes a model of a function, so that agents run without a network and without a key."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

from agents import Model, ModelResponse, Tool, Usage
from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseCreatedEvent,
    ResponseFunctionCallArgumentsDeltaEvent,
    ResponseFunctionToolCall,
    ResponseOutputItemAddedEvent,
    ResponseOutputItemDoneEvent,
    ResponseOutputMessage,
    ResponseOutputText,
    ResponseReasoningItem,
    ResponseReasoningSummaryTextDeltaEvent,
    ResponseTextDeltaEvent,
    ResponseUsage,
)
from openai.types.responses.response_reasoning_item import Summary

__all__ = ["Call", "Item", "OfflineModel", "Reply", "Thought"]

Item = dict[str, Any]
"""An input item, as the Responses API has it."""


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


Said = str | Call | Thought | Any
"""A piece of text, a call, a thought, or an item of the Responses API as it is."""

Reply = Callable[[list[Item], list[Tool]], AsyncIterator[Said]]
"""What a model says to the conversation so far, piece by piece."""


class OfflineModel(Model):
    """Streams what a function says, as the Responses API does.

    Args:
        reply: the function.
    """

    _numbers = itertools.count(1)

    def __init__(self, reply: Reply) -> None:
        self._reply = reply

    async def get_response(
        self,
        system_instructions: str | None,
        input: str | list[Any],
        model_settings: Any,
        tools: list[Tool],
        *_: Any,
        **__: Any,
    ) -> ModelResponse:
        async for event in self.stream_response(system_instructions, input, model_settings, tools):
            if isinstance(event, ResponseCompletedEvent):
                usage = Usage(requests=1, input_tokens=7, output_tokens=3, total_tokens=10)
                return ModelResponse(event.response.output, usage, event.response.id)
        raise AssertionError

    async def stream_response(
        self,
        system_instructions: str | None,
        input: str | list[Any],
        model_settings: Any,
        tools: list[Tool],
        *_: Any,
        **__: Any,
    ) -> AsyncIterator[Any]:
        items = [{"role": "user", "content": input}] if isinstance(input, str) else list(input)
        output: list[Any] = []
        numbers = itertools.count()
        yield ResponseCreatedEvent(
            type="response.created", response=_response([]), sequence_number=next(numbers)
        )
        text: ResponseOutputMessage | None = None
        async for said in self._reply(items, tools):
            if isinstance(said, str) and text is not None:
                text.content[0].text += said  # type: ignore[union-attr]
            else:
                if text is not None:
                    yield _done(text, output, next(numbers))
                    text = None
                item = _item(said)
                text = item if isinstance(said, str) else None
                output.append(item)
                yield ResponseOutputItemAddedEvent(
                    type="response.output_item.added",
                    item=_empty(item),
                    output_index=len(output) - 1,
                    sequence_number=next(numbers),
                )
            for delta in _deltas(said, output, numbers):
                yield delta
            if text is None:
                yield _done(output[-1], output, next(numbers))
        if text is not None:
            yield _done(text, output, next(numbers))
        yield ResponseCompletedEvent(
            type="response.completed", response=_response(output), sequence_number=next(numbers)
        )


def _own(kind: str) -> str:
    return f"{kind}_{os.getpid():x}_{next(OfflineModel._numbers)}"


def _item(said: Said) -> Any:
    if isinstance(said, str):
        part = ResponseOutputText(type="output_text", text=said, annotations=[])
        return ResponseOutputMessage(
            id=_own("msg"), type="message", role="assistant", status="completed", content=[part]
        )
    if isinstance(said, Call):
        arguments = said.args if isinstance(said.args, str) else json.dumps(said.args)
        return ResponseFunctionToolCall(
            type="function_call",
            id=_own("fc"),
            call_id=_own("call"),
            name=said.name,
            arguments=arguments,
        )
    if isinstance(said, Thought):
        return ResponseReasoningItem(
            id=_own("rs"),
            type="reasoning",
            summary=[Summary(type="summary_text", text=said.text)],
            encrypted_content=said.signature,
        )
    return said


def _empty(item: Any) -> Any:
    if isinstance(item, ResponseFunctionToolCall):
        return item.model_copy(update={"arguments": ""})
    return item.model_copy(update={"content": []}) if item.type == "message" else item


def _deltas(said: Said, output: list[Any], numbers: itertools.count[int]) -> list[Any]:
    item, index = output[-1], len(output) - 1
    if isinstance(said, str):
        return [
            ResponseTextDeltaEvent(
                type="response.output_text.delta",
                item_id=item.id,
                output_index=index,
                content_index=0,
                delta=said,
                logprobs=[],
                sequence_number=next(numbers),
            )
        ]
    if isinstance(said, Thought):
        return [
            ResponseReasoningSummaryTextDeltaEvent(
                type="response.reasoning_summary_text.delta",
                item_id=item.id,
                output_index=index,
                summary_index=0,
                delta=delta,
                sequence_number=next(numbers),
            )
            for delta in (said.text[:5], said.text[5:])
        ]
    if isinstance(said, Call):
        return [
            ResponseFunctionCallArgumentsDeltaEvent(
                type="response.function_call_arguments.delta",
                item_id=item.id,
                output_index=index,
                delta=delta,
                sequence_number=next(numbers),
            )
            for delta in (item.arguments[:5], item.arguments[5:])
        ]
    return []


def _done(item: Any, output: list[Any], number: int) -> ResponseOutputItemDoneEvent:
    return ResponseOutputItemDoneEvent(
        type="response.output_item.done",
        item=item,
        output_index=output.index(item),
        sequence_number=number,
    )


def _response(output: list[Any]) -> Response:
    usage = {
        "input_tokens": 7,
        "output_tokens": 3,
        "total_tokens": 10,
        "input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": 2},
    }
    return Response(
        id=_own("resp"),
        created_at=0,
        model="offline",
        object="response",
        output=output,
        tool_choice="none",
        tools=[],
        parallel_tool_calls=True,
        usage=ResponseUsage.model_validate(usage),
    )
