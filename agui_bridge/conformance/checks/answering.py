"""Approvals, refusals and cancels of one call, each as it should be."""

from __future__ import annotations

import json

from agui_bridge.conformance.check import Table
from agui_bridge.conformance.lab import Lab, cancel, resolve
from agui_bridge.conformance.verdicts import expect

__all__ = ["ANSWERING"]

ANSWERING = Table("answer")

_TOOLS = "AG-UI 1.0, interrupt-resume: tool-bound interrupts"
_STATUS = "AG-UI 1.0, interrupt-resume: resume entries"


@ANSWERING.check(
    "approve-once",
    "An approved call is executed once, and the run succeeds.",
    source=_TOOLS,
    fix="Carry the pinned call out in the resumed run, exactly once.",
    needs=("approval", "executions"),
)
async def approve_once(lab: Lab) -> None:
    thread = lab.thread()
    answer = await thread.approve(await thread.pause())
    executed = await thread.executed()
    expect(len(executed) == 1, f"executed {len(executed)} times: {answer.told()}")
    expect(answer.succeeded, f"the resumed run ended with {answer.told()}")


@ANSWERING.check(
    "result",
    "The resumed run gives the result of the call under its original toolCallId.",
    source=_TOOLS,
    fix="Emit TOOL_CALL_RESULT with the toolCallId of the interrupt.",
    needs=("approval",),
)
async def result(lab: Lab) -> None:
    thread = lab.thread()
    (interrupt,) = await thread.pause()
    answer = await thread.approve([interrupt])
    results = [e.get("toolCallId") for e in answer.of("TOOL_CALL_RESULT")]
    call = interrupt.get("toolCallId")
    expect(call in results, f"no result for {call!r}; there are results for {results}")


@ANSWERING.check(
    "no-restart",
    "The resumed run does not stream the approved call again.",
    source=_TOOLS,
    fix="Hold TOOL_CALL_START, ARGS and END back in a resumed run: clients have them.",
    needs=("approval",),
)
async def no_restart(lab: Lab) -> None:
    thread = lab.thread()
    (interrupt,) = await thread.pause()
    answer = await thread.approve([interrupt])
    again = [
        e["type"]
        for e in answer.of("TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END", "TOOL_CALL_CHUNK")
        if e.get("toolCallId") == interrupt.get("toolCallId")
    ]
    expect(not again, f"the call was streamed again: {again}")


@ANSWERING.check(
    "snapshots",
    "A resumed run carries a MESSAGES_SNAPSHOT, so that optimistic tool messages are corrected.",
    source="concepts/interrupts: before the run finishes",
    fix="Emit MESSAGES_SNAPSHOT before the end of a resumed run.",
    needs=("approval",),
    severity="should",
    profile="concepts",
)
async def snapshot_after(lab: Lab) -> None:
    thread = lab.thread()
    answer = await thread.approve(await thread.pause())
    expect("MESSAGES_SNAPSHOT" in answer.kinds, f"no MESSAGES_SNAPSHOT in {answer.kinds}")


@ANSWERING.check(
    "deny",
    "A declined call is not executed, and the run ends without an error.",
    source=_STATUS,
    fix="Take {approved: false} as the answer: tell the model, go on without the call.",
    needs=("approval", "executions"),
)
async def deny(lab: Lab) -> None:
    thread = lab.thread()
    answer = await thread.deny(await thread.pause())
    executed = await thread.executed()
    expect(not executed, f"executed though declined: {executed}")
    expect(answer.error is None and answer.broken is None, f"it ended with {answer.told()}")


@ANSWERING.check(
    "cancel",
    "A cancelled interrupt's call is not executed, and the run ends without an error.",
    source=_STATUS,
    fix="Take status cancelled as: nobody decided. Never execute the call.",
    needs=("approval", "executions"),
)
async def cancelled(lab: Lab) -> None:
    thread = lab.thread()
    (interrupt,) = await thread.pause()
    answer = await thread.resume(cancel(interrupt))
    executed = await thread.executed()
    expect(not executed, f"executed though cancelled: {executed}")
    expect(answer.error is None and answer.broken is None, f"it ended with {answer.told()}")


@ANSWERING.check(
    "near-miss",
    "What is nearly an approval is none: nothing is executed.",
    source=f"{_STATUS}; the payload is validated against responseSchema",
    fix='Approve only on the JSON boolean true: not on "true", 1, {} or no payload.',
    needs=("approval", "executions"),
)
async def near_miss(lab: Lab) -> None:
    for payload in [..., *lab.config.answers.near_misses]:
        thread = lab.thread()
        (interrupt,) = await thread.pause()
        await thread.resume(resolve(interrupt, payload))
        executed = await thread.executed()
        shown = "no payload" if payload is ... else json.dumps(payload)
        expect(not executed, f"{shown} was taken for an approval")


@ANSWERING.check(
    "edit",
    "Edited arguments replace the proposed ones whole.",
    source=f"{_TOOLS}, editedArgs",
    fix="Execute with editedArgs and nothing of the proposed arguments.",
    needs=("approval", "edits", "executions"),
)
async def edit(lab: Lab) -> None:
    thread = lab.thread()
    (interrupt,) = await thread.pause()
    answer = await thread.resume(resolve(interrupt, thread.payload("edit")))
    executed = await thread.executed()
    edited = [line for line in executed if f"{thread.marker}-edited" in line]
    expect(len(executed) == 1, f"executed {len(executed)} times: {answer.told()}")
    expect(edited, f"executed with other arguments than the edited ones: {executed}")


@ANSWERING.check(
    "bad-edit",
    "An edit that breaks the tool's schema is refused; the interrupt stays open.",
    source=f"{_TOOLS}, editedArgs; the payload is validated against responseSchema",
    fix="Validate editedArgs against the tool's parameters before anything is executed.",
    needs=("approval", "edits", "executions"),
)
async def bad_edit(lab: Lab) -> None:
    for number in range(len(lab.config.answers.bad_edits)):
        thread = lab.thread()
        (interrupt,) = await thread.pause()
        payload = thread.payload("bad_edits")[number]
        answer = await thread.resume(resolve(interrupt, payload))
        executed = await thread.executed()
        expect(not executed, f"executed with {json.dumps(payload)}")
        expect(answer.error is not None, f"{json.dumps(payload)} ended with {answer.told()}")
        later = await thread.approve([interrupt])
        expect(len(await thread.executed()) == 1, f"no longer approvable: {later.told()}")
