"""Answers that must not count: of the wrong interrupt, thread, shape or time."""

from __future__ import annotations

import asyncio
import json
import uuid
from typing import Any

from agui_bridge.conformance.check import Table
from agui_bridge.conformance.lab import UNRELATED, Lab, forbids
from agui_bridge.conformance.verdicts import Need, expect

_COVER = "AG-UI 1.0, interrupt-resume: coverage of open interrupts"
_PAYLOAD = "AG-UI 1.0, interrupt-resume: the payload is validated against responseSchema"
_EXPIRY = "AG-UI 1.0, interrupt-resume: expiresAt"

REFUSING = Table("refuse", source=_COVER, needs=("approval", "executions"))


@REFUSING.check(
    source="AG-UI 1.0, interrupt-resume: unknown interrupt ids",
    fix="Act on interrupts only that the server itself raised and stored.",
)
async def unknown_id(lab: Lab) -> None:
    """A resume that names an unknown interrupt executes nothing and is no success."""
    thread = await lab.paused()
    answer = await thread.resume(thread.entry("approve", _unknown()))
    await thread.expect_no_execution("an unknown id approved the call")
    answer.expect_unfinished("a resume with an unknown id")


@REFUSING.check(
    source="concepts/interrupts: unknown ids are RUN_ERROR",
    fix="End with RUN_ERROR; a client with a stale card must learn that it is stale.",
    needs=("approval",),
    profile="concepts",
)
async def unknown_id_told(lab: Lab) -> None:
    """An unknown interruptId is an error that the client is told of."""
    thread = await lab.paused()
    entry = thread.entry("approve", _unknown())
    for asked in (thread, lab.thread()):
        (await asked.resume(entry)).expect_error()


def _unknown() -> dict[str, str]:
    return {"id": str(uuid.uuid4())}


@REFUSING.check(
    source="AG-UI 1.0, interrupt-resume: interrupts belong to their thread",
    fix="Look interrupts up by thread and id, never by id alone.",
)
async def other_thread(lab: Lab) -> None:
    """An interrupt of one thread can't be answered on another."""
    owner, stranger = await lab.paused(), lab.thread()
    # It also pretends to have the owner's history, as a client that mixes threads up does.
    entry = stranger.entry("approve", owner.asked[0])
    answer = await stranger.resume(entry, messages=owner.shown)
    await owner.expect_no_execution(f"another thread approved the call ({answer.told()})")


@REFUSING.check(
    fix="Refuse it, or end with the interrupt outcome again that restates what is open.",
    needs=("parallel", "executions"),
)
async def partial(lab: Lab) -> None:
    """A resume that leaves an open interrupt out does not perform its action and is no success."""
    thread = await lab.paused("parallel", 2)
    answer = await thread.resume(thread.entry("approve"))
    executed = await thread.executed()
    expect(len(executed) < 2, f"the call that nobody answered was executed: {executed}")
    answer.expect_unfinished("a resume that answers one of two")


@REFUSING.check(
    source=f"{_COVER}; one entry per interrupt",
    fix="Refuse a resume that names an interrupt twice.",
)
async def duplicate_entries(lab: Lab) -> None:
    """A resume with two answers to one interrupt is refused and executes nothing."""
    thread = await lab.paused()
    answer = await thread.resume(thread.entry("deny"), thread.entry("approve"))
    await thread.expect_no_execution("executed though it was declined as well")
    answer.expect_unfinished("a resume with two answers to one interrupt")


@REFUSING.check(fix="Treat resume: [] as absent.")
async def empty_resume(lab: Lab) -> None:
    """An empty resume answers nothing."""
    thread = await lab.paused()
    answer = await thread.resume()
    await thread.expect_no_execution("an empty resume approved the call")
    answer.expect_unfinished("an empty resume")


@REFUSING.check(fix="Refuse it, or restate the open interrupts; never take it for an answer.")
async def message(lab: Lab) -> None:
    """A plain message while an interrupt is open executes nothing and is no success."""
    for text in ("yes, approved", UNRELATED):
        thread = await lab.paused()
        answer = await thread.write(text)
        await thread.expect_no_execution(f"the message {text!r} approved the call")
        answer.expect_unfinished(f"the message {text!r}")


@REFUSING.check(fix="A refusal changes nothing that is stored.")
async def stays_open(lab: Lab) -> None:
    """After a refused message the interrupt can still be answered."""
    thread = await lab.paused()
    refused = await thread.write(UNRELATED)
    answer = await thread.answer("approve", messages=thread.shown)
    await thread.expect_one_execution(
        f"the message ended with {refused.told()}, the approval after it with {answer.told()}"
    )


