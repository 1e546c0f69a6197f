"""Answers at the same time, in one process and in two."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from agui_bridge.conformance.check import Table
from agui_bridge.conformance.lab import Lab, resolve
from agui_bridge.conformance.verdicts import Blocked, expect
from agui_bridge.conformance.wire import Answer

__all__ = ["RACING"]

RACING = Table("race")

Race: TypeAlias = Callable[[Lab, str, bool], Awaitable[None]]
"""Of a lab, the second URL (or none), and which of two answers is sent first."""

_SAFE = "AG-UI 1.0, interrupt-resume: a replay of the same answer is safe"
_CLAIM = "Claim the interrupt with a compare-and-swap in the store before the tool runs."


async def _identical(lab: Lab, second_url: str, _: bool) -> None:
    thread = lab.thread()
    interrupts = await thread.pause()
    messages = thread.history.messages
    answers = await asyncio.gather(
        *(
            thread.approve(interrupts, messages=messages, url=url)
            for url in (lab.url, second_url or lab.url)
        )
    )
    executed = await thread.executed()
    expect(len(executed) <= 1, f"executed {len(executed)} times")
    if not executed:
        raise Blocked(f"neither was carried out: {', '.join(a.told() for a in answers)}")


async def _conflicting(lab: Lab, second_url: str, approve_first: bool) -> None:
    thread = lab.thread()
    (interrupt,) = await thread.pause()
    messages = thread.history.messages
    yes = resolve(interrupt, thread.payload("approve"))
    no = resolve(interrupt, thread.payload("deny"))
    first, second = (yes, no) if approve_first else (no, yes)
    answers = await asyncio.gather(
        thread.resume(first, messages=messages),
        thread.resume(second, messages=messages, url=second_url),
    )
    approved, denied = answers if approve_first else reversed(answers)
    executed = await thread.executed()
    expect(len(executed) <= 1, f"executed {len(executed)} times")
    told = f"approval: {approved.told()}; refusal: {denied.told()}"
    expect(not (executed and denied.succeeded), f"executed, and declined with success ({told})")
    both = approved.error is None and denied.error is None
    expect(not both, f"both answers were accepted ({told})")


async def _often(lab: Lab, race: Race, second_url: str) -> None:
    """Run a race several times, one after the other: at once they would only queue up."""
    for number in range(lab.config.races):
        await race(lab, second_url, number % 2 == 0)


@RACING.check(
    "identical",
    "Two identical approvals at once execute the call once.",
    source=_SAFE,
    fix=_CLAIM,
    needs=("approval", "executions"),
)
async def identical(lab: Lab) -> None:
    await _often(lab, _identical, "")


@RACING.check(
    "conflicting",
    "Of an approval and a refusal at once, one wins and the other is refused.",
    source=_SAFE,
    fix=_CLAIM,
    needs=("approval", "executions"),
)
async def conflicting(lab: Lab) -> None:
    await _often(lab, _conflicting, "")


@RACING.check(
    "identical-two-processes",
    "Two identical approvals at once, on two processes with one store, execute the call once.",
    source=_SAFE,
    fix=f"{_CLAIM} A lock within one process is not enough.",
    needs=("approval", "executions", "second"),
)
async def identical_two_processes(lab: Lab) -> None:
    await _often(lab, _identical, lab.second_url)


@RACING.check(
    "conflicting-two-processes",
    "Of an approval and a refusal at once, on two processes with one store, one wins.",
    source=_SAFE,
    fix=f"{_CLAIM} A lock within one process is not enough.",
    needs=("approval", "executions", "second"),
)
async def conflicting_two_processes(lab: Lab) -> None:
    await _often(lab, _conflicting, lab.second_url)


@RACING.check(
    "replica",
    "What one process asked can be answered on another with the same store.",
    source="AG-UI 1.0, interrupt-resume: a resume is a new run of the thread",
    fix="Keep open interrupts and their continuation in the store, not in memory.",
    needs=("approval", "executions", "second"),
)
async def replica(lab: Lab) -> None:
    thread = lab.thread()
    answer = await thread.approve(await thread.pause(), url=lab.second_url)
    executed = await thread.executed()
    expect(len(executed) == 1, f"executed {len(executed)} times: {answer.told()}")


@RACING.check(
    "replica-replay",
    "An answer that one process took is not carried out again by another.",
    source=_SAFE,
    fix="Keep receipts of answers in the store.",
    needs=("approval", "executions", "second"),
)
async def replica_replay(lab: Lab) -> None:
    thread = lab.thread()
    interrupts = await thread.pause()
    messages = thread.history.messages
    answers: list[Answer] = [await thread.approve(interrupts, messages=messages)]
    answers.append(await thread.approve(interrupts, messages=messages, url=lab.second_url))
    executed = await thread.executed()
    expect(len(executed) <= 1, f"executed {len(executed)} times")
