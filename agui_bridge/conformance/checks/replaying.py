"""Answers that come again, or come again and differ."""

from __future__ import annotations

from agui_bridge.conformance.check import Table
from agui_bridge.conformance.lab import Lab, Thread, cancel, resolve
from agui_bridge.conformance.verdicts import Blocked, expect
from agui_bridge.conformance.wire import Event

__all__ = ["REPLAYING"]

REPLAYING = Table("replay")

_SAFE = "AG-UI 1.0, interrupt-resume: a replay of the same answer is safe"


async def _approved(lab: Lab) -> tuple[Thread, list[Event]]:
    thread = lab.thread()
    interrupts = await thread.pause()
    await thread.approve(interrupts)
    if not await thread.executed():
        raise Blocked("an approved call was not executed")
    return thread, interrupts


@REPLAYING.check(
    "once",
    "The same answer sent again executes nothing again.",
    source=_SAFE,
    fix="Claim the interrupt durably before the tool runs; keep a receipt of its answer.",
    needs=("approval", "executions"),
)
async def once(lab: Lab) -> None:
    thread, interrupts = await _approved(lab)
    await thread.approve(interrupts)
    executed = await thread.executed()
    expect(len(executed) == 1, f"executed {len(executed)} times")


@REPLAYING.check(
    "old-history",
    "The same answer sent again by a client that still has the old messages executes nothing.",
    source=_SAFE,
    fix="Let the store decide what was answered, not the messages that a client sends.",
    needs=("approval", "executions"),
)
async def old_history(lab: Lab) -> None:
    thread = lab.thread()
    interrupts = await thread.pause()
    messages = thread.history.messages
    for _ in range(3):
        await thread.approve(interrupts, messages=messages)
    executed = await thread.executed()
    expect(len(executed) <= 1, f"executed {len(executed)} times")
    if not executed:
        raise Blocked("an approved call was not executed")


@REPLAYING.check(
    "answered",
    "The same answer sent again is told how it ended, not an error.",
    source=_SAFE,
    fix="Answer a replay with the snapshots and the outcome of the first time.",
    needs=("approval", "executions"),
    severity="should",
)
async def answered(lab: Lab) -> None:
    thread, interrupts = await _approved(lab)
    answer = await thread.approve(interrupts)
    expect(answer.succeeded, f"the replay ended with {answer.told()}")


@REPLAYING.check(
    "conflict",
    "Another answer to an answered interrupt is refused.",
    source=_SAFE,
    fix="Compare it with the recorded answer, and refuse one that differs.",
    needs=("approval", "executions"),
)
async def conflict(lab: Lab) -> None:
    thread, interrupts = await _approved(lab)
    answer = await thread.deny(interrupts)
    expect(answer.error is not None, f"declining what was approved ended with {answer.told()}")


@REPLAYING.check(
    "approve-after-deny",
    "What was declined can't be approved afterwards.",
    source=_SAFE,
    fix="An answer is final: refuse a later one that differs.",
    needs=("approval", "executions"),
)
async def approve_after_deny(lab: Lab) -> None:
    thread = lab.thread()
    interrupts = await thread.pause()
    messages = thread.history.messages
    await thread.deny(interrupts)
    answers = [await thread.approve(interrupts)]
    answers.append(await thread.approve(interrupts, messages=messages))
    executed = await thread.executed()
    expect(not executed, f"executed after it had been declined: {executed}")
    for answer in answers:
        expect(answer.error is not None, f"the late approval ended with {answer.told()}")


@REPLAYING.check(
    "approve-after-cancel",
    "What was cancelled can't be approved afterwards.",
    source=_SAFE,
    fix="A cancel closes the interrupt: refuse a later answer.",
    needs=("approval", "executions"),
)
async def approve_after_cancel(lab: Lab) -> None:
    thread = lab.thread()
    (interrupt,) = await thread.pause()
    messages = thread.history.messages
    await thread.resume(cancel(interrupt))
    answer = await thread.approve([interrupt], messages=messages)
    executed = await thread.executed()
    expect(not executed, f"executed after it had been cancelled: {executed}")
    expect(answer.error is not None, f"the late approval ended with {answer.told()}")


@REPLAYING.check(
    "other-edit",
    "An approval that comes again with other arguments executes nothing.",
    source=_SAFE,
    fix="Compare the whole payload with the recorded one, the arguments included.",
    needs=("approval", "edits", "executions"),
)
async def other_edit(lab: Lab) -> None:
    thread, (interrupt,) = await _approved(lab)
    answer = await thread.resume(resolve(interrupt, thread.payload("edit")))
    executed = await thread.executed()
    expect(len(executed) == 1, f"executed {len(executed)} times")
    expect(answer.error is not None, f"the changed approval ended with {answer.told()}")
