"""Several calls that wait for approval at once."""

from __future__ import annotations

import json

from agui_bridge.conformance.check import Table
from agui_bridge.conformance.lab import Lab, Thread
from agui_bridge.conformance.verdicts import Blocked, Inapplicable, expect, require
from agui_bridge.conformance.wire import Event, asks_about_a_call

__all__ = ["PARALLEL"]

PARALLEL = Table(
    "parallel",
    source="AG-UI 1.0, interrupt-resume: several interrupts in one outcome",
    needs=("parallel", "executions"),
)


@PARALLEL.check(fix="Match answers and results by interrupt and call id, never by the tool's name.")
async def both(lab: Lab) -> None:
    """Two calls of one tool, both approved, are executed once each, with a result for each."""
    thread = await lab.paused("parallel", 2)
    answer = await thread.answer("approve")
    executed = await thread.executed()
    expect(
        len(executed) == 2 and len(set(executed)) == 2,
        f"executed {len(executed)} times ({executed}): {answer.told()}",
    )
    calls = {asked.get("toolCallId") for asked in thread.asked if asks_about_a_call(asked)}
    missing = calls - {*answer.calls("TOOL_CALL_RESULT")}
    expect(not missing, f"no result for {sorted(map(str, missing))}")


@PARALLEL.check(fix="Decide on each call by its own entry.")
async def one_cancelled(lab: Lab) -> None:
    """Of two calls, one approved and one cancelled, only the approved one is executed."""
    thread = await lab.paused("parallel", 2)
    first, second = thread.asked
    answer = await thread.resume(thread.entry("approve", first), thread.entry("cancel", second))
    await thread.expect_one_execution(answer.told())


@PARALLEL.check(fix="Match answers by interrupt id, never by position.")
async def one_declined(lab: Lab) -> None:
    """Of two calls, whichever is approved, exactly that one is executed."""
    for number in (0, 1):
        thread = await lab.paused("parallel", 2)
        if not any(map(asks_about_a_call, thread.asked)):
            raise Inapplicable("it asks without tool calls, which alone could be told apart")
        approved, declined = thread.asked[number], thread.asked[1 - number]
        wanted = _arguments(thread, approved)
        own = wanted - _arguments(thread, declined)
        entries = [thread.entry("approve", approved), thread.entry("deny", declined)]
        # In the other order than they were asked, which must not matter.
        answer = await thread.resume(*(entries if number else reversed(entries)))
        executed = await thread.expect_one_execution(answer.told())
        require(own, "the two calls can't be told apart by their arguments")
        shown = any(value in executed for value in own)
        expect(shown, f"approved was {sorted(wanted)}, executed {executed}")


def _arguments(thread: Thread, interrupt: Event) -> set[str]:
    """The texts among the arguments of the call that an interrupt asks about.

    Raises:
        Blocked: the client's messages do not show the call.
    """
    for message in thread.history.messages:
        for call in message.get("toolCalls") or ():
            if call["id"] == interrupt.get("toolCallId"):
                values = json.loads(call["function"]["arguments"]).values()
                return {value for value in values if isinstance(value, str)}
    raise Blocked("the client's messages do not show the call")
