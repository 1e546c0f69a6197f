"""Requests that come again, lists that are behind, and inputs that bring nothing.

AG-UI 1.0 leaves open what they mean. A retry of a proxy and a second tab send them all the same,
and what they execute nobody has asked for.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from agui_bridge.conformance.check import Table
from agui_bridge.conformance.evidence import shortened
from agui_bridge.conformance.lab import UNRELATED, Lab, Thread
from agui_bridge.conformance.verdicts import expect, require
from agui_bridge.conformance.wire import Answer, Event, asks_about_a_call

__all__ = ["REPEATING"]

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
    until = max(n for n, m in enumerate(thread.shown) if m.get("role") == "user")
    await _expect_quiet(thread, await thread.send(thread.input(messages=thread.shown[: until + 1])))


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
