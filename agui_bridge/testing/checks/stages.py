"""Runs of several steps: what stands beside a paused call, after it, or below it in a sub-agent."""

from __future__ import annotations

from ag_ui.core import ToolCallResultEvent

from agui_bridge.protocol.answers.unexecuted import DANGLING, FAILED, STOPPED, UNKNOWN
from agui_bridge.testing.case import Case
from agui_bridge.testing.check import Table
from agui_bridge.testing.conversation import expect

STAGES = Table()

_APPROVE = {"approved": True}
_NEVER = frozenset({DANGLING, FAILED, STOPPED})


@STAGES.check(
    hint="Keep the results of what ran beside the call with the pause, and hand them back: a "
    "framework that begins its step anew executes them again.",
    needs=("beside",),
)
async def beside(case: Case) -> None:
    """A call that needs no approval, beside one that does, is executed once."""
    before = len(await case.scenario.executions())
    async with case.paused("beside") as paused:
        await paused.answer(_APPROVE, of="the approved run")
        done = (await case.scenario.executions())[before:]
    shown = paused.shown
    others = [found for found in done if found not in shown]
    expect(
        len(done) == 2 and len(others) == 1,
        f"asked was about {shown}; executed in all was {done}, and not each of two calls once",
    )


@STAGES.check(
    hint="Look for the framework's pauses in resumed runs too, and yield another Pause.",
    needs=("twice",),
)
async def second_pause(case: Case) -> None:
    """A run that goes on after an answer can pause again, and each call is executed once."""
    async with case.paused("twice") as paused:
        again = await paused.answer(_APPROVE)
        paused.process.expect_ending(again, "interrupt", of="the run that goes on")
        first = await paused.done()
        second = paused.process.watched.runs[-1].pause
        shown = [ask.tool_call.args for ask in second.asks if ask.tool_call] if second else []
        answered = await paused.conversation.answer(again, _APPROVE)
        paused.process.expect_ending(answered, "success", of="the run after the second answer")
        done = await paused.done()
    expect(first == paused.shown, f"first asked was {paused.shown}, executed was {first}")
    expect(done == [*paused.shown, *shown], f"asked was {[*paused.shown, *shown]}, done is {done}")


@STAGES.check(
    hint="Have the framework carry on with all that was to come after the call, not with the "
    "paused step alone.",
    needs=("stages",),
)
async def later_stage(case: Case) -> None:
    """What comes after the approved call is begun, once."""
    async with case.paused("stages") as paused:
        await paused.answer(_APPROVE, of="the approved run")
        done = await paused.done()
    own, later = done[:1], done[1:]
    expect(own == paused.shown, f"asked was {paused.shown}, executed was {own}")
    expect(len(later) == 1, f"after the approved call it carried out {later}, and not one thing")


@STAGES.check(
    hint="Ask with about=CALL, tell no result of the call before the answer, and carry it out once "
    "that has come.",
    needs=("amid",),
)
async def asks_amid(case: Case) -> None:
    """A call that asks in its middle is one call with one result, carried out once answered."""
    async with case.paused("amid") as paused:
        (asked, *others) = paused.asked.asks
        call_id = asked.get("toolCallId", "")
        early = paused.asked.count("TOOL_CALL_RESULT", call_id)
        answered = await paused.answer(case.scenario.answer, of="the answered run")
        again = answered.count("TOOL_CALL_START", call_id)
        told = answered.count("TOOL_CALL_RESULT", call_id)
        await paused.answer(case.scenario.answer)
        done = await paused.done()
    began = paused.asked.count("TOOL_CALL_START", call_id)
    expect(not others and began == 1, f"the question is at no call that it began ({call_id!r})")
    expect(early == 0, "the call had a result before its question was answered")
    expect((again, told) == (0, 1), f"after the answer it was begun {again}, told {told} times")
    expect(len(done) == 1, f"it carried out {done}")


@STAGES.check(
    hint="Take a sub-agent's pause to the run's own end; tell its call's result, too.",
    needs=("nested",),
    declared="approve",
)
async def nested_approval(case: Case) -> None:
    """A call of a sub-agent is asked about, executed once when approved, and its result told."""
    async with case.paused("nested") as paused:
        await paused.answer(_APPROVE, of="the approved run")
        done = await paused.done()
        items = paused.process.watched.runs[-1].items
    call_id = paused.asked.asks[0].get("toolCallId", "")
    expect(done == paused.shown, f"shown was {paused.shown}, executed was {done}")
    told = [i for i in items if isinstance(i, ToolCallResultEvent) and i.tool_call_id == call_id]
    expect(len(told) == 1, f"the adapter told {len(told)} results of the call {call_id!r}")


@STAGES.check(
    hint="Let a tool that runs finish, yield its result, begin no other. Name in run.not_begun "
    "only calls that never began, and give the framework none without a result.",
    needs=("acting",),
)
async def stop_in_tool(case: Case) -> None:
    """A stop while a tool runs begins no other one, and what is said of it is true."""
    before = len(await case.scenario.executions())
    async with case.process() as process:
        conversation = process.conversation()
        stream = conversation.begin(case.scenario.acting)
        expect(await stream.until("TOOL_CALL_START"), "the run ended without a tool call")
        begun = len(await case.scenario.executions()) - before + 1
        await process.stop(conversation)
        await stream.rest()
        process.expect_ending(stream, "cancelled", of="the stopped run")
        messages = await conversation.messages()
        done = (await case.scenario.executions())[before:]
        await process.expect_success(conversation, case.scenario.text)
        later = (await case.scenario.executions())[before:]
    results = [str(m.get("content")) for m in messages if m["role"] == "tool"]
    told = [text for text in results if text not in _NEVER and text not in UNKNOWN]
    denied = [text for text in results if text in _NEVER]
    expect(len(done) <= begun, f"stopped in tool {begun}, it carried out {done}")
    expect(len(told) <= len(done), f"it carried out {done}, and the conversation tells {told}")
    expect(
        len(denied) <= len(results) - len(done),
        f"it carried out {done}, and the conversation says {denied}",
    )
    expect(later == done, f"stopped was at {done}; with the next message it was {later}")
