"""Answers that come again, or come again and differ."""

from __future__ import annotations

from agui_bridge.conformance.check import Table
from agui_bridge.conformance.lab import Lab, Thread
from agui_bridge.conformance.verdicts import require

__all__ = ["REPLAYING"]

REPLAYING = Table(
    "replay",
    source="AG-UI 1.0, interrupt-resume: a replay of the same answer is safe",
    needs=("approval", "executions"),
)


async def _approved(lab: Lab) -> Thread:
    thread = await lab.paused()
    await thread.answer("approve")
    require(await thread.executed(), "an approved call was not executed")
    return thread


@REPLAYING.check(
    fix="Claim the interrupt durably before the tool runs; keep a receipt of its answer."
)
async def once(lab: Lab) -> None:
    """The same answer sent again executes nothing again."""
    thread = await _approved(lab)
    await thread.answer("approve")
    await thread.expect_one_execution()


@REPLAYING.check(
    fix="Let the store decide what was answered, not the messages that a client sends."
)
async def old_history(lab: Lab) -> None:
    """The same answer sent again by a client that still has the old messages executes nothing."""
    thread = await lab.paused()
    for _ in range(3):
        await thread.answer("approve", messages=thread.shown)
    executed = await thread.expect_no_second_execution()
    require(executed, "an approved call was not executed")


@REPLAYING.check(
    fix="Answer a replay with the snapshots and the outcome of the first time.", severity="should"
)
async def answered(lab: Lab) -> None:
    """The same answer sent again is told how it ended, not an error."""
    answer = await (await _approved(lab)).answer("approve")
    answer.expect_success("the replay")


@REPLAYING.check(fix="Compare it with the recorded answer, and refuse one that differs.")
async def conflict(lab: Lab) -> None:
    """Another answer to an answered interrupt is refused."""
    answer = await (await _approved(lab)).answer("deny")
    answer.expect_error("declining what was approved")


@REPLAYING.check(fix="An answer is final: refuse a later one that differs.")
async def approve_after_deny(lab: Lab) -> None:
    """What was declined can't be approved afterwards."""
    thread = await lab.paused()
    await thread.answer("deny")
    answers = [await thread.answer("approve")]
    answers.append(await thread.answer("approve", messages=thread.shown))
    await thread.expect_no_execution("executed after it had been declined")
    for answer in answers:
        answer.expect_error("the late approval")


@REPLAYING.check(fix="A cancel closes the interrupt: refuse a later answer.")
async def approve_after_cancel(lab: Lab) -> None:
    """What was cancelled can't be approved afterwards."""
    thread = await lab.paused()
    await thread.answer("cancel")
    answer = await thread.answer("approve", messages=thread.shown)
    await thread.expect_no_execution("executed after it had been cancelled")
    answer.expect_error("the late approval")


@REPLAYING.check(
    fix="Compare the whole payload with the recorded one, the arguments included.",
    needs=("approval", "edits", "executions"),
)
async def other_edit(lab: Lab) -> None:
    """An approval that comes again with other arguments executes nothing."""
    thread = await _approved(lab)
    answer = await thread.answer("edit")
    await thread.expect_one_execution()
    answer.expect_error("the changed approval")
