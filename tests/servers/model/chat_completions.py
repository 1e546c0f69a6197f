"""OpenAI's Chat Completions, which most servers of models speak.

Written after OpenAI's API reference: "Chat", "The chat completion chunk object".
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tests.servers.model.script import Answered, Json, Reply, Requested

__all__ = ["ChatCompletions", "ChatReply", "deltas_of", "openai_refusal"]


@dataclass(frozen=True)
class ChatReply(Reply):
    """A reply with what is particular to this dialect's servers.

    Attributes:
        says_done: whether `data: [DONE]` ends the stream.
        fails: ends the stream after the text and the calls: the error object of a chunk, or
            the chunk's data as it is (which may be no JSON).
        deltas_more: what further chunks add, as it is: other shapes of what servers stream.
        finish: the finish reason; None says why the reply ends.
        usages: what chunks at its end count, one each.
    """

    says_done: bool = True
    fails: Json | str | None = None
    deltas_more: Sequence[Json] = ()
    finish: str | None = None
    usages: Sequence[Json] = (
        {
            "prompt_tokens": 4,
            "prompt_tokens_details": {"cached_tokens": 2},
            "completion_tokens": 3,
            "completion_tokens_details": {"reasoning_tokens": 1},
            "total_tokens": 7,
        },
    )


class ChatCompletions:
    """The dialect."""

    path = "/v1/chat/completions"

    def fault(self, requested: Requested, before: Sequence[Answered]) -> str | None:
        """See `Dialect`."""
        waiting: list[str] = []
        for place, message in enumerate(requested.messages):
            own = message.get("tool_call_id")
            if message["role"] == "tool" and own in waiting:
                waiting.remove(own)
            elif message["role"] == "tool":
                return (
                    f"Invalid parameter: messages with role 'tool' must be a response to a "
                    f"preceeding message with 'tool_calls': messages.[{place}].role"
                )
            elif waiting:
                break
            elif message["role"] == "assistant":
                calls = message.get("tool_calls")
                if calls == []:
                    return f"[] is too short - 'messages.{place}.tool_calls'"
                if calls is None and message.get("content") is None:
                    return f"Invalid value for 'content': got null: messages.[{place}].content"
                waiting = [call["id"] for call in calls or ()]
        if waiting:
            return (
                f"An assistant message with 'tool_calls' must be followed by tool messages "
                f"responding to each 'tool_call_id'. The following tool_call_ids did not have "
                f"response messages: {', '.join(waiting)}"
            )
        return None

    def refusal(self, fault: str) -> Json:
        """See `Dialect`."""
        return openai_refusal(fault)

    def wants_stream(self, requested: Requested) -> bool:
        """See `Dialect`."""
        return bool(requested.body.get("stream"))

    def whole(self, requested: Requested, reply: Reply) -> Json:
        """See `Dialect`."""
        message: Json = {"role": "assistant", "content": "".join(reply.pieces) or None}
        if reply.calls:
            message["tool_calls"] = [
                {
                    "id": call.id or f"call_{index}",
                    "type": "function",
                    "function": {"name": call.name, "arguments": call.text},
                }
                for index, call in enumerate(reply.calls)
            ]
        choice = {"index": 0, "message": message, "finish_reason": _finish(_own(reply))}
        return {**_envelope("chat.completion", requested), "choices": [choice]}

    def said(self, requested: Requested, reply: Reply) -> Iterator[str | None]:
        """See `Dialect`."""
        for number, delta in enumerate(deltas_of(_own(reply))):
            yield _chunk(requested, delta)
            # The first delta is the role alone.
            if number == 1:
                yield None

    def ended(self, requested: Requested, reply: Reply) -> Iterator[str]:
        """See `Dialect`."""
        own = _own(reply)
        if own.fails is not None:
            text = isinstance(own.fails, str)
            yield f"data: {own.fails}\n\n" if text else _frame({"error": own.fails})
            return
        yield _chunk(requested, {}, _finish(own))
        for usage in own.usages:
            envelope = _envelope("chat.completion.chunk", requested)
            yield _frame({**envelope, "choices": [], "usage": usage})
        if own.says_done:
            yield "data: [DONE]\n\n"


def deltas_of(reply: ChatReply) -> Iterator[Json]:
    """What the chunks of the stream add, in order; fragments of parallel calls are interleaved."""
    yield {"role": "assistant", "content": ""}
    for piece in reply.pieces:
        yield {"content": piece}
    texts = [call.text for call in reply.calls]
    heads = [len(text) if not reply.fragment else 0 for text in texts]
    for index, call in enumerate(reply.calls):
        function = {"name": call.name, "arguments": texts[index][: heads[index]]}
        head: Json = {"index": index, "type": "function", "function": function}
        yield {"tool_calls": [head if call.id is None else {**head, "id": call.id}]}
    size = reply.fragment
    for at in range(0, max(map(len, texts), default=0) if size else 0, size or 1):
        for index, text in enumerate(texts):
            if text[at : at + size]:
                part = {"index": index, "function": {"arguments": text[at : at + size]}}
                yield {"tool_calls": [part]}
    yield from reply.deltas_more


def openai_refusal(fault: str) -> Json:
    """How OpenAI says what is wrong with a request."""
    told = {"message": fault, "type": "invalid_request_error", "param": None, "code": None}
    return {"error": told}


def _own(reply: Reply) -> ChatReply:
    if isinstance(reply, ChatReply):
        return reply
    return ChatReply(reply.text, reply.calls, reply.fragment)


def _finish(reply: ChatReply) -> str:
    return reply.finish or ("tool_calls" if reply.calls else "stop")


def _envelope(kind: str, requested: Requested) -> Json:
    own = f"chatcmpl-{requested.number}"
    return {"id": own, "object": kind, "created": 0, "model": requested.body["model"]}


def _chunk(requested: Requested, delta: Json, finish: str | None = None) -> str:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return _frame({**_envelope("chat.completion.chunk", requested), "choices": [choice]})


def _frame(data: Json) -> str:
    # Not escaped, so that U+2028 and its like travel as they do from real servers.
    return f"data: {json.dumps(data, ensure_ascii=False)}\n\n"
