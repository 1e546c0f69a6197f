"""OpenAI's Responses.

Written after OpenAI's API reference: "Responses", "Streaming events". An item of the output is
announced, told in deltas, told once more as a whole (`….done`), and closed with all that it is.
What a request must hold is written after "Conversation state", "Reasoning models" and the errors
that the API gives.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count, pairwise
from typing import Any

from tests.servers.model.chat_completions import openai_refusal
from tests.servers.model.script import Answered, Json, Reply, Requested, ToolUse, pieces_of

__all__ = ["Responses", "ResponsesReply"]


@dataclass(frozen=True)
class ResponsesReply(Reply):
    """A reply with what is particular to this dialect.

    Attributes:
        messages: texts of messages of their own after the first.
        whole_text: what the events that repeat a message's text say in place of its deltas.
        whole_args: what those that repeat a call's arguments say in place of their deltas.
    """

    messages: Sequence[str] = ()
    whole_text: str | None = None
    whole_args: str | None = None


class Responses:
    """The dialect."""

    path = "/v1/responses"

    def fault(self, requested: Requested, before: Sequence[Answered]) -> str | None:
        """See `Dialect`."""
        held = _held(requested, before)
        if isinstance(held, str):
            return held
        return _fault_in_ids(held, before) or _fault_in_calls(held) or _fault_in_thoughts(held)

    def refusal(self, fault: str) -> Json:
        """See `Dialect`."""
        return openai_refusal(fault)

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


def _held(requested: Requested, before: Sequence[Answered]) -> list[Json] | str:
    """All items that a request is about, those that the API keeps among them; or what is wrong."""
    earlier: list[Json] = []
    previous = requested.body.get("previous_response_id")
    if previous is not None:
        kept = [one for one in before if f"resp_{one[0].number}" == previous and _stores(one[0])]
        if not kept:
            return f"Previous response with id '{previous}' not found."
        told = _held(kept[0][0], before)
        if isinstance(told, str):
            return told
        earlier = [*told, *_output(kept[0])]
    given = requested.body["input"]
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given
    outputs = {item["id"]: item for one in before if _stores(one[0]) for item in _output(one)}
    for item in items:
        if item.get("type") == "item_reference" and item["id"] not in outputs:
            return _not_found(item["id"])
        earlier.append(outputs[item["id"]] if item.get("type") == "item_reference" else item)
    return earlier


def _fault_in_ids(held: Sequence[Json], before: Sequence[Answered]) -> str | None:
    own = {item.get("id") for item in held}
    outputs = [(one[0], _output(one)) for one in before]
    for place, item in enumerate(held):
        kind, named = item.get("type", "message"), item.get("id")
        begins = _BEGINS.get(kind) if item.get("role", "assistant") == "assistant" else None
        if named is not None and begins is not None and not named.startswith(begins):
            return (
                f"Invalid 'input[{place}].id': '{named}'. Expected an ID that begins "
                f"with '{begins}'."
            )
        for requested, output in outputs:
            if named is None or named not in {one["id"] for one in output}:
                continue
            first = output[0]
            if kind != "reasoning" and first["type"] == "reasoning" and first["id"] not in own:
                return (
                    f"Item '{named}' of type '{kind}' was provided without its required "
                    f"'reasoning' item: '{first['id']}'."
                )
            sealed = item.get("encrypted_content")
            if kind == "reasoning" and not _stores(requested) and not sealed:
                return _not_found(named)
            if sealed is not None and sealed != first.get("encrypted_content"):
                return f"The encrypted content for item {named} could not be verified."
            break
        else:
            if kind == "reasoning":
                return _not_found(named)
    return None


def _fault_in_calls(held: Sequence[Json]) -> str | None:
    calls = [item["call_id"] for item in held if item.get("type") == "function_call"]
    if len(set(calls)) < len(calls):
        # OpenAI gives no id twice. Who does can't know which of them a result is for.
        return None
    waiting: list[str] = []
    for item in held:
        own = item.get("call_id", "")
        if item.get("type") == "function_call":
            waiting.append(own)
        elif item.get("type") == "function_call_output":
            if own not in waiting:
                return f"No tool call found for function call output with call_id {own}."
            waiting.remove(own)
    return f"No tool output found for function call {waiting[0]}." if waiting else None


def _fault_in_thoughts(held: Sequence[Json]) -> str | None:
    for item, behind in pairwise([*held, {"role": "user"}]):
        if item.get("type") == "reasoning":
            follows = behind.get("type") in ("reasoning", "function_call")
            if not follows and behind.get("role") != "assistant":
                return (
                    f"Item '{item.get('id')}' of type 'reasoning' was provided without its "
                    "required following item."
                )
    return None


def _stores(requested: Requested) -> bool:
    return requested.body.get("store") is not False


def _output(answered: Answered) -> list[Json]:
    return [item.done for item in _items(*answered)]


def _not_found(named: Any) -> str:
    return (
        f"Item with id '{named}' not found. Items are not persisted when `store` is set to false. "
        "Try again with `store` set to true, or remove this item from your input."
    )


_BEGINS = {"message": "msg", "function_call": "fc", "reasoning": "rs"}


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
    if reply.thoughts:
        sealed = "reasoning.encrypted_content" in (requested.body.get("include") or ())
        yield _thought(next(ids), reply.thoughts, sealed)
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


def _thought(named: str, summaries: Sequence[str], sealed: bool) -> _Item:
    begun: Json = {"type": "reasoning", "id": f"rs_{named}", "summary": []}
    if sealed:
        begun["encrypted_content"] = f"sealed rs_{named}"
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
            "input_tokens_details": {"cached_tokens": 2, "cache_write_tokens": 0},
            "output_tokens": 3,
            "output_tokens_details": {"reasoning_tokens": 1},
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
