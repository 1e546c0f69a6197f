"""Stops and the end: nothing that was said is lost, nothing more is done, and one can go on."""

from __future__ import annotations

import asyncio
import contextlib

from agui_bridge.adapters import Run
from agui_bridge.testing.case import Case
from agui_bridge.testing.check import Table
from agui_bridge.testing.conversation import Conversation, Failed, Stream, expect
from agui_bridge.testing.process import Process

STOPS = Table(needs=("slow",))


@STOPS.check(hint="Yield text as the framework produces it: what an adapter gathers, a stop loses.")
async def text_kept(case: Case) -> None:
    """What was said before a run is cancelled is told at once, and stays in the conversation."""
    async with case.process() as process:
        conversation = process.conversation()
        stream = conversation.begin(case.scenario.slow)
        expect(await stream.until("TEXT_MESSAGE_CONTENT"), "the run ended without a word")
        stopped = await process.stop(conversation, force=True)
        await stream.rest()
        process.expect_ending(stream, "cancelled", of="the stopped run")
    said = [m.get("content") for m in stopped.messages if m["role"] == "assistant"]
    expect(stream.text in said, f"streamed was {stream.text!r}, kept was {said}")


@STOPS.check(hint="Let CancelledError through, and wait for nothing in `finally` without a limit.")
async def cancelled(case: Case) -> None:
    """A run that is cancelled ends at once."""
    async with case.process() as process:
        conversation, stream = await _under_way(case, process)
        await process.stop(conversation, force=True)
        await stream.rest()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(case.scenario.patience / 4):
                await process.watched.runs[0].ended.wait()
        expect(process.watched.runs[0].ended.is_set(), "it goes on after it was cancelled")


@STOPS.check(
    hint="Watch run.stop beside the framework's stream, and return soon after it is set; or "
    "declare stop=False, and be cancelled.",
    declared="stop",
)
async def stop_by_itself(case: Case) -> None:
    """An adapter that declares `stop` ends its run itself when it is asked to."""
    async with case.process() as process:
        conversation, stream = await _under_way(case, process)
        await process.stop(conversation)
        await stream.rest()
        expect(not process.watched.runs[0].cancelled, "it had to be cancelled")
        process.expect_ending(stream, "cancelled", of="the stopped run")


@STOPS.check(
    hint="Release what a run holds in `finally`, also at the framework: a session left locked "
    "refuses the next message."
)
async def after_stop(case: Case) -> None:
    """After a stop the conversation goes on."""
    async with case.process() as process:
        conversation, stream = await _under_way(case, process)
        await process.stop(conversation)
        await stream.rest()
        await process.expect_success(conversation, case.scenario.text)


@STOPS.check(hint="Look at run.stop.requested before each tool.", needs=("pause",), declared="stop")
async def stop_acting(case: Case) -> None:
    """An adapter that declares `stop` begins nothing more once it was asked to stop."""

    def ask_to_stop(run: Run) -> None:
        if run.resume is not None:
            run.stop.request()

    async with case.paused(before=ask_to_stop) as paused:
        await paused.agree()
        await paused.expect_nothing_done("stopped")


@STOPS.check(
    hint="Read run.closed: its batches were never answered. Release the framework's own pauses.",
    needs=("pause",),
)
async def stopped_pause(case: Case) -> None:
    """A pause that was stopped stays closed: a late yes does nothing, a new message is heard."""
    async with case.paused() as paused:
        await paused.process.stop(paused.conversation)
        await paused.agree()
        await paused.process.expect_success(paused.conversation, case.scenario.text)
        done = await paused.done()
    yes = (case.scenario.yes, case.scenario.arrives)
    carried = [found for found in done if case.scenario.approval or found in yes]
    expect(not carried, f"stopped, and still it carried out {carried}")


@STOPS.check(hint="Forget what aclose() has closed, and don't count on having run.", needs=())
async def close(case: Case) -> None:
    """An adapter can be closed before it was used, and twice."""
    unused = case.scenario.adapter()
    async with case.process() as process:
        await process.conversation().say(case.scenario.text)
    for adapter, how in ((unused, "unused"), (unused, "twice"), (process.watched, "twice")):
        try:
            await adapter.aclose()
        except Exception as error:
            raise Failed(f"closed {how} it raised {error!r}") from error


async def _under_way(case: Case, process: Process) -> tuple[Conversation, Stream]:
    """A run in the middle of its work: it said something, or had the time to."""
    conversation = process.conversation()
    stream = conversation.begin(case.scenario.slow)
    async with asyncio.timeout(case.scenario.patience):
        await process.watched.begun.wait()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(case.scenario.patience / 10):
            await stream.until("TEXT_MESSAGE_CONTENT")
    return conversation, stream
