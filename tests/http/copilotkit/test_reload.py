"""`connect` over real sockets: what a page that was reloaded is shown, to the end of the run."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from ag_ui.core import (
    ReasoningEndEvent,
    ReasoningMessageContentEvent,
    ReasoningMessageEndEvent,
    ReasoningMessageStartEvent,
    ReasoningStartEvent,
    StepFinishedEvent,
    StepStartedEvent,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallStartEvent,
)

from agui_bridge.adapters import Run, RunItem
from tests.http.conftest import Serving
from tests.http.copilotkit.routes import Client, Way
from tests.support.agents import Answering, Scripted, approval, result, text_events
from tests.support.folds import fold

Event = dict[str, Any]

pytestmark = pytest.mark.parametrize("way", ["rest", "single"])


def shown(events: list[Event]) -> list[Event]:
    """The conversation that a client has, which had nothing before."""
    return fold(*events).messages


async def test_an_unknown_thread_has_an_empty_stream(serving: Serving, way: Way) -> None:
    async with (
        serving() as site,
        Client(site, way).open("connect", thread="new") as stream,
    ):
        assert not await stream.step()
        assert stream.raw == b""


async def test_an_idle_thread_is_shown_twice_alike(serving: Serving, way: Way) -> None:
    async with serving(Scripted(["Hello."])) as site:
        client = Client(site, way)
        await client.run("hi", state={"seen": 1})
        first, second = await asyncio.gather(client.connect(), client.connect())

    for stream in (first, second):
        assert stream.kinds == [
            "RUN_STARTED",
            "STATE_SNAPSHOT",
            "MESSAGES_SNAPSHOT",
            "RUN_FINISHED",
        ]
        assert stream.events[0]["runId"] == "connect-run"
        assert [m["content"] for m in shown(stream.events)] == ["hi", "Hello."]
        assert stream.events[1]["snapshot"] == {"seen": 1}
        assert stream.events[-1]["outcome"] == {"type": "success"}


async def test_an_open_question_is_shown_and_can_be_answered(serving: Serving, way: Way) -> None:
    agent = Answering(approval())
    async with serving(agent) as site:
        client = Client(site, way)
        before = await client.run("go")
        page = await client.connect()
        interrupts = page.events[-1]["outcome"]["interrupts"]
        assert page.events[-1]["outcome"] == before.events[-1]["outcome"]
        done = await client.run(
            run="connect-run",
            resume=[
                {
                    "interruptId": interrupts[0]["id"],
                    "status": "resolved",
                    "payload": {"approved": True},
                }
            ],
        )

    assert done.events[-1]["outcome"] == {"type": "success"}
    assert len(agent.executed) == 1


async def test_a_running_run_is_followed_live_by_every_page(serving: Serving, way: Way) -> None:
    go, there = asyncio.Event(), asyncio.Event()

    async def script(run: Run) -> AsyncIterator[RunItem]:
        yield "one "
        yield "two "
        await there.wait()
        yield "three "
        await go.wait()
        yield "four"

    async with serving(Scripted(script)) as site:
        client = Client(site, way)
        async with client.open("run", "go") as first:
            await first.until("TEXT_MESSAGE_CONTENT", 2)
        async with client.open("connect", run="a") as a, client.open("connect", run="b") as b:
            for page in (a, b):
                assert (await page.until("TEXT_MESSAGE_CONTENT"))["delta"] == "one two "
            there.set()
            for page in (a, b):
                # Before the end: it is live.
                assert (await page.until("TEXT_MESSAGE_CONTENT", 2))["delta"] == "three "
            go.set()
            for page, run in ((a, "a"), (b, "b")):
                await page.rest()
                assert page.events[0]["runId"] == page.events[-1]["runId"] == run
                assert [m["content"] for m in shown(page.events)] == ["go", "one two three four"]


@pytest.mark.parametrize("version", [None, "1.0"])
async def test_whatever_is_open_when_a_page_comes_is_whole_in_the_end(
    serving: Serving, way: Way, version: str | None
) -> None:
    turns = asyncio.Semaphore(0)
    items: list[RunItem] = [
        StepStartedEvent(step_name="think"),
        ReasoningStartEvent(message_id="s"),
        ReasoningMessageStartEvent(message_id="r", role="reasoning"),
        ReasoningMessageContentEvent(message_id="r", delta="Let me "),
        ReasoningMessageContentEvent(message_id="r", delta="see."),
        ReasoningMessageEndEvent(message_id="r"),
        ReasoningEndEvent(message_id="s"),
        *text_events("m", "I ", "look.", end=True),
        ToolCallStartEvent(tool_call_id="c", tool_call_name="look", parent_message_id="m"),
        ToolCallArgsEvent(tool_call_id="c", delta='{"at":'),
        ToolCallArgsEvent(tool_call_id="c", delta='"it"}'),
        ToolCallEndEvent(tool_call_id="c"),
        result("c", "seen"),
        StepFinishedEvent(step_name="think"),
        "Done.",
    ]

    async def script(run: Run) -> AsyncIterator[RunItem]:
        for item in items:
            await turns.acquire()
            yield item

    async with serving(Scripted(script)) as site:
        client = Client(site, way)
        async with client.open("run", "go") as first:
            await first.until("RUN_STARTED")
            pages, conversations = [], []
            for number in range(len(items)):
                page = client.open("connect", run=f"page-{number}", protocolVersion=version)
                stream = await page.__aenter__()
                await stream.until("MESSAGES_SNAPSHOT")
                pages.append((page, stream))
                turns.release()
                await asyncio.sleep(0.02)
            await first.rest()
            for page, stream in pages:
                # Every stream is judged: what it never saw START is an error.
                await stream.rest()
                conversations.append(shown(stream.events))
                await page.__aexit__(None, None, None)
        thread = (await site.http.get("/agents/agent/threads/t")).json()

    assert [m["role"] for m in thread["messages"]] == [
        "user",
        "reasoning",
        "assistant",
        "tool",
        "assistant",
    ]
    for conversation in conversations:
        assert conversation == thread["messages"]


async def test_a_page_that_follows_to_a_pause_gets_the_question(serving: Serving, way: Way) -> None:
    go = asyncio.Event()

    async def script(run: Run) -> AsyncIterator[RunItem]:
        yield "I will ask. "
        await go.wait()
        async for item in Answering(approval()).run(run):
            yield item

    async with serving(Scripted(script)) as site:
        client = Client(site, way)
        async with client.open("run", "go") as first:
            await first.until("TEXT_MESSAGE_CONTENT")
        async with client.open("connect", run="b") as page:
            await page.until("TEXT_MESSAGE_CONTENT")
            go.set()
            await page.rest()
        again = await client.connect()

    assert page.events[-1]["outcome"]["interrupts"]
    assert page.events[-1]["outcome"] == again.events[-1]["outcome"]


async def test_a_stop_ends_every_page_that_follows(serving: Serving, way: Way) -> None:
    async def script(run: Run) -> AsyncIterator[RunItem]:
        yield "so far"
        await asyncio.Event().wait()

    async with serving(Scripted(script)) as site:
        client = Client(site, way)
        async with client.open("run", "go") as first:
            await first.until("TEXT_MESSAGE_CONTENT")
            async with (
                client.open("connect", run="b") as old,
                client.open("connect", run="c", protocolVersion="1.0") as new,
            ):
                for page in (old, new):
                    await page.until("TEXT_MESSAGE_CONTENT")
                assert await client.stop() == {"stopped": True}
                for page in (first, old, new):
                    await page.rest()

    # Each in the shape of its own client.
    assert old.events[-1]["result"] == {"stopReason": "USER_INTERRUPTED"}
    assert new.events[-1]["outcome"] == {"type": "cancelled"}


async def test_a_page_that_leaves_disturbs_neither_the_run_nor_the_others(
    serving: Serving, way: Way
) -> None:
    go = asyncio.Event()

    async def script(run: Run) -> AsyncIterator[RunItem]:
        yield "so far"
        await go.wait()
        yield ", and on"

    async with serving(Scripted(script), max_runs_per_scope=2) as site:
        client = Client(site, way)
        async with client.open("run", "go") as first:
            await first.until("TEXT_MESSAGE_CONTENT")
            for _ in range(5):  # more than may be there at once
                async with client.open("connect") as page:
                    await page.until("TEXT_MESSAGE_CONTENT")
                await asyncio.sleep(0.05)
            async with client.open("connect") as page:
                await page.until("TEXT_MESSAGE_CONTENT")
                go.set()
                await page.rest()
            await first.rest()

    assert page.events[-1]["outcome"] == first.events[-1]["outcome"] == {"type": "success"}


async def test_too_many_readers_of_a_scope_are_refused(serving: Serving, way: Way) -> None:
    async def script(run: Run) -> AsyncIterator[RunItem]:
        yield "so far"
        await asyncio.Event().wait()

    async with serving(Scripted(script), max_runs_per_scope=1) as site:
        client = Client(site, way)
        async with client.open("run", "go") as first:
            await first.until("TEXT_MESSAGE_CONTENT")
            async with client.open("connect") as page:
                await page.until("TEXT_MESSAGE_CONTENT")
                with pytest.raises(AssertionError, match="TOO_MANY_RUNS"):
                    async with client.open("connect"):
                        pass
            await client.stop()
            await first.rest()
