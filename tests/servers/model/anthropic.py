"""Anthropic's Messages.

Written after Anthropic's API reference: "Messages", "Streaming messages", and its pages "Tool use"
and "Extended thinking". A block of the content is announced, told in deltas, and closed; a thought
ends with its signature.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from tests.servers.model.script import Answered, Json, Reply, Requested, pieces_of, signature_of

__all__ = ["Messages"]


class Messages:
    """The dialect.

    Args:
        usage: what each request is told to have used.
    """

    path = "/v1/messages"

    def __init__(self, usage: Json | None = None) -> None:
        self._usage = usage or _USAGE

    def fault(self, requested: Requested, before: Sequence[Answered]) -> str | None:
        """See `Dialect`."""
        if "max_tokens" not in requested.body:
            return "max_tokens: Field required"
        turns = _turns(requested.messages)
        if not turns or turns[0]["role"] != "user":
            return "messages: first message must use the user role"
        return _fault_in_calls(turns) or _fault_in_blocks(requested, turns)

    def refusal(self, fault: str) -> Json:
        """See `Dialect`."""
        return {"type": "error", "error": {"type": "invalid_request_error", "message": fault}}

    def wants_stream(self, requested: Requested) -> bool:
        """See `Dialect`."""
        return bool(requested.body.get("stream"))

    def whole(self, requested: Requested, reply: Reply) -> Json:
        """See `Dialect`."""
        content = [_block(begun, deltas) for begun, deltas in _blocks(requested, reply)]
        ends = {"stop_reason": _reason(reply), "usage": self._sum}
        return {**_message(requested, self._usage), "content": content, **ends}

    def said(self, requested: Requested, reply: Reply) -> Iterator[str | None]:
        """See `Dialect`."""
        yield _frame({"type": "message_start", "message": _message(requested, self._usage)})
        for index, (begun, deltas) in enumerate(_blocks(requested, reply)):
            place: Json = {"index": index}
            yield _frame({"type": "content_block_start", **place, "content_block": begun})
            if index == 0:
                yield _frame({"type": "ping"})
            for delta in deltas:
                yield _frame({"type": "content_block_delta", **place, "delta": delta})
                if delta["type"] == "text_delta":
                    yield None
            yield _frame({"type": "content_block_stop", **place})

    def ended(self, requested: Requested, reply: Reply) -> Iterator[str]:
        """See `Dialect`."""
        delta = {"stop_reason": _reason(reply), "stop_sequence": None}
        yield _frame({"type": "message_delta", "delta": delta, "usage": self._sum})
        yield _frame({"type": "message_stop"})

    @property
    def _sum(self) -> Json:
        return {**self._usage, "output_tokens": 3}


_USAGE: Json = {
    "input_tokens": 4,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 0,
    "output_tokens": 1,
}
_THOUGHTS = ("thinking", "redacted_thinking")


def _blocks(requested: Requested, reply: Reply) -> Iterator[tuple[Json, list[Json]]]:
    """What each block begins with, and its deltas."""
    if reply.thoughts:
        deltas = [{"type": "thinking_delta", "thinking": one} for one in reply.thoughts]
        signature = signature_of("".join(reply.thoughts))
        signed = {"type": "signature_delta", "signature": signature}
        yield {"type": "thinking", "thinking": "", "signature": ""}, [*deltas, signed]
    if reply.pieces:
        deltas = [{"type": "text_delta", "text": piece} for piece in reply.pieces]
        yield {"type": "text", "text": ""}, deltas
    for index, call in enumerate(reply.calls):
        own = call.id or f"toolu_{requested.number}_{index}"
        pieces = ["", *pieces_of(call.text, reply.fragment)]
        deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
        yield {"type": "tool_use", "id": own, "name": call.name, "input": {}}, deltas


def _block(begun: Json, deltas: Sequence[Json]) -> Json:
    """A block with all that its deltas say."""
    if begun["type"] == "tool_use":
        return {**begun, "input": json.loads("".join(one["partial_json"] for one in deltas))}
    names = ("thinking", "signature") if begun["type"] == "thinking" else ("text",)
    return {**begun, **{name: "".join(one.get(name, "") for one in deltas) for name in names}}


def _turns(messages: Sequence[Json]) -> list[Json]:
    """The conversation as the API reads it: messages of one role in a row are one turn."""
    turns: list[Json] = []
    for message in messages:
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if turns and turns[-1]["role"] == message["role"]:
            turns[-1]["content"] += blocks
        else:
            turns.append({"role": message["role"], "content": [*blocks]})
    return turns


def _fault_in_calls(turns: Sequence[Json]) -> str | None:
    waiting: list[str] = []
    seen: set[str] = set()
    for place, turn in enumerate(turns):
        given: list[str] = []
        for at, block in enumerate(turn["content"]):
            if block["type"] == "tool_result":
                own = block["tool_use_id"]
                if own in given:
                    return f"messages.{place}: each tool_use must have a single result: {own}"
                if own not in waiting:
                    return (
                        f"messages.{place}.content.{at}: unexpected `tool_use_id` found in "
                        f"`tool_result` blocks: {own}. Each `tool_result` block must have a "
                        "corresponding `tool_use` block in the previous message."
                    )
                if at != len(given):
                    # Results stand before all else.
                    break
                given.append(own)
        missing = [own for own in waiting if own not in given]
        if missing:
            return _without_results(place - 1, missing)
        calls = [block for block in turn["content"] if block["type"] == "tool_use"]
        for call in calls:
            if call["id"] in seen:
                return f"messages.{place}: `tool_use` ids must be unique: {call['id']}"
            if not isinstance(call["input"], dict):
                return f"messages.{place}: tool_use.input: Input should be a valid dictionary"
            seen.add(call["id"])
        waiting = [call["id"] for call in calls]
    return _without_results(len(turns) - 1, waiting) if waiting else None


def _without_results(place: int, calls: Sequence[str]) -> str:
    return (
        f"messages.{place}: `tool_use` ids were found without `tool_result` blocks immediately "
        f"after: {', '.join(calls)}. Each `tool_use` block must have a corresponding "
        "`tool_result` block in the next message."
    )


def _fault_in_blocks(requested: Requested, turns: Sequence[Json]) -> str | None:
    for place, turn in enumerate(turns):
        for at, block in enumerate(turn["content"]):
            where = f"messages.{place}.content.{at}"
            if block["type"] == "text" and not block["text"].strip():
                return f"{where}: text content blocks must contain non-whitespace text"
            if block["type"] == "thinking" and block["signature"] != signature_of(
                block["thinking"]
            ):
                return f"{where}: Invalid `signature` in `thinking` block"
    thinking = requested.body.get("thinking") or {}
    in_loop = any(block["type"] == "tool_result" for block in turns[-1]["content"])
    if thinking.get("type") == "enabled" and in_loop:
        found = turns[-2]["content"][0]["type"]
        if found not in _THOUGHTS:
            return (
                f"messages.{len(turns) - 2}.content.0.type: Expected `thinking` or "
                f"`redacted_thinking`, but found `{found}`. When `thinking` is enabled, a final "
                "`assistant` message must start with a thinking block (preceeding the lastmost "
                "set of `tool_use` and `tool_result` blocks)."
            )
    return None


def _reason(reply: Reply) -> str:
    return "tool_use" if reply.calls else "end_turn"


def _message(requested: Requested, usage: Json) -> Json:
    return {
        "id": f"msg_{requested.number}",
        "type": "message",
        "role": "assistant",
        "model": requested.body["model"],
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }


def _frame(event: Json) -> str:
    return f"event: {event['type']}\ndata: {json.dumps(event, ensure_ascii=False)}\n\n"
