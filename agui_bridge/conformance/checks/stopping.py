"""Stops on purpose: while text streams, while people are asked, and after the end."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx

from agui_bridge.conformance.check import Table
from agui_bridge.conformance.config import filled
from agui_bridge.conformance.exchange import Answer
from agui_bridge.conformance.lab import Lab, Thread
from agui_bridge.conformance.verdicts import Blocked, expect, require

_CANCELLED = "AG-UI 1.0, lifecycle: the cancelled outcome"

STOPPING = Table("stop", source=_CANCELLED)


async def _stop(thread: Thread) -> httpx.Response:
    lab = thread.lab
    if lab.config.stop is None:
        raise Blocked("the configuration does not say how a run is stopped")
    names = {**lab.names, "thread": thread.id}
    url, body = (filled(value, **names) for value in (lab.config.stop.url, lab.config.stop.body))
    return await lab.client.post(url, json=body, headers=lab.config.headers)


async def _stopped(thread: Thread, body: dict[str, Any], after: str, count: int) -> Answer:
    """Run, and stop once there are `count` events of a type; gives the stream to its end."""
    stopping: asyncio.Task[httpx.Response] | None = None
    async with thread.open(body) as (answer, pieces):
        async for _ in pieces:
            if stopping is None and len(answer.of(after)) >= count:
                stopping = asyncio.create_task(_stop(thread))
    if stopping is None:
        raise Blocked(f"there was nothing to stop: {answer.told()}")
    await stopping
    thread.take_in(answer)
    return answer


async def _stopped_while_streaming(thread: Thread) -> Answer:
    body = thread.input(text=thread.prompt("slow"))
    return await _stopped(thread, body, "TEXT_MESSAGE_CONTENT", 3)


@STOPPING.check(
    fix="Close what is open, then RUN_FINISHED {outcome: {type: cancelled}}.",
    needs=("slow", "stop"),
)
async def outcome(lab: Lab) -> None:
    """A stopped run ends with the cancelled outcome, everything closed; never with success."""
    answer = await _stopped_while_streaming(lab.thread())
    expect(answer.outcome == "cancelled", f"it ended with {answer.told()}")


@STOPPING.check(
    source=f"{_CANCELLED}; the next run sees what was said",
    fix="Store the partial message when a run is stopped.",
    needs=("slow", "stop", "approval", "memory"),
    severity="should",
)
async def partial_text(lab: Lab) -> None:
    """The text that was streamed before a stop is part of the conversation afterwards."""
    thread = lab.thread()
    answer = await _stopped_while_streaming(thread)
    # A client that knows nothing but its new message is told what the server has.
    later = await Thread(lab, thread.id, thread.marker).say("approval")
    snapshots = [s["messages"] for s in later.of("MESSAGES_SNAPSHOT")]
    require(snapshots, "the next run has no MESSAGES_SNAPSHOT to see it in")
    texts = [m.get("content") for m in snapshots[-1] if m.get("role") == "assistant"]
    expect(answer.text in texts, f"{answer.text!r} is not among {texts}")


@STOPPING.check(
    source=f"{_CANCELLED}; the thread goes on with a new run",
    fix="Release the thread when a run is stopped.",
    needs=("slow", "stop", "text"),
)
async def then_message(lab: Lab) -> None:
    """After a stop the thread takes the next message."""
    thread = lab.thread()
    await _stopped_while_streaming(thread)
    (await thread.say("text")).expect_success("the next message")


@STOPPING.check(
    source=f"{_CANCELLED}; what was cancelled is not executed",
    fix="Close open interrupts on stop, and refuse later answers to them.",
    needs=("approval", "stop", "executions"),
)
async def paused(lab: Lab) -> None:
    """A stop while people are asked closes the questions: a late approval executes nothing."""
    thread = await lab.paused()
    await _stop(thread)
    answer = await thread.answer("approve")
    await thread.expect_no_execution("executed after the stop")
    expect(not answer.succeeded, "the late approval was reported as success")


@STOPPING.check(
    source=f"{_CANCELLED}; a stop races the natural end",
    fix="Answer that there is nothing to stop; never let the next run inherit the stop.",
    needs=("text", "stop"),
)
async def after_the_end(lab: Lab) -> None:
    """A stop after the run has ended is answered, and harms nothing."""
    thread = lab.thread()
    await thread.say("text")
    response = await _stop(thread)
    expect(response.status_code < 500, f"the stop was answered with HTTP {response.status_code}")
    (await thread.say("text")).expect_success("the next message")


@STOPPING.check(
    source=f"{_CANCELLED}; a replay of the same answer is safe",
    fix="Keep the receipt of the answer when the run that carries it out is stopped.",
    needs=("approval", "stop", "executions"),
)
async def resumed(lab: Lab) -> None:
    """A stop during a resumed run does not execute an approved call twice, and loses no result."""
    thread = await lab.paused()
    await _stopped(thread, thread.input(resume=thread.entries("approve")), "RUN_STARTED", 1)
    await thread.answer("approve", messages=thread.shown)
    await thread.expect_no_second_execution()
