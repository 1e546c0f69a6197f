"""Requests that come again, lists that are behind, and inputs that bring nothing.

AG-UI 1.0 leaves open what they mean. A retry of a proxy and a second tab send them all the same,
and what they execute nobody has asked for.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from agui_bridge.conformance.check import Table
from agui_bridge.conformance.exchange import Answer, Event, asks_about_a_call, shortened
from agui_bridge.conformance.lab import UNRELATED, Lab, Thread
from agui_bridge.conformance.verdicts import expect, require

# --- answers that come again, or come again and differ ---

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


REPEATING = Table("repeat", needs=("approval", "executions"))

_OPEN = "AG-UI 1.0 leaves it open; agui-bridge's contract"


@REPEATING.check(
    source=f"{_OPEN}, row 8a",
    fix="Know a request again by its runId and its newest message, and show how it ended.",
    severity="should",
    profile="agui-bridge",
)
async def same_request(lab: Lab) -> None:
    """The same request sent again, once its call was executed, neither asks nor executes again."""
    thread = await _executed(lab)
    await _expect_quiet(thread, await thread.send(thread.answers[0].sent))


@REPEATING.check(
    source=f"{_OPEN}, Going back",
    fix="Keep what was executed in the conversation, whatever a client's list lacks.",
    needs=("approval", "executions", "text", "memory"),
    severity="should",
    profile="agui-bridge",
)
async def stale_list(lab: Lab) -> str | None:
    """A page that is behind, and says something, does not take an executed call back."""
    thread = lab.thread()
    await thread.say("text")
    behind = list(thread.history.messages)
    thread = await _executed(lab, thread)
    said = {"id": str(uuid.uuid4()), "role": "user", "content": UNRELATED}
    answer = await thread.send(thread.input(messages=[*behind, said]))
    await _expect_quiet(thread, answer)
    if not asks_about_a_call(thread.asked[0]):
        return "it asks without a tool call: whether its conversation keeps it can't be seen"
    told = answer.of("MESSAGES_SNAPSHOT")
    if not told:
        # A replay shows the conversation.
        told = (await thread.answer("approve")).of("MESSAGES_SNAPSHOT")
    if not told:
        return "no MESSAGES_SNAPSHOT told what became of the call"
    held = thread.marker in str([m for m in told[-1].get("messages") or () if _is_calls(m)])
    shown = [shortened("event", told[-1])]
    expect(held, "the executed call is no longer in the conversation", shown)
    return None


@REPEATING.check(
    source=f"{_OPEN}, row 19a",
    fix="Answer a message once: a list that ends with it, and lacks what came after, is behind.",
    needs=("approval", "executions", "memory"),
    severity="should",
    profile="agui-bridge",
)
async def answered_message(lab: Lab) -> None:
    """A list that ends with a message whose call was executed neither asks nor executes again."""
    thread = await _executed(lab)
    users = [n for n, m in enumerate(thread.shown) if m.get("role") == "user"]
    require(users, "the client's messages do not show what the user said")
    messages = thread.shown[: users[-1] + 1]
    await _expect_quiet(thread, await thread.send(thread.input(messages=messages)))


@REPEATING.check(
    source=f"{_OPEN}, rows 19a and 19b",
    fix="Begin a run for what an input brings, not for what stands in the conversation already.",
    severity="should",
    profile="agui-bridge",
)
async def nothing_new(lab: Lab) -> None:
    """An input without anything new neither asks nor executes again."""
    thread = await _executed(lab)
    await _expect_quiet(thread, await thread.send(thread.input()))


async def _executed(lab: Lab, thread: Thread | None = None) -> Thread:
    """A thread whose call was approved and executed once."""
    thread = await lab.paused(thread=thread)
    await thread.answer("approve")
    require(len(await thread.executed()) == 1, "an approved call was not executed once")
    return thread


async def _expect_quiet(thread: Thread, answer: Answer) -> None:
    await thread.expect_one_execution(answer.told())
    asked: Sequence[Event] = answer.interrupts
    expect(not asked, f"it asks for the executed call again: {asked[:1]}")


def _is_calls(message: Event) -> bool:
    return bool(message.get("toolCalls")) or message.get("role") == "tool"
