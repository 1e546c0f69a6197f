"""Stops and disconnects reach the upstream, and a tool that runs may finish."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from agui_bridge import Principal
from agui_bridge.engine.input.submission import Submission
from agui_bridge.protocol.dialects import parse_input
from tests.adapters.agui.upstream import (
    Talk,
    Upstream,
    before,
    call,
    finished,
    interrupt,
    result,
    started,
    text,
)
from tests.support.agents import eventually
from tests.support.stopped_at_once import StoppedAtOnce

Event = dict[str, Any]


async def until(talk: Talk, kind: str, saying: asyncio.Task[Any]) -> None:
    """Wait until the run that is being carried out has emitted something."""
    await eventually(lambda: kind in talk.kinds or saying.done())
    assert not saying.done()


async def stop(talk: Talk, **options: Any) -> Any:
    return await talk._bridge.stop("agent", talk.thread, **options)


async def test_a_stop_closes_the_upstreams_stream_and_keeps_what_was_said() -> None:
    async def endless(_: Event) -> AsyncIterator[Event]:
        yield started()
        for event in text("Hi.")[:2]:
            yield event
        await asyncio.sleep(60)

    upstream = Upstream(endless, [started(), *text("Again.", "m2"), finished()])
    async with before(upstream) as talk:
        saying = asyncio.create_task(talk.say("go"))
        await until(talk, "TEXT_MESSAGE_CONTENT", saying)
        stopped = await stop(talk)
        assert stopped.status == "success"
        await saying
        assert talk.ending == "cancelled"
        await eventually(lambda: upstream.closed == 1)
        assert await talk.say("more") == "Again."
    assert [m["content"] for m in upstream.bodies[1]["messages"]] == ["go", "Hi.", "more"]


async def test_the_upstream_is_asked_to_stop_and_ends_by_itself() -> None:
    heard = asyncio.Event()

    async def obedient(_: Event) -> AsyncIterator[Event]:
        yield started()
        await heard.wait()
        for event in text("Stopping."):
            yield event
        yield finished({"type": "cancelled"})

    upstream = Upstream(obedient)
    upstream.on_stop = heard.set
    async with before(upstream, with_stop=True) as talk:
        saying = asyncio.create_task(talk.say("go"))
        await eventually(lambda: len(upstream.bodies) == 1)
        await stop(talk)
        assert await saying == "Stopping."
        assert talk.ending == "cancelled"
    assert upstream.stops == [("t", {"force": False})]
    assert upstream.closed == 0


async def test_a_forced_stop_asks_and_does_not_wait() -> None:
    async def stubborn(_: Event) -> AsyncIterator[Event]:
        yield started()
        await asyncio.sleep(60)

    upstream = Upstream(stubborn)
    async with before(upstream, with_stop=True) as talk:
        saying = asyncio.create_task(talk.say("go"))
        await eventually(lambda: len(upstream.bodies) == 1)
        await stop(talk, force=True)
        await saying
        assert talk.ending == "cancelled"
        await eventually(lambda: upstream.closed == 1)
    assert ("t", {"force": True}) in upstream.stops


async def test_a_tool_that_runs_is_not_cut_off_by_a_graceful_stop() -> None:
    go_on = asyncio.Event()

    async def acting(_: Event) -> AsyncIterator[Event]:
        yield started()
        await go_on.wait()
        yield result("deleted")
        await asyncio.sleep(60)

    upstream = Upstream([started(), *call(), finished(interrupt())], acting)
    async with before(upstream) as talk:
        await talk.say("go")
        answering = asyncio.create_task(talk.answer({"approved": True}))
        await eventually(lambda: len(upstream.bodies) == 2)
        stopping = asyncio.create_task(stop(talk))
        await asyncio.sleep(0.1)
        assert not answering.done() and upstream.closed == 0
        go_on.set()
        assert (await stopping).status == "success"
        await answering
        assert [e["content"] for e in talk.events if e["type"] == "TOOL_CALL_RESULT"] == ["deleted"]
        await eventually(lambda: upstream.closed == 1)


async def test_an_approval_that_is_stopped_before_it_is_sent_is_not_sent() -> None:
    asked = [started(), *call(), finished(interrupt())]
    upstream = Upstream(asked, [started(), *text("Again."), finished()])
    async with before(upstream, StoppedAtOnce()) as talk:
        await talk.say("go")
        await talk.answer({"approved": True})
        assert talk.ending == "cancelled"
        (told,) = [e["content"] for e in talk.events if e["type"] == "TOOL_CALL_RESULT"]
        assert "not executed" in told
        assert len(upstream.bodies) == 1
        assert await talk.say("more") == "Again."


async def test_a_client_that_goes_away_ends_the_upstreams_run() -> None:
    async def endless(_: Event) -> AsyncIterator[Event]:
        yield started()
        await asyncio.sleep(60)

    upstream = Upstream(endless)
    async with before(upstream) as talk:
        engine = await talk._bridge.open()
        body = {
            "threadId": "t",
            "runId": "r",
            "messages": [{"id": "u1", "role": "user", "content": "go"}],
        }
        pipe, _ = engine.submit(
            Submission(talk._bridge.agents["agent"], Principal(), parse_input(body))
        )
        await eventually(lambda: len(upstream.bodies) == 1)
        pipe.detach()
        await eventually(lambda: upstream.closed == 1)
