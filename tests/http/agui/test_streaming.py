"""Connections that break, stall or are slow, over real sockets."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from typing import Any

import pytest

from agui_bridge.adapters import Run, RunItem
from agui_bridge.engine.input.settings import Settings
from agui_bridge.engine.streaming.clock import SystemClock, Wheels
from agui_bridge.engine.streaming.pipe import Pipe
from agui_bridge.http.stream_response import EventStreamResponse
from agui_bridge.protocol.threads.records import ThreadKey
from tests.http.conftest import Serving, Site
from tests.support.agents import Answering, Scripted, approval, eventually
from tests.support.server import PATIENCE, open_stream, run_input

KEY = ThreadKey("default", "agent", "t")


async def ended(site: Site) -> str:
    """How the thread's run ended, once it has."""
    async with asyncio.timeout(PATIENCE):
        while True:
            record = (await site.store.load(KEY)).record
            if record is not None and record.run is None and record.ended is not None:
                return record.ended.outcome
            await asyncio.sleep(0.01)


class Endless(Scripted):
    """Streams much text and counts what it has yielded."""

    def __init__(self, pieces: int = 20_000, size: int = 4096) -> None:
        super().__init__(self._script)
        self.pieces, self.size, self.yielded = pieces, size, 0

    async def _script(self, run: Run) -> AsyncIterator[RunItem]:
        for _ in range(self.pieces):
            self.yielded += 1
            yield "x" * self.size


@pytest.mark.parametrize("policy, outcome", [("stop", "stopped"), ("continue", "finished")])
async def test_a_connection_that_breaks_ends_the_run_by_policy(
    serving: Serving, policy: str, outcome: str
) -> None:
    go = asyncio.Event()

    async def script(run: Run) -> AsyncIterator[RunItem]:
        yield "so far"
        await go.wait()
        yield ", and on"

    async with serving(Scripted(script), on_disconnect=policy) as site:
        async with open_stream(site.base, **run_input("go")) as stream:
            await stream.until("TEXT_MESSAGE_CONTENT")
        if policy == "continue":
            await asyncio.sleep(0.05)
            go.set()
        assert await ended(site) == outcome
        shown = (await site.http.get("/agents/agent/threads/t")).json()
        text = "so far" if policy == "stop" else "so far, and on"
        assert shown["messages"][-1]["content"] == text


async def test_a_message_right_after_an_abort_is_not_refused(serving: Serving) -> None:
    finish = asyncio.Event()

    async def slow(run: Run) -> AsyncIterator[RunItem]:
        yield "so far"
        await run.stop
        await finish.wait()

    async with serving(Scripted(slow, ["next"], stop=True)) as site:
        async with open_stream(site.base, **run_input("go")) as stream:
            await stream.until("TEXT_MESSAGE_CONTENT")

        async def stopping() -> bool:
            record = (await site.store.load(KEY)).record
            return record is not None and record.stop_requested is not None

        await eventually(stopping)
        following = asyncio.create_task(site.run("more"))
        await asyncio.sleep(0.05)
        finish.set()
        assert (await following).events[-1]["outcome"] == {"type": "success"}


async def test_a_connection_that_breaks_does_not_stop_an_approved_call(serving: Serving) -> None:
    agent, release = Answering(approval()), asyncio.Event()
    agent.before_tool = release.wait
    async with serving(agent) as site:
        asked = await site.ask()
        resume = [
            {"interruptId": i["id"], "status": "resolved", "payload": {"approved": True}}
            for i in asked
        ]
        async with open_stream(site.base, **run_input(None, resume=resume)) as stream:
            await stream.until("TEXT_MESSAGE_CONTENT")
        await asyncio.sleep(0.05)
        assert not agent.runs[-1].stop.requested
        release.set()
        # The agent may have been done before the stop came.
        assert await ended(site) in ("stopped", "finished")
        assert len(agent.executed) == 1
        replayed = await site.run(None, resume=resume)
        assert replayed.events[-1]["outcome"]["type"] in ("cancelled", "success")
        messages = replayed.events[2]["messages"]
        assert [m["content"] for m in messages if m["role"] == "tool"] == ["done"]


async def unread(
    site: Site, then: Callable[[asyncio.StreamReader], Awaitable[None]], before: bytes = b""
) -> None:
    """Begin a run on a socket that takes next to nothing by itself, after another request."""
    host, port = site.base.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port), limit=1024)
    body = json.dumps(run_input("go")).encode()
    head = (
        "POST /agents/agent HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
        f"content-length: {len(body)}\r\n\r\n"
    )
    writer.write(before + head.encode() + body)
    await writer.drain()
    try:
        await then(reader)
    finally:
        writer.close()


