"""What people decide is what happens: nothing before, exactly it after, and it is told."""

from __future__ import annotations

from ag_ui.core import ToolCallResultEvent

from agui_bridge.protocol.json_values import same_json
from agui_bridge.protocol.threads.records import Json
from agui_bridge.testing.case import Case, Paused
from agui_bridge.testing.check import Table
from agui_bridge.testing.conversation import Stream, expect
from agui_bridge.testing.scenario import strings_of

DECISIONS = Table(needs=("approval",))

_APPROVE = {"approved": True}
_BY_HAND = "done by hand"
_FALSY: tuple[Json, ...] = (0, "", False, [], {}, None)
_DECLINE = {"approved": False, "reason": "not today"}


@DECISIONS.check(
    hint="Have the framework wait before it executes, and yield the Pause then.", needs=("pause",)
)
async def pause(case: Case) -> None:
    """Nothing is carried out before it was approved."""
    before = len(await case.scenario.executions())
    async with case.paused():
        early = (await case.scenario.executions())[before:]
    expect(not early, f"before any answer it carried out {early}")


@DECISIONS.check(
    hint="Execute with Approve.args, exactly once, and end by returning.", declared="approve"
)
async def approve(case: Case) -> None:
    """An approved call is executed once, with the arguments that were shown."""
    async with case.paused("approval") as paused:
        await paused.answer(_APPROVE, of="the approved run")
        done = await paused.done()
    expect(done == paused.shown, f"shown was {paused.shown}, executed was {done}")


@DECISIONS.check(
    hint="Yield a ToolCallResultEvent with the proposed call's id once it was executed.",
    declared="approve",
)
async def result(case: Case) -> None:
    """The result of an approved call is told once, under the id of the call."""
    async with case.paused("approval") as paused:
        answered = await paused.answer(_APPROVE)
        call_id = paused.asked.asks[0].get("toolCallId", "")
        told = [
            item
            for item in paused.process.watched.runs[-1].items
            if isinstance(item, ToolCallResultEvent) and item.tool_call_id == call_id
        ]
    expect(len(told) == 1, f"the adapter told {len(told)} results of the call {call_id!r}")
    expect(answered.count("TOOL_CALL_RESULT", call_id) == 1, "the client got another number")


@DECISIONS.check(
    hint="Look at the decision's type: only Approve executes. Tell the framework the reason.",
    declared="decline",
)
async def decline(case: Case) -> None:
    """A declined call is not executed, and the run goes on to its end."""
    async with case.paused("approval") as paused:
        await _expect_left_alone(paused, await paused.answer(_DECLINE), "declined")


@DECISIONS.check(
    hint="Take the arguments from Approve.args, not from the framework or the continuation.",
    needs=("edited",),
    declared="edit",
)
async def edit(case: Case) -> None:
    """A call that was approved with other arguments is executed with those, once."""
    edited = dict(case.scenario.edited or {})
    async with case.paused("approval") as paused:
        await paused.answer({**_APPROVE, "editedArgs": edited}, of="the edited run")
        done = await paused.done()
    expect(done == [edited], f"approved was {edited}, executed was {done}")


@DECISIONS.check(
    hint="Treat Cancel as no: whoever did not answer has approved nothing.", declared="cancel"
)
async def cancel(case: Case) -> None:
    """A call whose question was cancelled is not executed, and the run goes on to its end."""
    async with case.paused("approval") as paused:
        await _expect_left_alone(paused, await paused.cancel(), "cancelled")


@DECISIONS.check(
    hint="Look every decision up by its own native_id.", needs=("parallel",), declared="approve"
)
async def parallel(case: Case) -> None:
    """Of several calls that are asked about at once, only the approved ones are executed."""
    async with case.paused("parallel") as paused:
        others = len(paused.asked.asks) - 1
        expect(others > 0, "`parallel` asks one question only")
        # The last one, as the first is what a careless adapter looks at.
        await paused.answer(*[_DECLINE] * others, _APPROVE, of="the run")
        done = await paused.done()
    shown = paused.shown[-1:]
    expect(done == shown, f"approved was {shown}, executed was {done}")


@DECISIONS.check(
    hint="Hand Answer.payload to the framework as it is.", needs=("question",), declared="answer"
)
async def answer(case: Case) -> None:
    """The answer to a question arrives once, whole."""
    scenario = case.scenario
    async with case.paused("question") as paused:
        await paused.answer(scenario.answer, of="the answered run")
        arrived = await paused.done()
    expected = scenario.answer if scenario.arrives is None else scenario.arrives
    expect(arrived == [expected], f"answered was {expected!r}, what arrived was {arrived}")


@DECISIONS.check(
    hint="Ask whether it is an Answer, not whether its payload is true; declare null=False where "
    "the framework takes null for no answer.",
    needs=("free",),
    declared="answer",
)
async def falsy(case: Case) -> None:
    """Answers that are false, empty or null arrive as they are; null may be declared as none."""
    for payload in _FALSY:
        async with case.paused("free") as paused:
            if payload is None and not paused.process.watched.capabilities.null:
                refused = await paused.answer(payload)
                paused.process.expect_ending(refused, "INVALID_RESUME_PAYLOAD", of="null")
                continue
            await paused.answer(payload, of=f"the run of the answer {payload!r}")
            arrived = await paused.done()
        expect(same_json(arrived, [payload]), f"answered was {payload!r}, it got {arrived}")


@DECISIONS.check(
    hint="Give the framework Respond.result as the result of the call, and don't execute it.",
    declared="respond",
)
async def respond(case: Case) -> None:
    """A result that a person gives stands for the tool's, which is not executed."""
    async with case.paused("approval") as paused:
        answered = await paused.answer({"approved": False, "respond": _BY_HAND})
        await _expect_left_alone(paused, answered, "responded")
        heard = await case.scenario.was_heard()
    call_id = paused.asked.asks[0].get("toolCallId")
    results = [e for e in answered.events if e["type"] == "TOOL_CALL_RESULT"]
    told = [e["content"] for e in results if e["toolCallId"] == call_id]
    expect(told == [_BY_HAND], f"the result was {_BY_HAND!r}, the client got {told}")
    # What a sub-agent was told, the agent above was not.
    if case.scenario.heard is not None and paused.pause.asks[0].subagent_run_id is None:
        found = any(_BY_HAND in text for text in strings_of(heard))
        expect(found, f"{_BY_HAND!r} was given as the result, and was not heard")


@DECISIONS.check(
    hint="Expect Cancel wherever Answer may come; there is no payload then.",
    needs=("question",),
    declared="cancel",
)
async def cancel_question(case: Case) -> None:
    """A question that nobody answered is no answer, and the run goes on to its end."""
    async with case.paused("question") as paused:
        await paused.cancel(of="the cancelled run")
        arrived = await paused.done()
    answers = (case.scenario.answer, case.scenario.arrives)
    expect(not any(found in answers for found in arrived), f"cancelled, what arrived was {arrived}")


async def _expect_left_alone(paused: Paused, answered: Stream, how: str) -> None:
    await paused.expect_nothing_done(how)
    paused.process.expect_ending(answered, "success", "interrupt", of=f"the {how} run")
