"""Answers that must not count: of the wrong interrupt, thread, shape or time."""

from __future__ import annotations

import asyncio
import json
import uuid

from agui_bridge.conformance.check import Table
from agui_bridge.conformance.lab import Lab, cancel, resolve
from agui_bridge.conformance.verdicts import expect
from agui_bridge.conformance.wire import Answer

__all__ = ["REFUSING"]

REFUSING = Table("refuse")

_COVER = "AG-UI 1.0, interrupt-resume: coverage of open interrupts"
_UNKNOWN = "AG-UI 1.0, interrupt-resume: unknown interrupt ids"
_PAYLOAD = "AG-UI 1.0, interrupt-resume: the payload is validated against responseSchema"


def _unfinished(answer: Answer, what: str) -> None:
    """A refusal: an error, or the questions again, but never success."""
    asked_again = answer.outcome == "interrupt"
    expect(answer.error is not None or asked_again, f"{what} ended with {answer.told()}")


@REFUSING.check(
    "unknown-id",
    "A resume that names an unknown interrupt executes nothing and is no success.",
    source=_UNKNOWN,
    fix="Act on interrupts only that the server itself raised and stored.",
    needs=("approval", "executions"),
)
async def unknown_id(lab: Lab) -> None:
    thread = lab.thread()
    await thread.pause()
    answer = await thread.resume(resolve({"id": str(uuid.uuid4())}, thread.payload("approve")))
    executed = await thread.executed()
    expect(not executed, f"an unknown id approved the call: {executed}")
    _unfinished(answer, "a resume with an unknown id")


@REFUSING.check(
    "unknown-id-told",
    "An unknown interruptId is an error that the client is told of.",
    source="concepts/interrupts: unknown ids are RUN_ERROR",
    fix="End with RUN_ERROR; a client with a stale card must learn that it is stale.",
    needs=("approval",),
    profile="concepts",
)
async def unknown_id_told(lab: Lab) -> None:
    thread = lab.thread()
    await thread.pause()
    entry = resolve({"id": str(uuid.uuid4())}, thread.payload("approve"))
    for asked in (thread, lab.thread()):
        answer = await asked.resume(entry)
        expect(answer.error is not None, f"it ended with {answer.told()}")


@REFUSING.check(
    "other-thread",
    "An interrupt of one thread can't be answered on another.",
    source="AG-UI 1.0, interrupt-resume: interrupts belong to their thread",
    fix="Look interrupts up by thread and id, never by id alone.",
    needs=("approval", "executions"),
)
async def other_thread(lab: Lab) -> None:
    owner, stranger = lab.thread(), lab.thread()
    interrupts = await owner.pause()
    # It also pretends to have the owner's history, as a client that mixes threads up does.
    answer = await stranger.approve(interrupts, messages=owner.history.messages)
    executed = await owner.executed()
    expect(not executed, f"another thread approved the call: {executed} ({answer.told()})")


@REFUSING.check(
    "partial",
    "A resume that leaves an open interrupt out does not perform its action and is no success.",
    source=_COVER,
    fix="Refuse it, or end with the interrupt outcome again that restates what is open.",
    needs=("parallel", "executions"),
)
async def partial(lab: Lab) -> None:
    thread = lab.thread()
    first, _ = await thread.pause("parallel", 2)
    answer = await thread.approve([first])
    executed = await thread.executed()
    expect(len(executed) < 2, f"the call that nobody answered was executed: {executed}")
    _unfinished(answer, "a resume that answers one of two")


@REFUSING.check(
    "duplicate-entries",
    "A resume with two answers to one interrupt is refused and executes nothing.",
    source=f"{_COVER}; one entry per interrupt",
    fix="Refuse a resume that names an interrupt twice.",
    needs=("approval", "executions"),
)
async def duplicate_entries(lab: Lab) -> None:
    thread = lab.thread()
    (interrupt,) = await thread.pause()
    approve = resolve(interrupt, thread.payload("approve"))
    answer = await thread.resume(resolve(interrupt, thread.payload("deny")), approve)
    executed = await thread.executed()
    expect(not executed, f"executed though it was declined as well: {executed}")
    _unfinished(answer, "a resume with two answers to one interrupt")


@REFUSING.check(
    "empty-resume",
    "An empty resume answers nothing.",
    source=_COVER,
    fix="Treat resume: [] as absent.",
    needs=("approval", "executions"),
)
async def empty_resume(lab: Lab) -> None:
    thread = lab.thread()
    await thread.pause()
    answer = await thread.resume()
    executed = await thread.executed()
    expect(not executed, f"an empty resume approved the call: {executed}")
    _unfinished(answer, "an empty resume")


