"""Answers at the same time, in one process and in two."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias

from agui_bridge.conformance.check import Table
from agui_bridge.conformance.exchange import Event, asks_about_a_call
from agui_bridge.conformance.lab import Lab, Thread
from agui_bridge.conformance.verdicts import Blocked, Inapplicable, Need, expect, require

# --- several calls that wait for approval at once ---

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


_CLAIM: Final = "Claim the interrupt with a compare-and-swap in the store before the tool runs."
_CLAIM_IN_STORE: Final = f"{_CLAIM} A lock within one process is not enough."
_ALONE: Final[tuple[Need, ...]] = ("approval", "executions")

RACING = Table(
    "race",
    source="AG-UI 1.0, interrupt-resume: a replay of the same answer is safe",
    needs=("approval", "executions", "second"),
)

Race: TypeAlias = Callable[[Lab, str, bool], Awaitable[None]]
"""Of a lab, the second URL (or none), and which of two answers is sent first."""


async def _identical(lab: Lab, second_url: str, _: bool) -> None:
    thread = await lab.paused()
    answers = await asyncio.gather(
        *(thread.answer("approve", messages=thread.shown, url=url) for url in ("", second_url))
    )
    executed = await thread.expect_no_second_execution()
    require(executed, f"neither was carried out: {', '.join(a.told() for a in answers)}")


async def _conflicting(lab: Lab, second_url: str, approve_first: bool) -> None:
    thread = await lab.paused()
    first, second = ("approve", "deny") if approve_first else ("deny", "approve")
    answers = await asyncio.gather(
        thread.answer(first, messages=thread.shown),
        thread.answer(second, messages=thread.shown, url=second_url),
    )
    approved, denied = answers if approve_first else reversed(answers)
    executed = await thread.expect_no_second_execution()
    told = f"approval: {approved.told()}; refusal: {denied.told()}"
    expect(not (executed and denied.succeeded), f"executed, and declined with success ({told})")
    both = approved.error is None and denied.error is None
    expect(not both, f"both answers were accepted ({told})")


async def _often(lab: Lab, race: Race, second_url: str) -> None:
    """Run a race several times, one after the other: at once they would only queue up."""
    for number in range(lab.config.races):
        await race(lab, second_url, number % 2 == 0)


@RACING.check(fix=_CLAIM, needs=_ALONE)
async def identical(lab: Lab) -> None:
    """Two identical approvals at once execute the call once."""
    await _often(lab, _identical, "")


@RACING.check(fix=_CLAIM, needs=_ALONE)
async def conflicting(lab: Lab) -> None:
    """Of an approval and a refusal at once, one wins and the other is refused."""
    await _often(lab, _conflicting, "")


@RACING.check(fix=_CLAIM_IN_STORE)
async def identical_two_processes(lab: Lab) -> None:
    """Two identical approvals at once, on two processes with one store, execute the call once."""
    await _often(lab, _identical, lab.second_url)


@RACING.check(fix=_CLAIM_IN_STORE)
async def conflicting_two_processes(lab: Lab) -> None:
    """Of an approval and a refusal at once, on two processes with one store, one wins."""
    await _often(lab, _conflicting, lab.second_url)


@RACING.check(
    source="AG-UI 1.0, interrupt-resume: a resume is a new run of the thread",
    fix="Keep open interrupts and their continuation in the store, not in memory.",
)
async def replica(lab: Lab) -> None:
    """What one process asked can be answered on another with the same store."""
    thread = await lab.paused()
    answer = await thread.answer("approve", url=lab.second_url)
    await thread.expect_one_execution(answer.told())


@RACING.check(fix="Keep receipts of answers in the store.")
async def replica_replay(lab: Lab) -> None:
    """An answer that one process took is not carried out again by another."""
    thread = await lab.paused()
    await thread.answer("approve")
    await thread.answer("approve", messages=thread.shown, url=lab.second_url)
    await thread.expect_no_second_execution()
