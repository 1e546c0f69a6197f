"""The comments of a silent stream: beside what is told, and never in its way."""

import asyncio
import contextvars
from collections.abc import MutableMapping
from typing import Any

from agui_bridge.engine.input.settings import Settings
from agui_bridge.engine.streaming.clock import SystemClock, Wheels
from agui_bridge.engine.streaming.pipe import Pipe
from agui_bridge.http.stream_response import EventStreamResponse
from agui_bridge.protocol.wire.sse import KEEP_ALIVE
from tests.support.agents import settle
from tests.support.server import PATIENCE

SETTINGS = Settings(keep_alive=0.02, stall_timeout=0.3)
REQUEST: contextvars.ContextVar[str] = contextvars.ContextVar("request", default="none")


class Client:
    """Takes what is sent; a comment only once `takes_comments` is set.

    Attributes:
        taken: the bodies that it took, in their order.
        contexts: for each comment, the request in whose context it was sent.
    """

    def __init__(self, *, takes_comments: bool = True) -> None:
        self.pipe = Pipe()
        self.taken: list[bytes] = []
        self.contexts: list[str] = []
        self.asked = asyncio.Event()
        self.takes_comments = asyncio.Event()
        if takes_comments:
            self.takes_comments.set()

    async def receive(self) -> dict[str, str]:
        await asyncio.Event().wait()
        raise AssertionError("it stays")

    async def send(self, message: MutableMapping[str, Any]) -> None:
        body = message.get("body", b"")
        if body == KEEP_ALIVE:
            self.contexts.append(REQUEST.get())
            self.asked.set()
            await self.takes_comments.wait()
        self.taken.append(body)

    async def stream(self) -> None:
        response = EventStreamResponse(self.pipe, b"first", SETTINGS, Wheels(SystemClock()))
        async with asyncio.timeout(PATIENCE):
            await response({}, self.receive, self.send)


async def test_what_is_told_waits_for_a_comment_that_is_under_way() -> None:
    client = Client(takes_comments=False)
    streaming = asyncio.create_task(client.stream())
    await client.asked.wait()
    client.pipe.write(b"second")
    client.pipe.close()
    await settle()
    assert client.taken == [b"", b"first"]
    client.takes_comments.set()
    await streaming
    assert client.taken == [b"", b"first", KEEP_ALIVE, b"second"]


async def test_a_client_that_takes_no_comment_counts_as_gone() -> None:
    client = Client(takes_comments=False)
    await client.stream()
    assert client.pipe.detached
    assert client.taken == [b"", b"first"]


async def test_a_comment_is_sent_in_the_context_of_its_request() -> None:
    client = Client()
    REQUEST.set("this one")
    streaming = asyncio.create_task(client.stream())
    await client.asked.wait()
    client.pipe.close()
    await streaming
    assert set(client.contexts) == {"this one"}


async def test_a_comment_that_can_not_be_sent_ends_the_stream() -> None:
    client = Client()

    async def send(message: MutableMapping[str, Any]) -> None:
        if message.get("body") == KEEP_ALIVE:
            raise BrokenPipeError

    client.send = send  # type: ignore[method-assign]
    await client.stream()
    assert client.pipe.detached
