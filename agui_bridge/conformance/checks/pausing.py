"""What a run that stopped to ask has to say, and what it must not have done yet."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from agui_bridge.conformance.check import Table
from agui_bridge.conformance.exchange import Event, asks_about_a_call, shortened, shown_call
from agui_bridge.conformance.lab import Lab, asked_otherwise
from agui_bridge.conformance.verdicts import Inapplicable, expect, fail, require
from agui_bridge.errors import AgentMistake
from agui_bridge.protocol.schemas.checking import check_schema, find_schema_fault

_INTERRUPTS = "AG-UI 1.0, interrupt-resume"

PAUSING = Table("pause", needs=("approval",))


@PAUSING.check(
    source=f"{_INTERRUPTS}: the interrupt outcome",
    fix="End the run with RUN_FINISHED {outcome: {type: interrupt, interrupts: [...]}}.",
)
async def outcome(lab: Lab) -> None:
    """A run that stops to ask ends with the interrupt outcome: interrupts with id and reason."""
    answer = await lab.thread().say("approval")
    ended = f"the run ended with {answer.told()}{asked_otherwise(answer)}"
    expect(answer.outcome == "interrupt", ended)
    expect(answer.interrupts, "the interrupt outcome has no interrupts")
    for interrupt in answer.interrupts:
        for key in ("id", "reason"):
            value = interrupt.get(key)
            expect(isinstance(value, str) and value, f"an interrupt's {key} is {value!r}")
    expect(answer.error is None, f"the run that asked also ended with {answer.error}")


@PAUSING.check(
    source="concepts/interrupts: before the run finishes",
    fix="Emit both snapshots right before RUN_FINISHED; clients rebuild the page from them.",
    profile="concepts",
)
async def snapshots(lab: Lab) -> None:
    """STATE_SNAPSHOT and a MESSAGES_SNAPSHOT of all that was said come before the interrupt."""
    thread = await lab.paused()
    run, asked = thread.answers[-1], thread.asked[0]
    for kind in ("STATE_SNAPSHOT", "MESSAGES_SNAPSHOT"):
        expect(kind in run.kinds, f"no {kind} in {run.kinds}")
    told = run.of("MESSAGES_SNAPSHOT")[-1]
    evidence = [shortened("event", told), shortened("the interrupt", asked)]
    given = told.get("messages")
    messages = [m for m in given if isinstance(m, dict)] if isinstance(given, list) else []
    expect(messages, "the MESSAGES_SNAPSHOT is empty: a client's page is, too", evidence)
    said = thread.marker in str([m for m in messages if m.get("role") == "user"])
    expect(said, "the MESSAGES_SNAPSHOT lacks the user's message", evidence)
    call = asked.get("toolCallId")
    if call is None:
        return
    shown = shown_call(messages, call)
    if shown is None:
        fail(f"the MESSAGES_SNAPSHOT lacks the call {call!r} that it asks about", evidence)
    begun, arguments = run.begun.get(call), run.arguments(call)
    for streamed, kept, what in ((begun, shown[0], "name"), (arguments, shown[1], "arguments")):
        differ = f"the call's {what}: {streamed!r} was streamed, the snapshot has {kept!r}"
        expect(streamed is None or streamed == kept, differ, evidence)


@PAUSING.check(
    source=f"{_INTERRUPTS}: reasons",
    fix="Set reason to tool_call and toolCallId to the id of the TOOL_CALL_START of this run.",
)
async def tool_bound(lab: Lab) -> None:
    """An approval of a tool call has the reason tool_call and names a call of its own run."""
    thread = await lab.paused()
    run, asked = thread.answers[-1], thread.asked[0]
    starts = run.of("TOOL_CALL_START", "TOOL_CALL_CHUNK")
    started = [event.get("toolCallId") for event in starts]
    evidence = [shortened("the interrupt", asked), *(shortened("the call", e) for e in starts[-1:])]
    reason, call = (asked.get(key) for key in ("reason", "toolCallId"))
    if not asks_about_a_call(asked):
        waiting = [call for call in started if call not in run.calls("TOOL_CALL_RESULT")]
        expect(not waiting, f"it names no call, though {waiting} waits for the answer", evidence)
        raise Inapplicable(f"it asks without a tool call; its reason is {reason!r}")
    expect(reason == "tool_call", f"the reason of an approval is {reason!r}", evidence)
    expect(call in started, f"toolCallId is {call!r}; the run started {started}", evidence)


@PAUSING.check(
    source=f"{_INTERRUPTS}: responseSchema",
    fix="Describe the answer that you accept, from the model that validates it.",
    severity="should",
)
async def schema(lab: Lab) -> None:
    """An interrupt has a responseSchema: valid JSON Schema that accepts a proper answer."""
    thread = await lab.paused()
    given = thread.asked[0].get("responseSchema")
    if not isinstance(given, dict):
        fail(f"responseSchema is {given!r}")
    try:
        check_schema(given)
    except AgentMistake as error:
        fail(str(error))
    fault = find_schema_fault(given, thread.payload("approve"))
    expect(fault is None, f"it refuses the approval that the agent accepts: {fault}")


@PAUSING.check(
    source=f"{_INTERRUPTS}: uncovered interrupts",
    fix="Execute the tool in the resumed run only.",
    needs=("approval", "executions"),
)
async def no_execution(lab: Lab) -> None:
    """Nothing is executed before it is approved."""
    thread = await lab.paused()
    await thread.expect_no_execution("executed before anybody answered")


@PAUSING.check(source=f"{_INTERRUPTS}: ids", fix="Mint an id for each interrupt, and each call.")
async def unique_ids(lab: Lab) -> None:
    """Two interrupts of a thread have different ids and calls, at once or one after the other."""
    if lab.config.prompts.parallel is not None:
        answer = await lab.thread().say("parallel")
        raised = len(answer.interrupts)
        require(raised >= 2, f"prompts.parallel raised {raised} interrupt(s)")
        _expect_different(answer.interrupts)
    thread = await lab.paused()
    await thread.answer("approve")
    later = (await thread.say("approval")).interrupts
    if not later and lab.config.prompts.parallel is None:
        raise Inapplicable("prompts.approval raised no second question on its thread")
    _expect_different([*thread.asked, *later])


def _expect_different(interrupts: Sequence[Event]) -> None:
    for key in ("id", "toolCallId"):
        about = interrupts if key == "id" else filter(asks_about_a_call, interrupts)
        values = [interrupt.get(key) for interrupt in about]
        evidence = [shortened("an interrupt", interrupt) for interrupt in interrupts]
        expect(len(set(values)) == len(values), f"the same {key} twice: {values}", evidence)


@PAUSING.check(
    source=f"{_INTERRUPTS}: expiresAt",
    fix="Write it as 2026-01-31T12:00:00Z: a client takes what it can't read for never.",
)
async def expires_at(lab: Lab) -> None:
    """An expiresAt is a point in time in ISO 8601, with its offset from UTC."""
    expiring = lab.config.prompts.expiring is not None
    asked = (await lab.paused("expiring" if expiring else "approval")).asked
    if not expiring and "expiresAt" not in asked[0]:
        raise Inapplicable("its approval has no expiresAt, and prompts.expiring is not set")
    for interrupt in asked:
        given = interrupt.get("expiresAt")
        try:
            parsed = datetime.fromisoformat(str(given))
        except ValueError:
            fail(f"expiresAt is {given!r}")
        expect(parsed.tzinfo is not None, f"expiresAt says no offset from UTC: {given!r}")
