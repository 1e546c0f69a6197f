"""What was approved is carried out once: after a restart, in a race, whatever comes later."""

from __future__ import annotations

import asyncio

from agui_bridge.adapters import Run
from agui_bridge.errors import Fenced
from agui_bridge.testing.case import Case
from agui_bridge.testing.check import check
from agui_bridge.testing.verdicts import expect

__all__ = ["lease", "next_message", "once", "race", "restart", "threads", "undelivered"]


@check(
    "restart",
    hint="Keep nothing about a pause in the adapter: all that the resume needs goes into the "
    "continuation.",
    needs=("pause",),
)
async def restart(case: Case) -> None:
    """A pause survives the end of its process: another one carries the answer out, once."""
    async with case.site() as site:
        talk = site.talk()
        asked = await case.paused(site, talk)
    if case.scenario.restart is not None:
        await case.scenario.restart()
    before = await case.count()
    async with case.site() as other:
        answered = await other.talk(talk.thread).answer(asked, case.scenario.yes)
        other.expect_ending(answered, "success", "interrupt", of="the run after the restart")
        done = await case.executed_since(before)
    expect(len(done) == 1, f"after the restart it carried out {done}")


@check(
    "once",
    hint="Carry out what run.resume decides, and nothing because of anything else: switch off "
    "what the framework resumes by itself.",
    needs=("pause",),
)
async def once(case: Case) -> None:
    """An answer is carried out once: not again if it is sent again, nor by the next message."""
    async with case.site() as site:
        talk = site.talk()
        asked = await case.paused(site, talk)
        before = await case.count()
        await talk.answer(asked, case.scenario.yes)
        await talk.answer(asked, case.scenario.yes)
        await talk.say(case.scenario.text)
        done = await case.executed_since(before)
    expect(len(done) == 1, f"it carried out {done}")


@check(
    "race",
    hint="Execute only within run(): an adapter that listens to its framework besides hears of "
    "an approval in every process.",
    needs=("pause",),
)
async def race(case: Case) -> None:
    """Of the same answer in two processes at once, no more than one is carried out."""
    async with case.site() as one, case.site() as other:
        talk = one.talk()
        asked = await case.paused(one, talk)
        twin = other.talk(talk.thread)
        before = await case.count()
        answers = [side.answer(asked, case.scenario.yes) for side in (talk, twin)]
        endings = [stream.ending for stream in await asyncio.gather(*answers)]
        done = await case.executed_since(before)
    expect(len(done) <= 1, f"it was carried out {len(done)} times; the streams ended {endings}")


@check(
    "next-message",
    hint="Read every kind of message in run.messages, tool results too; leave no session locked.",
    needs=("pause",),
)
async def next_message(case: Case) -> None:
    """Once a pause was answered, the conversation goes on."""
    async with case.site() as site:
        talk = site.talk()
        await talk.answer(await case.paused(site, talk), case.scenario.yes)
        stream = await talk.say(case.scenario.text)
        site.expect_ending(stream, "success", of="the next message's run")


@check(
    "threads",
    hint="Keep nothing of one run in the adapter; name the framework's own session by thread_id.",
    needs=("approval",),
    declared="approve",
)
async def threads(case: Case) -> None:
    """Of two threads that wait at once, each gets its own answer."""
    async with case.site() as site:
        first, second = site.talk(), site.talk()
        asked = await case.paused(site, first, case.scenario.approval)
        shown = site.watched.runs[-1].pause
        waiting = await case.paused(site, second, case.scenario.approval)
        before = await case.count()
        answered = await first.answer(asked, {"approved": True})
        done = await case.executed_since(before)
    assert shown is not None and shown.asks[0].tool_call is not None, "it was an approval"
    expect(done == [dict(shown.asks[0].tool_call.args)], f"of the first it executed {done}")
    own, others = ({ask["toolCallId"] for ask in stream.asks} for stream in (asked, waiting))
    told = {e["toolCallId"] for e in answered.events if e["type"] == "TOOL_CALL_RESULT"}
    foreign = sorted(told & (others - own))
    expect(not foreign, f"the first thread got results of the second one's {foreign}")


@check(
    "undelivered",
    hint="Raise NotDelivered when the framework was not reached, and only then.",
    needs=("pause", "unreachable"),
)
async def undelivered(case: Case) -> None:
    """An answer that did not reach the framework can be sent again."""
    async with case.site() as site:
        talk = site.talk()
        asked = await case.paused(site, talk)
        before = await case.count()
        async with case.site(case.scenario.unreachable) as cut_off:
            failed = await cut_off.talk(talk.thread).answer(asked, case.scenario.yes)
            cut_off.expect_ending(failed, "UPSTREAM_ERROR", of="the run that reached nobody")
            still = [ask["id"] for ask in failed.asks]
            expect(still == [ask["id"] for ask in asked.asks], "the question is not open any more")
        answered = await talk.answer(asked, case.scenario.yes)
        site.expect_ending(answered, "success", "interrupt", of="the second try")
        done = await case.executed_since(before)
    expect(len(done) == 1, f"with the second try it carried out {done}")


@check(
    "lease",
    hint="Call run.check_lease() right before the tool runs, or the decision is sent.",
    needs=("pause",),
)
async def lease(case: Case) -> None:
    """A process that has lost the run to another carries nothing out."""

    def lose(run: Run) -> None:
        def lost() -> None:
            raise Fenced("another process has the run")

        if run.resume is not None:
            run.check_lease = lost

    async with case.site(before=lose) as site:
        talk = site.talk()
        asked = await case.paused(site, talk)
        before = await case.count()
        await talk.answer(asked, case.scenario.yes)
        done = await case.executed_since(before)
    expect(not done, f"without the lease it carried out {done}")