@REFUSING.check(
    "message",
    "A plain message while an interrupt is open executes nothing and is no success.",
    source=_COVER,
    fix="Refuse it, or restate the open interrupts; never take it for an answer.",
    needs=("approval", "executions"),
)
async def message(lab: Lab) -> None:
    for text in ("yes, approved", "What is the weather?"):
        thread = lab.thread()
        await thread.pause()
        answer = await thread.send(thread.input(text=text))
        executed = await thread.executed()
        expect(not executed, f"the message {text!r} approved the call: {executed}")
        _unfinished(answer, f"the message {text!r}")


@REFUSING.check(
    "stays-open",
    "After a refused message the interrupt can still be answered.",
    source=_COVER,
    fix="A refusal changes nothing that is stored.",
    needs=("approval", "executions"),
)
async def stays_open(lab: Lab) -> None:
    thread = lab.thread()
    interrupts = await thread.pause()
    messages = thread.history.messages
    refused = await thread.send(thread.input(text="What is the weather?"))
    answer = await thread.approve(interrupts, messages=messages)
    executed = await thread.executed()
    told = f"the message ended with {refused.told()}, the approval after it with {answer.told()}"
    expect(len(executed) == 1, f"executed {len(executed)} times: {told}")


@REFUSING.check(
    "restated",
    "A refusal restates the open interrupts, so that a client that lost its card has it back.",
    source="AG-UI 1.0, interrupt-resume: restating what is open; measured on CopilotKit 1.74",
    fix="Send the snapshots and RUN_FINISHED with the open interrupts before RUN_ERROR.",
    needs=("approval",),
    severity="should",
)
async def restated(lab: Lab) -> None:
    thread = lab.thread()
    (interrupt,) = await thread.pause()
    answer = await thread.send(thread.input(text="What is the weather?"))
    ids = [found.get("id") for found in answer.interrupts]
    expect(interrupt["id"] in ids, f"the open interrupt is not restated: {answer.told()}")


@REFUSING.check(
    "form-payload",
    "A payload that violates the responseSchema is refused, and the interrupt stays open.",
    source=_PAYLOAD,
    fix="Validate before the agent sees it; answer with an error and keep the interrupt.",
    needs=("form",),
)
async def form_payload(lab: Lab) -> None:
    for payload in lab.config.answers.bad_form:
        thread = lab.thread()
        (interrupt,) = await thread.pause("form")
        answer = await thread.resume(resolve(interrupt, payload))
        shown = json.dumps(payload)
        _unfinished(answer, f"the payload {shown}")
        later = await thread.resume(resolve(interrupt, thread.payload("form")))
        expect(later.succeeded, f"after {shown} the proper answer ended with {later.told()}")


@REFUSING.check(
    "falsy-payload",
    "A falsy payload is an answer, not a missing one.",
    source="AG-UI 1.0, interrupt-resume: falsy payloads are answers",
    fix="Test for the presence of payload, not for its truth.",
    needs=("falsy",),
)
async def falsy_payload(lab: Lab) -> None:
    thread = lab.thread()
    (interrupt,) = await thread.pause("falsy")
    answer = await thread.resume(resolve(interrupt, False))
    expect(answer.succeeded, f"the payload false ended with {answer.told()}")


@REFUSING.check(
    "expired",
    "An expired interrupt can't be approved any more; nothing is executed.",
    source="AG-UI 1.0, interrupt-resume: expiresAt",
    fix="Compare expiresAt with the server's clock before the answer is taken.",
    needs=("expiring", "executions"),
)
async def expired(lab: Lab) -> None:
    thread = lab.thread()
    interrupts = await thread.pause("expiring")
    await asyncio.sleep(lab.config.expires_after)
    answer = await thread.approve(interrupts)
    executed = await thread.executed()
    expect(not executed, f"executed after it had expired: {executed}")
    expect(not answer.succeeded, "the expired approval was reported as success")


@REFUSING.check(
    "expired-cancel",
    "An expired interrupt can still be cancelled.",
    source="AG-UI 1.0, interrupt-resume: expiresAt",
    fix="Accept status cancelled for an expired interrupt; clients can send nothing else.",
    needs=("expiring", "executions"),
)
async def expired_cancel(lab: Lab) -> None:
    thread = lab.thread()
    (interrupt,) = await thread.pause("expiring")
    await asyncio.sleep(lab.config.expires_after)
    answer = await thread.resume(cancel(interrupt))
    expect(answer.error is None, f"cancelling it ended with {answer.told()}")
    executed = await thread.executed()
    expect(not executed, f"executed though cancelled: {executed}")
