"""Approvals, refusals and cancels of one call, each as it should be."""

from __future__ import annotations

import json

from agui_bridge.conformance.check import Table
from agui_bridge.conformance.exchange import asks_about_a_call, shortened
from agui_bridge.conformance.lab import Lab, Thread
from agui_bridge.conformance.verdicts import Inapplicable, expect

_TOOLS = "AG-UI 1.0, interrupt-resume: tool-bound interrupts"
_STATUS = "AG-UI 1.0, interrupt-resume: resume entries"

ANSWERING = Table("answer", source=_TOOLS, needs=("approval", "executions"))


@ANSWERING.check(fix="Carry the pinned call out in the resumed run, exactly once.")
async def approve_once(lab: Lab) -> None:
    """An approved call is executed once, and the run succeeds."""
    thread = await lab.paused()
    answer = await thread.answer("approve")
    await thread.expect_one_execution(answer.told())
    answer.expect_success("the resumed run")


@ANSWERING.check(
    fix="Emit TOOL_CALL_RESULT with the toolCallId of the interrupt.", needs=("approval",)
)
async def result(lab: Lab) -> None:
    """The resumed run gives the result of the call under its original toolCallId."""
    thread = await lab.paused()
    call = _call_of(thread)
    answer = await thread.answer("approve")
    results = answer.calls("TOOL_CALL_RESULT")
    evidence = [
        shortened("the interrupt", thread.asked[0]),
        *(shortened("a result", event) for event in answer.of("TOOL_CALL_RESULT")[:1]),
        *(shortened("the end", event) for event in answer.of("RUN_FINISHED", "RUN_ERROR")[-1:]),
    ]
    told = f"there are results for {results}" if results else f"the run ended with {answer.told()}"
    expect(call in results, f"no result for {call!r}; {told}", evidence)


@ANSWERING.check(
    fix="Hold TOOL_CALL_START, ARGS and END back in a resumed run: clients have them.",
    needs=("approval",),
)
async def no_restart(lab: Lab) -> None:
    """The resumed run does not stream the approved call again."""
    thread = await lab.paused()
    call = _call_of(thread)
    answer = await thread.answer("approve")
    parts = answer.of("TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END", "TOOL_CALL_CHUNK")
    again = [event for event in parts if event.get("toolCallId") == call]
    evidence = [
        shortened("the interrupt", thread.asked[0]),
        *(shortened("event", e) for e in again[:1]),
    ]
    expect(not again, f"the call was streamed again: {[e['type'] for e in again]}", evidence)


def _call_of(thread: Thread) -> str | None:
    """The call that the only question is about.

    Raises:
        Inapplicable: it is about none.
    """
    asked = thread.asked[0]
    if not asks_about_a_call(asked):
        raise Inapplicable(f"it asks without a tool call; its reason is {asked.get('reason')!r}")
    call: str | None = asked.get("toolCallId")
    return call


@ANSWERING.check(
    source="concepts/interrupts: before the run finishes",
    fix="Emit MESSAGES_SNAPSHOT before the end of a resumed run.",
    needs=("approval",),
    severity="should",
    profile="concepts",
)
async def snapshots(lab: Lab) -> None:
    """A resumed run carries a MESSAGES_SNAPSHOT, so that optimistic tool messages are corrected."""
    answer = await (await lab.paused()).answer("approve")
    expect("MESSAGES_SNAPSHOT" in answer.kinds, f"no MESSAGES_SNAPSHOT in {answer.kinds}")


@ANSWERING.check(
    source=_STATUS,
    fix="Take {approved: false} as the answer: tell the model, go on without the call.",
)
async def deny(lab: Lab) -> None:
    """A declined call is not executed, and the run ends without an error."""
    await _expect_left_alone(lab, "deny", "declined")


@ANSWERING.check(
    source=_STATUS, fix="Take status cancelled as: nobody decided. Never execute the call."
)
async def cancel(lab: Lab) -> None:
    """A cancelled interrupt's call is not executed, and the run ends without an error."""
    await _expect_left_alone(lab, "cancel", "cancelled")


async def _expect_left_alone(lab: Lab, how: str, told: str) -> None:
    thread = await lab.paused()
    answer = await thread.answer(how)
    await thread.expect_no_execution(f"executed though {told}")
    expect(answer.error is None and answer.broken is None, f"it ended with {answer.told()}")


@ANSWERING.check(
    source=f"{_STATUS}; the payload is validated against responseSchema",
    fix='Approve only on the JSON boolean true: not on "true", 1, {} or no payload.',
)
async def near_miss(lab: Lab) -> None:
    """What is nearly an approval is none: nothing is executed."""
    for payload in [..., *lab.config.answers.near_misses]:
        thread = await lab.paused()
        await thread.answer_with(payload)
        shown = "no payload" if payload is ... else json.dumps(payload)
        await thread.expect_no_execution(f"{shown} was taken for an approval")


@ANSWERING.check(
    source=f"{_TOOLS}, editedArgs",
    fix="Execute with editedArgs and nothing of the proposed arguments.",
    needs=("approval", "edits", "executions"),
)
async def edit(lab: Lab) -> None:
    """Edited arguments replace the proposed ones whole."""
    thread = await lab.paused()
    answer = await thread.answer("edit")
    executed = await thread.expect_one_execution(answer.told())
    edited = f"{thread.marker}-edited" in executed
    expect(edited, f"executed with other arguments than the edited ones: {executed}")


@ANSWERING.check(
    source=f"{_TOOLS}, editedArgs; the payload is validated against responseSchema",
    fix="Validate editedArgs against the tool's parameters before anything is executed.",
    needs=("approval", "edits", "executions"),
)
async def bad_edit(lab: Lab) -> None:
    """An edit that breaks the tool's schema is refused; the interrupt stays open."""
    thread = await lab.paused()
    count = len(thread.payload("bad_edits"))
    if not count:
        raise Inapplicable("answers.bad_edits is empty, and its responseSchema forbids no edit")
    for number in range(count):
        thread = await lab.paused() if number else thread
        payload = thread.payload("bad_edits")[number]
        shown = json.dumps(payload)
        answer = await thread.answer_with(payload)
        await thread.expect_no_execution(f"executed with {shown}")
        answer.expect_error(shown)
        later = await thread.answer("approve")
        await thread.expect_one_execution(f"no longer approvable: {later.told()}")


@ANSWERING.check(
    source="AG-UI 1.0 leaves it open; agui-bridge's contract, D26 and D27",
    fix="Ask with the call's toolCallId, keep the call open, and carry it out once answered.",
    needs=("amid", "executions"),
    profile="agui-bridge",
)
async def asked_amid(lab: Lab) -> None:
    """A call that asks in its middle is one call with one result, carried out once answered."""
    thread = await lab.paused("amid")
    asking, call = thread.answers[-1], thread.asked[0].get("toolCallId")
    evidence = [shortened("the interrupt", thread.asked[0])]
    began = [*asking.begun]
    expect(call in began, f"it asks about the call {call!r}; it began {began}", evidence)
    early = call in asking.calls("TOOL_CALL_RESULT")
    expect(not early, "the call had a result before its question was answered", evidence)
    await thread.expect_no_execution("it was carried out before its question was answered")
    answer = await thread.answer("amid")
    results = answer.calls("TOOL_CALL_RESULT").count(call)
    expect(call not in answer.begun, "the call was begun again with its answer", evidence)
    expect(results == 1, f"the call has {results} results: {answer.told()}", evidence)
    await thread.expect_one_execution(answer.told())
