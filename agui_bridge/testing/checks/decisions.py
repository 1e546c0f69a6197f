"""What people decide is what happens: nothing before, exactly it after, and it is told."""

from __future__ import annotations

from ag_ui.core import ToolCallResultEvent

from agui_bridge.adapters import Pause
from agui_bridge.testing.case import Case
from agui_bridge.testing.check import check
from agui_bridge.testing.verdicts import expect

__all__ = [
    "answer",
    "approve",
    "cancel",
    "cancel_question",
    "decline",
    "edit",
    "parallel",
    "pause",
    "result",
]

_APPROVE = {"approved": True}
_DECLINE = {"approved": False, "reason": "not today"}


@check(
    "pause",
    hint="Have the framework wait before it executes, and yield the Pause then.",
    needs=("pause",),
)
async def pause(case: Case) -> None:
    """Nothing is carried out before it was approved."""
    before = await case.count()
    async with case.site() as site:
        await case.paused(site, site.talk())
        early = await case.executed_since(before)
    expect(not early, f"before any answer it carried out {early}")


@check(
    "approve",
    hint="Execute with Approve.args, exactly once, and end by returning.",
    needs=("approval",),
    declared="approve",
)
async def approve(case: Case) -> None:
    """An approved call is executed once, with the arguments that were shown."""
    async with case.site() as site:
        talk = site.talk()
        asked = await case.paused(site, talk, case.scenario.approval)
        shown = site.watched.runs[0].pause
        before = await case.count()
        answered = await talk.answer(asked, _APPROVE)
        site.expect_ending(answered, "success", "interrupt", of="the approved run")
        done = await case.executed_since(before)
    expected = _args(shown)
    expect(done == expected, f"shown was {expected}, executed was {done}")


@check(
    "result",
    hint="Yield a ToolCallResultEvent with the proposed call's id once it was executed.",
    needs=("approval",),
    declared="approve",
)
async def result(case: Case) -> None:
    """The result of an approved call is told once, under the id of the call."""
    async with case.site() as site:
        talk = site.talk()
        asked = await case.paused(site, talk, case.scenario.approval)
        answered = await talk.answer(asked, _APPROVE)
        call_id = asked.asks[0].get("toolCallId", "")
        told = [
            item
            for item in site.watched.runs[-1].items
            if isinstance(item, ToolCallResultEvent) and item.tool_call_id == call_id
        ]
    expect(len(told) == 1, f"the adapter told {len(told)} results of the call {call_id!r}")
    expect(answered.count("TOOL_CALL_RESULT", call_id) == 1, "the client got another number")


@check(
    "decline",
    hint="Look at the decision's type: only Approve executes. Tell the framework the reason.",
    needs=("approval",),
    declared="decline",
)
async def decline(case: Case) -> None:
    """A declined call is not executed, and the run goes on to its end."""
    async with case.site() as site:
        talk = site.talk()
        asked = await case.paused(site, talk, case.scenario.approval)
        before = await case.count()
        answered = await talk.answer(asked, _DECLINE)
        done = await case.executed_since(before)
        expect(not done, f"declined, and still it carried out {done}")
        site.expect_ending(answered, "success", "interrupt", of="the declined run")


@check(
    "edit",
    hint="Take the arguments from Approve.args, not from the framework or the continuation.",
    needs=("edited",),
    declared="edit",
)
async def edit(case: Case) -> None:
    """A call that was approved with other arguments is executed with those, once."""
    edited = dict(case.scenario.edited or {})
    async with case.site() as site:
        talk = site.talk()
        asked = await case.paused(site, talk, case.scenario.approval)
        before = await case.count()
        answered = await talk.answer(asked, {**_APPROVE, "editedArgs": edited})
        site.expect_ending(answered, "success", "interrupt", of="the edited run")
        done = await case.executed_since(before)
    expect(done == [edited], f"approved was {edited}, executed was {done}")


@check(
    "cancel",
    hint="Treat Cancel as no: whoever did not answer has approved nothing.",
    needs=("approval",),
    declared="cancel",
)
async def cancel(case: Case) -> None:
    """A call whose question was cancelled is not executed, and the run goes on to its end."""
    async with case.site() as site:
        talk = site.talk()
        asked = await case.paused(site, talk, case.scenario.approval)
        before = await case.count()
        answered = await talk.cancel(asked)
        done = await case.executed_since(before)
        expect(not done, f"cancelled, and still it carried out {done}")
        site.expect_ending(answered, "success", "interrupt", of="the cancelled run")


@check(
    "parallel",
    hint="Look every decision up by its own native_id.",
    needs=("parallel",),
    declared="approve",
)
async def parallel(case: Case) -> None:
    """Of several calls that are asked about at once, only the approved ones are executed."""
    async with case.site() as site:
        talk = site.talk()
        asked = await case.paused(site, talk, case.scenario.parallel)
        expect(len(asked.asks) > 1, "`parallel` asks one question only")
        shown = _args(site.watched.runs[0].pause)
        before = await case.count()
        # The last one, as the first is what a careless adapter looks at.
        answers = [_DECLINE] * (len(asked.asks) - 1) + [_APPROVE]
        answered = await talk.answer(asked, *answers)
        site.expect_ending(answered, "success", "interrupt", of="the run")
        done = await case.executed_since(before)
    expect(done == shown[-1:], f"approved was {shown[-1:]}, executed was {done}")


@check(
    "answer",
    hint="Hand Answer.payload to the framework as it is.",
    needs=("question",),
    declared="answer",
)
async def answer(case: Case) -> None:
    """The answer to a question arrives once, whole."""
    scenario = case.scenario
    async with case.site() as site:
        talk = site.talk()
        asked = await case.paused(site, talk, scenario.question)
        before = await case.count()
        answered = await talk.answer(asked, scenario.answer)
        site.expect_ending(answered, "success", "interrupt", of="the answered run")
        arrived = await case.executed_since(before)
    expected = scenario.answer if scenario.arrives is None else scenario.arrives
    expect(arrived == [expected], f"answered was {expected!r}, what arrived was {arrived}")


@check(
    "cancel-question",
    hint="Expect Cancel wherever Answer may come; there is no payload then.",
    needs=("question",),
    declared="cancel",
)
async def cancel_question(case: Case) -> None:
    """A question that nobody answered is no answer, and the run goes on to its end."""
    scenario = case.scenario
    async with case.site() as site:
        talk = site.talk()
        asked = await case.paused(site, talk, scenario.question)
        before = await case.count()
        cancelled = await talk.cancel(asked)
        site.expect_ending(cancelled, "success", "interrupt", of="the cancelled run")
        arrived = await case.executed_since(before)
    answers = (scenario.answer, scenario.arrives)
    expect(not any(found in answers for found in arrived), f"cancelled, what arrived was {arrived}")


def _args(pause: Pause | None) -> list[dict[str, object]]:
    """The arguments that a pause shows."""
    asks = pause.asks if pause is not None else ()
    return [dict(ask.tool_call.args) for ask in asks if ask.tool_call is not None]
