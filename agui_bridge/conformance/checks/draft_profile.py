"""The draft of interrupts: one question in `interrupt`, one answer in an object `resume`."""

from __future__ import annotations

import uuid
from typing import Any

from agui_bridge.conformance.check import Table
from agui_bridge.conformance.config import filled
from agui_bridge.conformance.exchange import Answer
from agui_bridge.conformance.lab import Lab, Thread
from agui_bridge.conformance.verdicts import expect, require

DRAFT_PROFILE = Table("draft", needs=("approval", "executions", "draft"))

_DRAFT = "AG-UI draft, interrupt-aware run lifecycle"


@DRAFT_PROFILE.check(
    source=f"{_DRAFT}: RUN_FINISHED",
    fix='Send {outcome: "interrupt", interrupt: {id, reason, payload}} in RUN_FINISHED.',
    needs=("approval", "draft"),
    profile="draft",
)
async def pause(lab: Lab) -> None:
    """A run that stops to ask ends with the outcome "interrupt" and the question in `interrupt`."""
    answer, finished = await _ask(lab.thread())
    expect(finished, f"it ended with {answer.told()}")
    outcome, interrupt = finished.get("outcome"), finished.get("interrupt")
    expect(outcome == "interrupt", f"the outcome is {outcome!r}")
    expect(isinstance(interrupt, dict) and interrupt.get("id"), f"interrupt is {interrupt!r}")


@DRAFT_PROFILE.check(
    source=f"{_DRAFT}: RunAgentInput.resume",
    fix="Read {interruptId, payload} as the one answer that it is.",
    profile="draft",
)
async def resume(lab: Lab) -> None:
    """An answer as one object is carried out once, also when it comes again."""
    thread, interrupt_id = await _paused(lab)
    answer = await _resume(thread, interrupt_id)
    await _resume(thread, interrupt_id)
    await thread.expect_one_execution(answer.told())


@DRAFT_PROFILE.check(
    source=f"{_DRAFT}: resume rules",
    fix="Never take an answer for the question that happens to be open.",
    profile="draft",
)
async def stale(lab: Lab) -> None:
    """An answer to an unknown interrupt executes nothing."""
    thread, _ = await _paused(lab)
    answer = await _resume(thread, str(uuid.uuid4()))
    await thread.expect_no_execution(f"an unknown id approved the call ({answer.told()})")


def _url(lab: Lab) -> str:
    url: str = filled(lab.config.draft_url, **lab.names)
    return url


async def _ask(thread: Thread) -> tuple[Answer, dict[str, Any]]:
    """What came back, and its RUN_FINISHED, or {}."""
    answer = await thread.say("approval", url=_url(thread.lab), protocolVersion=None)
    return answer, (answer.of("RUN_FINISHED") or [{}])[-1]


async def _paused(lab: Lab) -> tuple[Thread, str]:
    thread = lab.thread()
    answer, finished = await _ask(thread)
    interrupt = finished.get("interrupt")
    found = interrupt.get("id") if isinstance(interrupt, dict) else None
    require(found, f"there is no interrupt with an id: {answer.told()}")
    return thread, str(found)


async def _resume(thread: Thread, interrupt_id: str) -> Answer:
    resume = {"interruptId": interrupt_id, "payload": thread.payload("approve")}
    body = thread.input(resume=resume, protocolVersion=None)
    return await thread.send(body, url=_url(thread.lab))
