"""What a run that stopped to ask has to say, and what it must not have done yet."""

from __future__ import annotations

from datetime import datetime

from agui_bridge.conformance.check import Table
from agui_bridge.conformance.lab import Lab
from agui_bridge.conformance.verdicts import expect, fail, require
from agui_bridge.errors import AgentMistake
from agui_bridge.protocol.schemas.checking import check_schema, find_schema_fault

__all__ = ["PAUSING"]

_INTERRUPTS = "AG-UI 1.0, interrupt-resume"

PAUSING = Table("pause", needs=("approval",))


@PAUSING.check(
    source=f"{_INTERRUPTS}: the interrupt outcome",
    fix="End the run with RUN_FINISHED {outcome: {type: interrupt, interrupts: [...]}}.",
)
async def outcome(lab: Lab) -> None:
    """A run that stops to ask ends with the interrupt outcome: interrupts with id and reason."""
    answer = await lab.thread().say("approval")
    expect(answer.outcome == "interrupt", f"the run ended with {answer.told()}")
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
    """STATE_SNAPSHOT and MESSAGES_SNAPSHOT come before the interrupt outcome."""
    thread = await lab.paused()
    kinds = thread.answers[-1].kinds
    for kind in ("STATE_SNAPSHOT", "MESSAGES_SNAPSHOT"):
        expect(kind in kinds, f"no {kind} in {kinds}")


@PAUSING.check(
    source=f"{_INTERRUPTS}: reasons",
    fix="Set reason to tool_call and toolCallId to the id of the TOOL_CALL_START of this run.",
)
async def tool_bound(lab: Lab) -> None:
    """An approval of a tool call has the reason tool_call and names a call of its own run."""
    thread = await lab.paused()
    started = thread.answers[-1].calls("TOOL_CALL_START", "TOOL_CALL_CHUNK")
    reason, call = (thread.asked[0].get(key) for key in ("reason", "toolCallId"))
    expect(reason == "tool_call", f"the reason of an approval is {reason!r}")
    expect(call in started, f"toolCallId is {call!r}; the run started {started}")


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


@PAUSING.check(
    source=f"{_INTERRUPTS}: ids", fix="Mint an id for each interrupt.", needs=("parallel",)
)
async def unique_ids(lab: Lab) -> None:
    """Two interrupts of one run have different ids, and different calls."""
    answer = await lab.thread().say("parallel")
    for key in ("id", "toolCallId"):
        values = [interrupt.get(key) for interrupt in answer.interrupts]
        require(len(values) >= 2, f"prompts.parallel raised {len(values)} interrupt(s)")
        expect(len(set(values)) == len(values), f"the same {key} twice: {values}")


@PAUSING.check(
    source=f"{_INTERRUPTS}: expiresAt",
    fix="Write it as 2026-01-31T12:00:00Z: a client takes what it can't read for never.",
    needs=("expiring",),
)
async def expires_at(lab: Lab) -> None:
    """An expiresAt is a point in time in ISO 8601, with its offset from UTC."""
    for interrupt in (await lab.paused("expiring")).asked:
        given = interrupt.get("expiresAt")
        try:
            parsed = datetime.fromisoformat(str(given))
        except ValueError:
            fail(f"expiresAt is {given!r}")
        expect(parsed.tzinfo is not None, f"expiresAt says no offset from UTC: {given!r}")
