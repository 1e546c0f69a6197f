"""What was approved is carried out once: after a restart, in a race, whatever comes later."""

from __future__ import annotations

import asyncio

from agui_bridge.adapters import Run
from agui_bridge.errors import Fenced
from agui_bridge.testing.case import Case
from agui_bridge.testing.check import Table
from agui_bridge.testing.conversation import expect

# --- work that outlasts its run: what it asks later is asked on the idle thread ---

LATER = Table()


@LATER.check(
    hint="Note in run.left what finds the work, say in look() whether it asks, yield its Pause in "
    "the run with run.looks, and set run.left to None once nothing goes on.",
    needs=("later",),
    declared="looks",
    optional=True,
)
async def later_question(case: Case) -> None:
    """What work asks once its run is over is asked by one process, and carried out once."""
    scenario = case.scenario
    async with case.process() as begun:
        conversation = begun.conversation()
        message = scenario.later or ""
        await begun.expect_success(conversation, message, of=f"the run of {message!r}")
        noted = begun.watched.runs[-1].run.left
    expect(noted is not None, "the run has ended, and left nothing in run.left")
    async with case.process() as process, case.process() as twin:
        paused = await case.asked_later(conversation.thread, process, twin)
        await paused.expect_nothing_done("nobody has approved it")
        both = [await paused.within(each) for each in (process, twin)]
        await asyncio.gather(*(each.answer({"approved": True}) for each in both))
        done = await paused.done()
        asked = [noted for each in (process, twin) for noted in each.watched.runs if noted.pause]
    expect(done == paused.shown, f"shown was {paused.shown}, executed was {done}")
    expect(len(asked) == 1, f"it was asked {len(asked)} times")


ONCE = Table(needs=("pause",))


@ONCE.check(
    hint="Keep nothing about a pause in the adapter: all that the resume needs goes into the "
    "continuation."
)
async def restart(case: Case) -> None:
    """A pause survives the end of its process: another one carries the answer out, once."""
    async with case.paused() as paused:
        pass
    if case.scenario.restart is not None:
        await case.scenario.restart()
    async with case.process() as other:
        again = await paused.within(other)
        await again.agree(of="the run after the restart")
        done = await again.done()
    expect(len(done) == 1, f"after the restart it carried out {done}")


@ONCE.check(
    hint="Carry out what run.resume decides, and nothing because of anything else: switch off "
    "what the framework resumes by itself."
)
async def once(case: Case) -> None:
    """An answer is carried out once: not again if it is sent again, nor by the next message."""
    async with case.paused() as paused:
        await paused.agree()
        await paused.agree()
        await paused.conversation.say(case.scenario.text)
        done = await paused.done()
    expect(len(done) == 1, f"it carried out {done}")


@ONCE.check(
    hint="Execute only within run(): an adapter that listens to its framework besides hears of "
    "an approval in every process."
)
async def race(case: Case) -> None:
    """Of the same answer in two processes at once, no more than one is carried out."""
    async with case.paused() as paused, case.process() as other:
        twin = await paused.within(other)
        streams = await asyncio.gather(paused.agree(), twin.agree())
        endings = [stream.ending for stream in streams]
        done = await paused.done()
    expect(len(done) <= 1, f"it was carried out {len(done)} times; the streams ended {endings}")


@ONCE.check(
    hint="Read every kind of message in run.messages, tool results too; leave no session locked."
)
async def next_message(case: Case) -> None:
    """Once a pause was answered, the conversation goes on."""
    async with case.paused() as paused:
        await paused.agree()
        await paused.process.expect_success(paused.conversation, case.scenario.text)


@ONCE.check(
    hint="Keep nothing of one run in the adapter; name the framework's own session by thread_id.",
    needs=("approval",),
    declared="approve",
)
async def threads(case: Case) -> None:
    """Of two threads that wait at once, each gets its own answer."""
    async with case.process() as process:
        first, second = [
            await case.pause(process, process.conversation(), "approval") for _ in range(2)
        ]
        answered = await first.answer({"approved": True})
        done = await second.done()
    expect(done == first.shown[:1], f"of the first it executed {done}")
    own, others = ({ask["toolCallId"] for ask in it.asked.asks} for it in (first, second))
    told = {e["toolCallId"] for e in answered.events if e["type"] == "TOOL_CALL_RESULT"}
    foreign = sorted(told & (others - own))
    expect(not foreign, f"the first thread got results of the second one's {foreign}")


@ONCE.check(
    hint="Raise NotDelivered when the framework was not reached, and only then.",
    needs=("pause", "unreachable"),
)
async def undelivered(case: Case) -> None:
    """An answer that did not reach the framework can be sent again."""
    async with case.paused() as paused:
        async with case.process(case.scenario.unreachable) as cut_off:
            failed = await (await paused.within(cut_off)).agree()
            cut_off.expect_ending(failed, "UPSTREAM_ERROR", of="the run that reached nobody")
            asked, still = ([ask["id"] for ask in s.asks] for s in (paused.asked, failed))
            expect(still == asked, "the question is not open any more")
        await paused.agree(of="the second try")
        done = await paused.done()
    expect(len(done) == 1, f"with the second try it carried out {done}")


@ONCE.check(hint="Call run.check_lease() right before the tool runs, or the decision is sent.")
async def lease(case: Case) -> None:
    """A process that has lost the run to another carries nothing out."""

    def lose(run: Run) -> None:
        def lost() -> None:
            raise Fenced("another process has the run")

        if run.resume is not None:
            run.check_lease = lost

    async with case.paused(before=lose) as paused:
        await paused.agree()
        done = await paused.done()
    expect(not done, f"without the lease it carried out {done}")
