"""OpenAI's Responses.

Written after OpenAI's API reference: "Responses", "Streaming events". An item of the output is
announced, told in deltas, told once more as a whole (`….done`), and closed with all that it is.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from tests.servers.model.script import Json, Reply, Requested, ToolUse, pieces_of

__all__ = ["Responses", "ResponsesReply"]


@dataclass(frozen=True)
class ResponsesReply(Reply):
    """A reply with what is particular to this dialect.

    Attributes:
        messages: texts of messages of their own after the first.
        summaries: what the model thought: the parts of the summary of a reasoning item.
        whole_text: what the events that repeat a message's text say in place of its deltas.
        whole_args: what those that repeat a call's arguments say in place of their deltas.
    """

    messages: Sequence[str] = ()
    summaries: Sequence[str] = ()
    whole_text: str | None = None
    whole_args: str | None = None


class Responses:
    """The dialect."""

    path = "/v1/responses"

    def wants_stream(self, requested: Requested) -> bool:
        """See `Dialect`."""
        return bool(requested.body.get("stream"))

    def whole(self, requested: Requested, reply: Reply) -> Json:
        """See `Dialect`."""
        return _response(requested, "completed", [item.done for item in _items(requested, reply)])

    def said(self, requested: Requested, reply: Reply) -> Iterator[str | None]:
        """See `Dialect`."""
        numbers = count()
        for kind in ("created", "in_progress"):
            response = _response(requested, "in_progress", [])
            yield _frame(numbers, {"type": f"response.{kind}", "response": response})
        for index, item in enumerate(_items(requested, reply)):
            for event in item.events():
                yield _frame(numbers, {**event, "output_index": index})
                if event["type"] == "response.output_text.delta":
                    yield None

    def ended(self, requested: Requested, reply: Reply) -> Iterator[str]:
        """See `Dialect`."""
        numbers = count(sum(frame is not None for frame in self.said(requested, reply)))
        done = self.whole(requested, reply)
        yield _frame(numbers, {"type": "response.completed", "response": done})


@dataclass(frozen=True)
class _Item:
    """One item of the output: what it is in the end, and how it comes."""

    done: Json
    begun: Json
    parts: Sequence[Json]

    def events(self) -> Iterator[Json]:
        """Its events, without the item's place in the output."""
        yield {"type": "response.output_item.added", "item": {**self.begun, **_GOING_ON}}
        for part in self.parts:
            yield {**part, "item_id": self.done["id"]}
        yield {"type": "response.output_item.done", "item": self.done}


_GOING_ON: Json = {"status": "in_progress"}
_COMPLETED: Json = {"status": "completed"}


def _items(requested: Requested, reply: Reply) -> Iterator[_Item]:
    own = reply if isinstance(reply, ResponsesReply) else None
    ids = (f"{requested.number}_{index}" for index in count())
    if own is not None and own.summaries:
        yield _thought(next(ids), own.summaries)
    if reply.pieces:
        yield _message(next(ids), reply.pieces, own.whole_text if own is not None else None)
    for text in own.messages if own is not None else ():
        yield _message(next(ids), [text], None)
    for call in reply.calls:
        yield _call(next(ids), call, reply.fragment, own.whole_args if own is not None else None)


def _message(named: str, pieces: Sequence[str], whole: str | None) -> _Item:
    text = "".join(pieces) if whole is None else whole
    begun: Json = {"type": "message", "id": f"msg_{named}", "role": "assistant", "content": []}
    part: Json = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
    place: Json = {"content_index": 0}
    kind = "response.output_text"
    parts = [
        {"type": "response.content_part.added", **place, "part": part},
        *({"type": f"{kind}.delta", **place, "delta": piece, "logprobs": []} for piece in pieces),
        {"type": f"{kind}.done", **place, "text": text, "logprobs": []},
        {"type": "response.content_part.done", **place, "part": {**part, "text": text}},
    ]
    done = {**begun, **_COMPLETED, "content": [{**part, "text": text}]}
    return _Item(done, begun, parts)


def _call(named: str, call: ToolUse, size: int, whole: str | None) -> _Item:
    text = call.text if whole is None else whole
    begun: Json = {
        "type": "function_call",
        "id": f"fc_{named}",
        "call_id": call.id or f"call_{named}",
        "name": call.name,
        "arguments": "",
    }
    kind = "response.function_call_arguments"
    parts = [
        *({"type": f"{kind}.delta", "delta": piece} for piece in pieces_of(call.text, size)),
        {"type": f"{kind}.done", "name": call.name, "arguments": text},
    ]
    return _Item({**begun, **_COMPLETED, "arguments": text}, begun, parts)


def _thought(named: str, summaries: Sequence[str]) -> _Item:
    begun: Json = {"type": "reasoning", "id": f"rs_{named}", "summary": []}
    parts: list[Json] = []
    kind = "response.reasoning_summary"
    for index, text in enumerate(summaries):
        place: Json = {"summary_index": index}
        part: Json = {"type": "summary_text", "text": ""}
        parts += [
            {"type": f"{kind}_part.added", **place, "part": part},
            {"type": f"{kind}_text.delta", **place, "delta": text},
            {"type": f"{kind}_text.done", **place, "text": text},
            {"type": f"{kind}_part.done", **place, "part": {**part, "text": text}},
        ]
    told = [{"type": "summary_text", "text": text} for text in summaries]
    return _Item({**begun, **_COMPLETED, "summary": told}, begun, parts)


def _response(requested: Requested, status: str, output: list[Json]) -> Json:
    body = requested.body
    usage: Json | None = None
    if status == "completed":
        usage = {
            "input_tokens": 4,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": 3,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 7,
        }
    return {
        "id": f"resp_{requested.number}",
        "object": "response",
        "created_at": 1,
        "status": status,
        "background": False,
        "error": None,
        "incomplete_details": None,
        "instructions": body.get("instructions"),
        "max_output_tokens": None,
        "model": body["model"],
        "output": output,
        "parallel_tool_calls": True,
        "previous_response_id": body.get("previous_response_id"),
        "reasoning": {"effort": None, "summary": None},
        "store": body.get("store", True),
        "temperature": 1.0,
        "text": {"format": {"type": "text"}},
        "tool_choice": "auto",
        "tools": body.get("tools") or [],
        "top_p": 1.0,
        "truncation": "disabled",
        "usage": usage,
        "user": None,
        "metadata": {},
    }


def _frame(numbers: Iterator[int], event: Json) -> str:
    told: dict[str, Any] = {**event, "sequence_number": next(numbers)}
    return f"event: {event['type']}\ndata: {json.dumps(told, ensure_ascii=False)}\n\n"
