"""The draft of interrupts: one question in `interrupt`, one answer in an object `resume`."""

from __future__ import annotations

import uuid
from typing import Any

from agui_bridge.conformance.check import Table
from agui_bridge.conformance.config import filled
from agui_bridge.conformance.lab import Lab, Thread
from agui_bridge.conformance.verdicts import Blocked, expect
from agui_bridge.conformance.wire import Answer

__all__ = ["DRAFT_PROFILE"]

DRAFT_PROFILE = Table("draft")

_DRAFT = "AG-UI draft, interrupt-aware run lifecycle"


def _url(lab: Lab) -> str:
    url: str = filled(lab.config.draft_url, **lab.names)
    return url


async def _asked(thread: Thread) -> tuple[Answer, dict[str, Any]]:
    answer = await thread.say("approval", url=_url(thread.lab), protocolVersion=None)
    finished = answer.of("RUN_FINISHED")
    interrupt = finished[-1].get("interrupt") if finished else None
    if not isinstance(interrupt, dict) or not interrupt.get("id"):
        raise Blocked(f"there is no interrupt with an id: {answer.told()}")
    return answer, interrupt


async def _resume(thread: Thread, interrupt_id: str) -> Answer:
    resume = {"interruptId": interrupt_id, "payload": thread.payload("approve")}
    body = thread.input(resume=resume, protocolVersion=None)
    return await thread.send(body, url=_url(thread.lab))


@DRAFT_PROFILE.check(
    "pause",
    'A run that stops to ask ends with the outcome "interrupt" and the question in `interrupt`.',
    source=f"{_DRAFT}: RUN_FINISHED",
    fix='Send {outcome: "interrupt", interrupt: {id, reason, payload}} in RUN_FINISHED.',
    needs=("approval", "draft"),
    profile="draft",
)
async def pause(lab: Lab) -> None:
    answer = await lab.thread().say("approval", url=_url(lab), protocolVersion=None)
    finished = answer.of("RUN_FINISHED")
    expect(finished, f"it ended with {answer.told()}")
    outcome, interrupt = finished[-1].get("outcome"), finished[-1].get("interrupt")
    expect(outcome == "interrupt", f"the outcome is {outcome!r}")
    expect(isinstance(interrupt, dict) and interrupt.get("id"), f"interrupt is {interrupt!r}")


@DRAFT_PROFILE.check(
    "resume",
    "An answer as one object is carried out once, also when it comes again.",
    source=f"{_DRAFT}: RunAgentInput.resume",
    fix="Read {interruptId, payload} as the one answer that it is.",
    needs=("approval", "executions", "draft"),
    profile="draft",
)
async def resume(lab: Lab) -> None:
    thread = lab.thread()
    _, interrupt = await _asked(thread)
    answer = await _resume(thread, interrupt["id"])
    await _resume(thread, interrupt["id"])
    executed = await thread.executed()
    expect(len(executed) == 1, f"executed {len(executed)} times: {answer.told()}")


@DRAFT_PROFILE.check(
    "stale",
    "An answer to an unknown interrupt executes nothing.",
    source=f"{_DRAFT}: resume rules",
    fix="Never take an answer for the question that happens to be open.",
    needs=("approval", "executions", "draft"),
    profile="draft",
)
async def stale(lab: Lab) -> None:
    thread = lab.thread()
    await _asked(thread)
    answer = await _resume(thread, str(uuid.uuid4()))
    executed = await thread.executed()
    expect(not executed, f"an unknown id approved the call: {executed} ({answer.told()})")
