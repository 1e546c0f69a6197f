"""An OpenAI-compatible chat-completions server that says what a test scripts, over real sockets."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from tests.support.server import serve

__all__ = ["Reply", "Requested", "ScriptedModel", "ToolUse"]

Json = dict[str, Any]


@dataclass(frozen=True)
class ToolUse:
    """A tool call that the model asks for.

    Attributes:
        name: the tool.
        args: its arguments, or their text as it is (which may be no JSON).
        id: the call's id; None leaves it out, as some servers do.
    """

    name: str
    args: Mapping[str, Any] | str
    id: str | None = "call_1"

    @property
    def text(self) -> str:
        """The arguments as they travel."""
        return self.args if isinstance(self.args, str) else json.dumps(self.args)


@dataclass(frozen=True)
class Reply:
    """What one request gets.

    Attributes:
        text: the text; a sequence is sent piece by piece.
        calls: the tool calls. The fragments of parallel ones are interleaved.
        fragment: characters of arguments in one delta; 0 sends each call whole.
        hold: when given, the stream waits for it after its first piece.
        breaks_off: the connection ends without a finish reason.
        says_done: whether `data: [DONE]` ends the stream.
        fails: ends the stream after the text and the calls: the error object of a chunk, or
            the chunk's data as it is (which may be no JSON).
        deltas_more: what further chunks add, as it is: other shapes of what servers stream.
        finish: the finish reason; None says why the reply ends.
        usages: what chunks at its end count, one each.
        status: another one than 200 is answered with `body`.
        body: the body of a failure.
    """

    text: str | Sequence[str] = ()
    calls: Sequence[ToolUse] = ()
    fragment: int = 0
    hold: asyncio.Event | None = None
    breaks_off: bool = False
    says_done: bool = True
    fails: Json | str | None = None
    deltas_more: Sequence[Json] = ()
    finish: str | None = None
    usages: Sequence[Json] = ({"total_tokens": 7},)
    status: int = 200
    body: str = ""

    @property
    def pieces(self) -> list[str]:
        """The text, as it is sent."""
        return [self.text] if isinstance(self.text, str) else list(self.text)

    @property
    def finish_reason(self) -> str:
        """Why the reply ends."""
        return self.finish or ("tool_calls" if self.calls else "stop")

    def deltas(self) -> Iterator[Json]:
        """What the chunks of the stream add, in order."""
        yield {"role": "assistant", "content": ""}
        for piece in self.pieces:
            yield {"content": piece}
        texts = [call.text for call in self.calls]
        heads = [len(text) if not self.fragment else 0 for text in texts]
        for index, call in enumerate(self.calls):
            function = {"name": call.name, "arguments": texts[index][: heads[index]]}
            head: Json = {"index": index, "type": "function", "function": function}
            yield {"tool_calls": [head if call.id is None else {**head, "id": call.id}]}
        size = self.fragment
        for at in range(0, max(map(len, texts), default=0) if size else 0, size or 1):
            for index, text in enumerate(texts):
                if text[at : at + size]:
                    part = {"index": index, "function": {"arguments": text[at : at + size]}}
                    yield {"tool_calls": [part]}
        yield from self.deltas_more

    def whole(self) -> Json:
        """The message of an answer that is not streamed."""
        message: Json = {"role": "assistant", "content": "".join(self.pieces) or None}
        if self.calls:
            message["tool_calls"] = [
                {
                    "id": call.id or f"call_{index}",
                    "type": "function",
                    "function": {"name": call.name, "arguments": call.text},
                }
                for index, call in enumerate(self.calls)
            ]
        return message


@dataclass(frozen=True)
class Requested:
    """A request that the model got: its JSON body and its headers."""

    body: Json
    headers: Mapping[str, str]

    @property
    def messages(self) -> list[Json]:
        """The conversation as the model got it."""
        return list(self.body["messages"])


class ScriptedModel:
    """A server that answers its requests with one script after the other.

    ::

        async with ScriptedModel(Reply("Hello."), Reply("Bye.")) as model:
            ...  # POST {model.base_url}/chat/completions

    A script is a `Reply`, or a function from the request to one. A request too many is
    answered with 500, and fails the test at the end of the block.

    Attributes:
        requests: every request, in order.
        cut_off: how many streams their clients left before the end.
        base_url: what clients take as OPENAI_BASE_URL, within the block.
    """

    def __init__(self, *scripts: Reply | Callable[[Requested], Reply]) -> None:
        self.requests: list[Requested] = []
        self.cut_off = 0
        self.base_url = ""
        self._scripts = list(scripts)
        self._server = contextlib.AsyncExitStack()

    def then(self, *scripts: Reply | Callable[[Requested], Reply]) -> None:
        """Add scripts for the requests to come."""
        self._scripts += scripts

    async def __aenter__(self) -> ScriptedModel:
        route = Route("/v1/chat/completions", self._answer, methods=["POST"])
        base = await self._server.enter_async_context(serve(Starlette(routes=[route])))
        self.base_url = f"{base}/v1"
        return self

    async def __aexit__(self, kind: Any, *_: Any) -> None:
        await self._server.aclose()
        surplus = len(self.requests) - len(self._scripts)
        assert kind is not None or surplus <= 0, (
            f"the model was called {surplus} times more often than scripted; the last "
            f"request was {self.requests[-1].body}"
        )

    async def _answer(self, request: Request) -> Response:
        requested = Requested(await request.json(), dict(request.headers))
        number = len(self.requests)
        self.requests.append(requested)
        if number >= len(self._scripts):
            return JSONResponse({"error": {"message": "no script is left"}}, 500)
        script = self._scripts[number]
        reply = script(requested) if callable(script) else script
        if reply.status != 200:
            return Response(reply.body, reply.status, media_type="application/json")
        if not requested.body.get("stream"):
            choice = {"index": 0, "message": reply.whole(), "finish_reason": reply.finish_reason}
            return JSONResponse({**_envelope("chat.completion", requested), "choices": [choice]})
        return StreamingResponse(self._stream(requested, reply), media_type="text/event-stream")

    async def _stream(self, requested: Requested, reply: Reply) -> AsyncIterator[str]:
        envelope = _envelope("chat.completion.chunk", requested)

        def chunk(delta: Json, finish: str | None = None) -> str:
            choice = {"index": 0, "delta": delta, "finish_reason": finish}
            return _frame({**envelope, "choices": [choice]})

        try:
            for number, delta in enumerate(reply.deltas()):
                yield chunk(delta)
                # The first delta is the role alone.
                if number == 1 and reply.hold is not None:
                    await reply.hold.wait()
        except (asyncio.CancelledError, GeneratorExit):
            self.cut_off += 1
            raise
        if reply.breaks_off:
            return
        if reply.fails is not None:
            text = isinstance(reply.fails, str)
            yield f"data: {reply.fails}\n\n" if text else _frame({"error": reply.fails})
            return
        yield chunk({}, reply.finish_reason)
        for usage in reply.usages:
            yield _frame({**envelope, "choices": [], "usage": usage})
        if reply.says_done:
            yield "data: [DONE]\n\n"


def _envelope(kind: str, requested: Requested) -> Json:
    return {"id": "chatcmpl-1", "object": kind, "created": 0, "model": requested.body["model"]}


def _frame(data: Json) -> str:
    # Not escaped, so that U+2028 and its like travel as they do from real servers.
    return f"data: {json.dumps(data, ensure_ascii=False)}\n\n"
