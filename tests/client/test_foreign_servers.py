"""The client against servers of other makes, and broken ones: raw bytes over a socket."""

from __future__ import annotations

import asyncio

import httpx
import pytest

from agui_bridge.client import BrokenStream, Client, HttpError, open_exchange
from tests.client.raw_server import raw_server, sse
from tests.support.server import PATIENCE

STARTED = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
FINISHED = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}
START = {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"}
TEXT = {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "hi"}
END = {"type": "TEXT_MESSAGE_END", "messageId": "m"}


async def test_it_declares_its_version_and_sends_the_conversation() -> None:
    body = sse(STARTED, START, TEXT, END, FINISHED)
    async with raw_server(body) as server, Client(server.url, headers={"x-key": "1"}) as client:
        await client.complete("one", tools=[{"name": "f", "description": "", "parameters": {}}])
        await client.complete("two", forwarded_props={"a": 1})
    first, second = server.bodies
    assert first["protocolVersion"] == "1.1"
    assert [tool["name"] for tool in first["tools"]] == ["f"]
    assert [m["role"] for m in second["messages"]] == ["user", "assistant", "user"]
    assert (second["threadId"], second["forwardedProps"]) == (first["threadId"], {"a": 1})
    assert second["runId"] != first["runId"]
    assert "resume" not in first
    assert "x-key: 1" in server.heads[0].lower()


async def test_chunks_nulls_and_done_are_understood_and_unknown_events_passed_over(
    caplog: pytest.LogCaptureFixture,
) -> None:
    chunk = {"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", "delta": "a", "rawEvent": None}
    call = {"type": "TOOL_CALL_CHUNK", "toolCallId": "c", "toolCallName": "f", "delta": "{}"}
    news = {"type": "SOMETHING_NEW", "x": None}
    body = sse(STARTED, chunk, news, call, {**FINISHED, "outcome": None}) + b"data: [DONE]\n\n"
    async with raw_server(body) as server, Client(server.url) as client:
        events = [event async for event in client.run("go")]
    assert [event["type"] for event in events if event["type"] == "SOMETHING_NEW"] == []
    assert "SOMETHING_NEW is no event of AG-UI's" in caplog.text
    assert [event["type"] for event in events if "CHUNK" in event["type"]] == []
    assert client.messages[1]["content"] == "a"
    assert client.messages[2]["toolCalls"][0]["function"] == {"name": "f", "arguments": "{}"}
    assert client.end is not None
    assert client.end.outcome == "success"


async def test_a_patch_that_does_not_fit_is_logged_and_the_next_snapshot_mends_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    patch = {"type": "STATE_DELTA", "delta": [{"op": "remove", "path": "/a"}]}
    body = sse(STARTED, patch, {"type": "STATE_SNAPSHOT", "snapshot": {"b": 1}}, FINISHED)
    async with raw_server(body) as server, Client(server.url) as client:
        await client.complete("go")
    assert client.state == {"b": 1}
    assert "STATE_DELTA does not fit" in caplog.text


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (sse(STARTED, START, TEXT), "ended before the run did"),
        (sse(STARTED) + b"data: {", "in the middle of an event"),
        (sse(STARTED) + b"data: hello\n\n", "no AG-UI event"),
        (sse(STARTED, {"type": "TEXT_MESSAGE_START"}), "messageId"),
        (sse(STARTED, {"type": "TEXT_MESSAGE_CHUNK", "delta": "a"}), "messageId"),
        (b"", "ended before the run did"),
    ],
)
async def test_a_broken_stream_is_told(body: bytes, said: str) -> None:
    async with raw_server(body) as server, Client(server.url) as client:
        with pytest.raises(BrokenStream, match=said):
            await client.complete("go")
    # It may have been heard: the message stays.
    assert client.messages[0]["content"] == "go"


@pytest.mark.parametrize(
    ("status", "kind", "body", "code", "said"),
    [
        ("200 OK", "text/html", b"<h1>It works</h1>", None, "not a stream"),
        ("502 Bad Gateway", "text/html", b"<h1>oh</h1>", None, "<h1>oh</h1>"),
        ("409 Conflict", "application/json", b'{"detail":"busy"}', None, "busy"),
        (
            "422 Unprocessable Content",
            "application/json",
            b'{"detail":[{"type":"missing","loc":["body","runId"],"msg":"Field required"},'
            b'{"type":"missing","loc":["body","messages",0,"id"],"msg":"Field required"}]}',
            None,
            "422: body.runId: Field required; body.messages.0.id: Field required$",
        ),
        ("422 No", "application/json", b'{"detail":[1,{"loc":[]}]}', None, r'422: {"detail":'),
        (
            "429 Too Many",
            "application/json",
            b'{"error":{"code":"TOO_MANY_RUNS","message":"wait"}}',
            "TOO_MANY_RUNS",
            "wait",
        ),
    ],
)
async def test_an_answer_that_is_no_stream_is_an_http_error(
    status: str, kind: str, body: bytes, code: str | None, said: str
) -> None:
    async with raw_server(body, status=status, kind=kind) as server, Client(server.url) as client:
        with pytest.raises(HttpError, match=said) as error:
            await client.complete("go")
    assert (error.value.status, error.value.code) == (int(status.split()[0]), code)
    assert client.messages == []


async def test_stop_closes_the_connection_of_a_server_that_knows_no_other_way() -> None:
    async with (
        raw_server(sse(STARTED, START, TEXT), hold=True) as server,
        Client(server.url) as client,
        asyncio.timeout(PATIENCE),
    ):
        async for event in client.run("go"):
            if event["type"] == "TEXT_MESSAGE_CONTENT":
                await client.stop()
        await server.left.wait()
    assert client.end is not None
    assert client.end.outcome == "cancelled"
    assert client.messages[-1]["content"] == "hi"


async def test_stop_gives_up_on_a_server_that_says_nothing() -> None:
    heard, left = asyncio.Event(), asyncio.Event()

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        heard.set()
        await reader.read()
        left.set()
        writer.close()

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    async with server, Client(url) as client, asyncio.timeout(PATIENCE):
        run = asyncio.create_task(client.complete("go"))
        await heard.wait()
        await client.stop()
        assert (await run).outcome == "cancelled"
        await left.wait()
    assert [message["content"] for message in client.messages] == ["go"]


async def test_a_message_that_a_server_may_have_heard_stays_in_the_conversation() -> None:
    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(hang_up, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    async with server, Client(url) as client, asyncio.timeout(PATIENCE):
        with pytest.raises(BrokenStream, match="whether it acted is unknown"):
            await client.complete("go")
    assert [message["content"] for message in client.messages] == ["go"]


async def test_the_layer_below_gives_status_headers_and_the_raw_stream() -> None:
    body = b": comment\n\nid: 7\ndata: 1\n\n"
    async with raw_server(body) as server, httpx.AsyncClient() as http:
        async with open_exchange(http, server.url, {"a": 1}) as exchange:
            assert (exchange.status, exchange.is_stream) == (200, True)
            assert exchange.headers["content-type"] == "text/event-stream"
            assert b"".join([chunk async for chunk in exchange.chunks()]) == body
        async with open_exchange(http, server.url, {"a": 1}) as exchange:
            frames = [frame async for frame in exchange.frames()]
            assert [(frame.data, frame.id) for frame in frames] == [("1", "7")]
        async with open_exchange(http, server.url, {"a": 1}) as exchange:
            with pytest.raises(BrokenStream):
                [event async for event in exchange.events()]
    assert server.bodies == [{"a": 1}] * 3
