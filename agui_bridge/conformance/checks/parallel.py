"""Several calls that wait for approval at once."""

from __future__ import annotations

import json

from agui_bridge.conformance.check import Table
from agui_bridge.conformance.lab import Lab, Thread, cancel, resolve
from agui_bridge.conformance.verdicts import Blocked, expect
from agui_bridge.conformance.wire import Answer, Event

__all__ = ["PARALLEL"]

PARALLEL = Table("parallel")

_BATCH = "AG-UI 1.0, interrupt-resume: several interrupts in one outcome"


def _results(answer: Answer) -> set[object]:
    return {event.get("toolCallId") for event in answer.of("TOOL_CALL_RESULT")}


@PARALLEL.check(
    "both",
    "Two calls of one tool, both approved, are executed once each, with a result for each.",
    source=_BATCH,
    fix="Match answers and results by interrupt and call id, never by the tool's name.",
    needs=("parallel", "executions"),
)
async def both(lab: Lab) -> None:
    thread = lab.thread()
    interrupts = await thread.pause("parallel", 2)
    answer = await thread.approve(interrupts)
    executed = await thread.executed()
    expect(
        len(executed) == 2 and len(set(executed)) == 2,
        f"executed {len(executed)} times ({executed}): {answer.told()}",
    )
    missing = {i.get("toolCallId") for i in interrupts} - _results(answer)
    expect(not missing, f"no result for {sorted(map(str, missing))}")


@PARALLEL.check(
    "one-cancelled",
    "Of two calls, one approved and one cancelled, only the approved one is executed.",
    source=_BATCH,
    fix="Decide on each call by its own entry.",
    needs=("parallel", "executions"),
)
async def one_cancelled(lab: Lab) -> None:
    thread = lab.thread()
    first, second = await thread.pause("parallel", 2)
    answer = await thread.resume(resolve(first, thread.payload("approve")), cancel(second))
    executed = await thread.executed()
    expect(len(executed) == 1, f"executed {len(executed)} times: {answer.told()}")


@PARALLEL.check(
    "one-declined",
    "Of two calls, whichever is approved, exactly that one is executed.",
    source=_BATCH,
    fix="Match answers by interrupt id, never by position.",
    needs=("parallel", "executions"),
)
async def one_declined(lab: Lab) -> None:
    for approved in (0, 1):
        thread = lab.thread()
        interrupts = await thread.pause("parallel", 2)
        wanted = _arguments(thread, interrupts[approved])
        other = _arguments(thread, interrupts[1 - approved])
        entries = [
            resolve(interrupt, thread.payload("approve" if number == approved else "deny"))
            for number, interrupt in enumerate(interrupts)
        ]
        # In the other order than they were asked, which must not matter.
        answer = await thread.resume(*reversed(entries))
        executed = await thread.executed()
        expect(len(executed) == 1, f"executed {len(executed)} times: {answer.told()}")
        if not wanted - other:
            raise Blocked("the two calls can't be told apart by their arguments")
        shown = any(value in executed[0] for value in wanted - other)
        expect(shown, f"approved was {sorted(wanted)}, executed {executed[0]}")


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