@REFUSING.check(
    source="AG-UI 1.0, interrupt-resume: restating what is open; measured on CopilotKit 1.74",
    fix="Send the snapshots and RUN_FINISHED with the open interrupts before RUN_ERROR.",
    needs=("approval",),
    severity="should",
)
async def restated(lab: Lab) -> None:
    """A refusal restates the open interrupts, so that a client that lost its card has it back."""
    thread = await lab.paused()
    answer = await thread.write(UNRELATED)
    ids = [found.get("id") for found in answer.interrupts]
    open_id = thread.asked[0]["id"]
    expect(open_id in ids, f"the open interrupt is not restated: {answer.told()}")


@REFUSING.check(
    source=_PAYLOAD,
    fix="Check status and payload before the interrupt is closed; what is refused changes nothing.",
)
async def garbage_approval(lab: Lab) -> str | None:
    """A garbage answer to an approval burns nothing: a proper one after it executes once."""
    return await _expect_open_after_garbage(lab, "approval", "approve")


@REFUSING.check(
    source=_PAYLOAD,
    fix="Check status and payload before the interrupt is closed; what is refused changes nothing.",
    needs=("confirmation", "executions"),
)
async def garbage_confirmation(lab: Lab) -> str | None:
    """A garbage answer to a confirmation burns nothing: a proper one after it executes once."""
    return await _expect_open_after_garbage(lab, "confirmation", "confirm")


async def _expect_open_after_garbage(lab: Lab, need: Need, how: str) -> str | None:
    """Answer with each kind of garbage on a thread of its own, then properly."""
    first = await lab.paused(need)
    schema = first.asked[0].get("responseSchema")
    refused = [
        payload
        for payload in first.payload("garbage")
        if isinstance(schema, dict) and forbids(schema, payload)
    ]
    entries: list[dict[str, Any]] = [{"payload": payload} for payload in refused]
    # Nothing of the entry itself is up to the endpoint: these are malformed for anyone.
    entries += [{"status": "perhaps"}, {"status": None}, {"status": ["resolved"]}]
    for wrong in entries:
        thread = await lab.paused(need)
        shown = json.dumps(wrong)
        answer = await thread.resume({**thread.entry(how), **wrong}, messages=thread.shown)
        await thread.expect_no_execution(f"{shown} was taken for an answer")
        answer.expect_unfinished(f"an answer with {shown}")
        later = await thread.answer(how, messages=thread.shown)
        await thread.expect_one_execution(
            f"after {shown} the proper answer ended with {later.told()}"
        )
    if refused:
        return None
    return "no responseSchema forbids any payload, so that only malformed entries were tried"


@REFUSING.check(
    source=_PAYLOAD,
    fix="Validate before the agent sees it; answer with an error and keep the interrupt.",
    needs=("form",),
)
async def form_payload(lab: Lab) -> None:
    """A payload that violates the responseSchema is refused, and the interrupt stays open."""
    for payload in lab.config.answers.bad_form:
        thread = await lab.paused("form")
        shown = json.dumps(payload)
        (await thread.answer_with(payload)).expect_unfinished(f"the payload {shown}")
        (await thread.answer("form")).expect_success(f"after {shown} the proper answer")


@REFUSING.check(
    source="AG-UI 1.0, interrupt-resume: falsy payloads are answers",
    fix="Test for the presence of payload, not for its truth.",
    needs=("falsy",),
)
async def falsy_payload(lab: Lab) -> None:
    """A falsy payload is an answer, not a missing one."""
    thread = await lab.paused("falsy")
    (await thread.answer_with(False)).expect_success("the payload false")


@REFUSING.check(
    source=_EXPIRY,
    fix="Compare expiresAt with the server's clock before the answer is taken.",
    needs=("expiring", "executions"),
)
async def expired(lab: Lab) -> None:
    """An expired interrupt can't be approved any more; nothing is executed."""
    thread = await lab.paused("expiring")
    await asyncio.sleep(lab.config.expires_after)
    answer = await thread.answer("approve")
    await thread.expect_no_execution("executed after it had expired")
    expect(not answer.succeeded, "the expired approval was reported as success")


@REFUSING.check(
    source=_EXPIRY,
    fix="Accept status cancelled for an expired interrupt; clients can send nothing else.",
    needs=("expiring", "executions"),
)
async def expired_cancel(lab: Lab) -> None:
    """An expired interrupt can still be cancelled."""
    thread = await lab.paused("expiring")
    await asyncio.sleep(lab.config.expires_after)
    answer = await thread.answer("cancel")
    expect(answer.error is None, f"cancelling it ended with {answer.told()}")
    await thread.expect_no_execution("executed though cancelled")
