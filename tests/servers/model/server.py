"""A server that says what a test scripts, to every client of a model whose dialect it knows."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any, Final

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from tests.servers.model.anthropic import Messages
from tests.servers.model.chat_completions import ChatCompletions
from tests.servers.model.gemini import Gemini
from tests.servers.model.responses import Responses
from tests.servers.model.script import Answered, Dialect, Reply, Requested
from tests.support.server import serve

__all__ = ["ScriptedModel"]

DIALECTS: Final[tuple[Dialect, ...]] = (ChatCompletions(), Gemini(), Messages(), Responses())


class ScriptedModel:
    """A server that answers its requests with one script after the other.

    ::

        async with ScriptedModel(Reply("Hello."), Reply("Bye.")) as model:
            ...  # POST {model.base_url}/chat/completions, or /responses

    A script is a `Reply`, or a function from the request to one. A request too many is
    answered with 500, one that breaks the provider's rules with 400: both fail the test at the end
    of the block.

    Attributes:
        requests: every request, in order.
        refused: what was wrong with those that broke a rule.
        cut_off: how many streams their clients left before the end.
        base_url: what clients take as OPENAI_BASE_URL, within the block.
    """

    def __init__(self, *scripts: Reply | Callable[[Requested], Reply]) -> None:
        self.requests: list[Requested] = []
        self.refused: list[str] = []
        self.cut_off = 0
        self.base_url = ""
        self._scripts = list(scripts)
        self._answered: list[Answered] = []
        self._server = contextlib.AsyncExitStack()

    def then(self, *scripts: Reply | Callable[[Requested], Reply]) -> None:
        """Add scripts for the requests to come."""
        self._scripts += scripts

    async def __aenter__(self) -> ScriptedModel:
        routes = [
            Route(dialect.path, partial(self._answer, dialect), methods=["POST"])
            for dialect in DIALECTS
        ]
        base = await self._server.enter_async_context(serve(Starlette(routes=routes)))
        self.base_url = f"{base}/v1"
        return self

    async def __aexit__(self, kind: Any, error: BaseException | None, _: Any) -> None:
        await self._server.aclose()
        if error is not None:
            for fault in self.refused:
                error.add_note(f"the provider refuses a request: {fault}")
        assert error is not None or not self.refused, f"requests were refused: {self.refused}"
        surplus = len(self.requests) - len(self._scripts)
        assert kind is not None or surplus <= 0, (
            f"the model was called {surplus} times more often than scripted; the last "
            f"request was {self.requests[-1].body}"
        )

    async def _answer(self, dialect: Dialect, request: Request) -> Response:
        number = len(self.requests)
        requested = Requested(number, await request.json(), dict(request.headers))
        self.requests.append(requested)
        if number >= len(self._scripts):
            return JSONResponse({"error": {"message": "no script is left"}}, 500)
        script = self._scripts[number]
        fault = dialect.fault(requested, self._answered)
        if fault is not None:
            self.refused.append(fault)
            return JSONResponse(dialect.refusal(fault), 400)
        reply = script(requested) if callable(script) else script
        self._answered.append((requested, reply))
        if reply.status != 200:
            return Response(reply.body, reply.status, media_type="application/json")
        if not dialect.wants_stream(requested):
            return JSONResponse(dialect.whole(requested, reply))
        stream = self._stream(dialect, requested, reply)
        return StreamingResponse(stream, media_type="text/event-stream")

    async def _stream(
        self, dialect: Dialect, requested: Requested, reply: Reply
    ) -> AsyncIterator[str]:
        try:
            for frame in dialect.said(requested, reply):
                if frame is not None:
                    yield frame
                elif reply.hold is not None:
                    await reply.hold.wait()
        except (asyncio.CancelledError, GeneratorExit):
            self.cut_off += 1
            raise
        if not reply.breaks_off:
            for frame in dialect.ended(requested, reply):
                yield frame
