"""An AG-UI endpoint that does what a test says, over a real socket, and a bridge before it."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from agui_bridge import Bridge, Settings
from agui_bridge.stores.base import Store
from agui_bridge_agui import AguiAdapter
from tests.docs.pages import Conversation
from tests.support.server import serve

__all__ = [
    "APPROVAL",
    "Talk",
    "Upstream",
    "before",
    "call",
    "finished",
    "interrupt",
    "result",
    "started",
    "text",
]

Event = dict[str, Any]
Reply = Iterable[Event | str] | Response | Callable[[Event], Any]

APPROVAL: Mapping[str, Any] = {
    "type": "object",
    "required": ["approved"],
    "properties": {"approved": {"type": "boolean"}, "reason": {"type": "string"}},
}


def started(run: str = "theirs") -> Event:
    return {"type": "RUN_STARTED", "threadId": "t", "runId": run}


def finished(outcome: Event | None = None, **members: Any) -> Event:
    shape = {"type": "RUN_FINISHED", "threadId": "t", "runId": "theirs", **members}
    return shape if outcome is None else {**shape, "outcome": outcome}


def text(said: str, message: str = "m1") -> list[Event]:
    return [
        {"type": "TEXT_MESSAGE_START", "messageId": message, "role": "assistant"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": message, "delta": said},
        {"type": "TEXT_MESSAGE_END", "messageId": message},
    ]


def call(call_id: str = "call-1", name: str = "delete", args: str = '{"n": 1}') -> list[Event]:
    return [
        {"type": "TOOL_CALL_START", "toolCallId": call_id, "toolCallName": name},
        {"type": "TOOL_CALL_ARGS", "toolCallId": call_id, "delta": args},
        {"type": "TOOL_CALL_END", "toolCallId": call_id},
    ]


def result(content: str, call_id: str = "call-1") -> Event:
    return {
        "type": "TOOL_CALL_RESULT",
        "messageId": f"result-of-{call_id}",
        "toolCallId": call_id,
        "content": content,
    }


def interrupt(*asks: Event) -> Event:
    default = {
        "id": "theirs-1",
        "reason": "tool_call",
        "toolCallId": "call-1",
        "responseSchema": dict(APPROVAL),
    }
    return {"type": "interrupt", "interrupts": [{**default, **ask} for ask in asks or ({},)]}


class Upstream:
    """The endpoint: it gives the replies in their order, the last one again and again.

    A reply is a list of events (a str among them is sent as it is), a response, or a function
    of the input that gives one of these, or an async iterator of events.

    Attributes:
        bodies: the inputs that came.
        headers: theirs.
        stops: bodies of the stops that came, by thread.
        closed: streams that were closed before their end.
    """

    def __init__(self, *replies: Reply) -> None:
        self.bodies: list[Event] = []
        self.headers: list[Mapping[str, str]] = []
        self.stops: list[tuple[str, Event]] = []
        self.closed = 0
        self.on_stop: Callable[[], None] = lambda: None
        self._replies = list(replies)

    def app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/agent", self._run, methods=["POST"]),
                Route("/stop/{thread}", self._stop, methods=["POST"]),
            ]
        )

    async def _stop(self, request: Request) -> Response:
        self.stops.append((request.path_params["thread"], await request.json()))
        self.on_stop()
        return Response(status_code=204)

    async def _run(self, request: Request) -> Response:
        body = await request.json()
        self.bodies.append(body)
        self.headers.append(request.headers)
        reply: Any = self._replies.pop(0) if len(self._replies) > 1 else self._replies[0]
        if callable(reply) and not isinstance(reply, Response):
            reply = reply(body)
        if isinstance(reply, Response):
            return reply
        return StreamingResponse(self._stream(reply), media_type="text/event-stream")

    async def _stream(self, reply: Any) -> AsyncIterator[str]:
        ended = False
        try:
            if hasattr(reply, "__aiter__"):
                async for event in reply:
                    yield _frame(event)
            else:
                for event in reply:
                    yield _frame(event)
            ended = True
        finally:
            self.closed += not ended


def _frame(event: Event | str) -> str:
    return event if isinstance(event, str) else f"data: {json.dumps(event)}\n\n"


class Talk(Conversation):
    """A conversation with the bridge before an upstream."""

    @property
    def ending(self) -> str:
        """How the last run ended: its outcome, or the code of its error."""
        last = self.events[-1]
        return str(last["code"] if last["type"] == "RUN_ERROR" else last["outcome"]["type"])

    @property
    def message(self) -> str:
        """What its error says."""
        return str(self.events[-1]["message"])

    @property
    def kinds(self) -> list[str]:
        """The types of the last run's events."""
        return [event["type"] for event in self.events]

    @property
    def said(self) -> str:
        """The text of the last run."""
        return "".join(e["delta"] for e in self.events if e["type"] == "TEXT_MESSAGE_CONTENT")

    async def send(self, **members: Any) -> str:
        """Send an input as it is; gives how the run ended."""
        await self._send(**members)
        return self.ending


@contextlib.asynccontextmanager
async def before(
    upstream: Upstream,
    store: str | Store = "memory:",
    settings: Settings | None = None,
    **options: Any,
) -> AsyncIterator[Talk]:
    """A conversation with a bridge before the upstream."""
    async with serve(upstream.app(), lifespan="off") as base:
        if options.pop("with_stop", False):
            options["stop_url"] = f"{base}/stop/{{threadId}}"
        bridge = Bridge(store, settings=settings)
        bridge.add("agent", AguiAdapter(f"{base}/agent", **options))
        async with bridge.lifespan():
            yield Talk(bridge, "agent")