async def test_a_client_that_reads_nothing_holds_the_agent_back_and_not_the_memory(
    serving: Serving,
) -> None:
    agent = Endless()

    async def watch(reader: asyncio.StreamReader) -> None:
        before = -1
        async with asyncio.timeout(PATIENCE):
            while agent.yielded == 0 or agent.yielded != before:
                before = agent.yielded
                await asyncio.sleep(0.2)
        # What is on the way fits the sockets' buffers and the pipe: a fraction of the whole.
        assert agent.yielded * agent.size < 20_000_000 < agent.pieces * agent.size

    async with serving(agent) as site:
        await unread(site, watch)
        assert await ended(site) == "stopped"


async def test_a_client_that_takes_nothing_for_too_long_counts_as_gone(serving: Serving) -> None:
    agent = Endless()

    async def stay(reader: asyncio.StreamReader) -> None:
        assert await ended(site) == "stopped"

    async with serving(agent, stall_timeout=0.3) as site:
        await unread(site, stay)
        assert agent.yielded < agent.pieces


async def test_a_client_that_leaves_an_earlier_answer_unread_counts_as_gone_too(
    serving: Serving,
) -> None:
    async def script(run: Run) -> AsyncIterator[RunItem]:
        yield "so far"
        if run.text == "go":
            await asyncio.Event().wait()

    before = b"GET /agents/agent/threads/large HTTP/1.1\r\nhost: localhost\r\n\r\n"

    async def taken() -> bool:
        body = run_input("again", thread="other")
        return (await site.http.post("/agents/agent", json=body)).status_code == 200

    async def stay(reader: asyncio.StreamReader) -> None:
        assert await ended(site) == "stopped"
        await eventually(taken)

    async with serving(Scripted(script), stall_timeout=0.3, max_runs_per_scope=1) as site:
        await site.run("fill", thread="large", state={"x": "y" * 7_900_000})
        await unread(site, stay, before)


async def test_a_slow_client_gets_everything_in_order(serving: Serving) -> None:
    pieces = 3000

    async def script(run: Run) -> AsyncIterator[RunItem]:
        for number in range(pieces):
            yield f"{number:05d}" + "x" * 1000

    async with (
        serving(Scripted(script), pipe_events=20) as site,
        open_stream(site.base, **run_input("go")) as stream,
    ):
        await stream.rest()
        deltas = [e["delta"] for e in stream.events if e["type"] == "TEXT_MESSAGE_CONTENT"]
        assert [int(delta[:5]) for delta in deltas] == list(range(pieces))


async def test_two_streams_of_two_threads_do_not_mix(serving: Serving) -> None:
    async def script(run: Run) -> AsyncIterator[RunItem]:
        for _ in range(50):
            yield f"{run.text} "
            await asyncio.sleep(0)

    async with serving(Scripted(script)) as site:
        streams = await asyncio.gather(
            *(site.run(name, thread=name, run=name) for name in ("a", "b", "c"))
        )
        for name, stream in zip("abc", streams, strict=True):
            text = "".join(e["delta"] for e in stream.events if e["type"] == "TEXT_MESSAGE_CONTENT")
            assert text == f"{name} " * 50
            assert stream.events[0]["runId"] == stream.events[-1]["threadId"] == name


async def test_a_client_that_goes_away_with_the_last_byte_is_no_error(
    caplog: pytest.LogCaptureFixture,
) -> None:
    gone = asyncio.get_running_loop().create_future()

    async def receive() -> dict[str, str]:
        await gone
        return {"type": "http.disconnect"}

    async def send(message: MutableMapping[str, Any]) -> None:
        if message.get("more_body") is False:
            gone.set_result(None)
            await asyncio.sleep(0)  # until the loop has seen it, and not told yet

    pipe = Pipe()
    pipe.close()
    wheels = Wheels(SystemClock())
    response = EventStreamResponse(pipe, b"data: 1\n\n", Settings(), wheels)
    with caplog.at_level(logging.ERROR, "asyncio"):
        await response({}, receive, send)
        await asyncio.sleep(0)
    # What a server says of its own start and end is not meant.
    assert [r for r in caplog.records if r.levelno > logging.INFO] == []
