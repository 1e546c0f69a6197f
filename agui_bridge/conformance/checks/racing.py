"""Answers at the same time, in one process and in two."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from agui_bridge.conformance.check import Table
from agui_bridge.conformance.lab import Lab
from agui_bridge.conformance.verdicts import expect, require

__all__ = ["RACING"]

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


def _check_race(name: str, sentence: str, race: Race, *, in_two: bool = False) -> None:
    """Add a race as a check, in one process or in two."""
    fix = "Claim the interrupt with a compare-and-swap in the store before the tool runs."

    @RACING.check(
        name,
        sentence,
        fix=f"{fix} A lock within one process is not enough." if in_two else fix,
        needs=("approval", "executions", "second") if in_two else ("approval", "executions"),
    )
    async def run(lab: Lab) -> None:
        # Several times, one after the other: at once they would only queue up.
        for number in range(lab.config.races):
            await race(lab, lab.second_url if in_two else "", number % 2 == 0)


_check_race("identical", "Two identical approvals at once execute the call once.", _identical)
_check_race(
    "conflicting",
    "Of an approval and a refusal at once, one wins and the other is refused.",
    _conflicting,
)
_check_race(
    "identical-two-processes",
    "Two identical approvals at once, on two processes with one store, execute the call once.",
    _identical,
    in_two=True,
)
_check_race(
    "conflicting-two-processes",
    "Of an approval and a refusal at once, on two processes with one store, one wins.",
    _conflicting,
    in_two=True,
)


@RACING.check(
    "replica",
    "What one process asked can be answered on another with the same store.",
    source="AG-UI 1.0, interrupt-resume: a resume is a new run of the thread",
    fix="Keep open interrupts and their continuation in the store, not in memory.",
)
async def replica(lab: Lab) -> None:
    thread = await lab.paused()
    answer = await thread.answer("approve", url=lab.second_url)
    await thread.expect_one_execution(answer.told())


@RACING.check(
    "replica-replay",
    "An answer that one process took is not carried out again by another.",
    fix="Keep receipts of answers in the store.",
)
async def replica_replay(lab: Lab) -> None:
    thread = await lab.paused()
    await thread.answer("approve")
    await thread.answer("approve", messages=thread.shown, url=lab.second_url)
    await thread.expect_no_second_execution()
