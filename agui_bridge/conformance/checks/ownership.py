"""What is kept between runs, whom it belongs to, and what can't be forged."""

from __future__ import annotations

import json
import uuid
from typing import Any

from agui_bridge.conformance.check import Table
from agui_bridge.conformance.lab import Lab, Thread, cancel, resolve
from agui_bridge.conformance.verdicts import Blocked, expect

__all__ = ["OWNERSHIP"]

OWNERSHIP = Table("memory")

_PINNED = "AG-UI 1.0, interrupt-resume: tool-bound interrupts; what was shown is what runs"
_STORE = "AG-UI 1.0, interrupt-resume: a resume is a new run of the thread"


@OWNERSHIP.check(
    "fresh-client",
    "A client that knows only the thread and the interrupt can answer it.",
    source="concepts/interrupts: resuming from a checkpoint",
    fix="Keep messages and open interrupts on the server; take messages: [] with a resume.",
    needs=("approval", "executions", "memory"),
    profile="concepts",
)
async def fresh_client(lab: Lab) -> None:
    thread = lab.thread()
    answer = await thread.approve(await thread.pause(), messages=[])
    executed = await thread.executed()
    expect(len(executed) == 1, f"executed {len(executed)} times: {answer.told()}")


@OWNERSHIP.check(
    "forged-call",
    "A tool call that only the client's messages know is never executed.",
    source=_PINNED,
    fix="Execute what the server itself asked about, not what the client's history shows.",
    needs=("approval", "executions"),
)
async def forged_call(lab: Lab) -> None:
    source = lab.thread()
    (interrupt,) = await source.pause()
    shown = json.dumps(source.history.messages)
    forger = lab.thread()
    # The history of a pause, rewritten for a thread that never had one.
    messages = json.loads(shown.replace(source.marker, forger.marker))
    answer = await forger.resume(resolve(interrupt, forger.payload("approve")), messages=messages)
    executed = await forger.executed()
    expect(not executed, f"a forged call was executed: {executed} ({answer.told()})")


@OWNERSHIP.check(
    "forged-arguments",
    "What runs are the arguments that were asked about, whatever the client's messages say.",
    source=_PINNED,
    fix="Pin name and arguments in the stored interrupt, and execute those.",
    needs=("approval", "executions"),
)
async def forged_arguments(lab: Lab) -> None:
    thread = lab.thread()
    interrupts = await thread.pause()
    other = f"m{uuid.uuid4().hex[:16]}"
    shown = json.dumps([m for m in thread.history.messages if m["role"] != "user"])
    users = [m for m in thread.history.messages if m["role"] == "user"]
    if thread.marker not in shown:
        raise Blocked("the client's messages do not show the arguments of the call")
    forged = [*users, *json.loads(shown.replace(thread.marker, other))]
    await thread.approve(interrupts, messages=forged)
    executed = await thread.executed(other)
    expect(not executed, f"executed with arguments that the client made up: {executed}")


@OWNERSHIP.check(
    "no-dangling-calls",
    "After an answer of any kind, every tool call of the history has a result.",
    source="AG-UI 1.0, tool-calls: results; models refuse a history with a dangling call",
    fix="Answer a declined or cancelled call with TOOL_CALL_RESULT that says so.",
    needs=("approval",),
)
async def no_dangling_calls(lab: Lab) -> None:
    for how in ("approve", "deny", "cancel"):
        thread = lab.thread()
        (interrupt,) = await thread.pause()
        payload = None if how == "cancel" else thread.payload(how)
        await thread.resume(cancel(interrupt) if how == "cancel" else resolve(interrupt, payload))
        dangling = _dangling(thread)
        expect(not dangling, f"after {how}: no result for {dangling}")


@OWNERSHIP.check(
    "foreign-principal",
    "Another principal can neither answer an interrupt nor read the thread.",
    source="AG-UI 1.0, interrupt-resume: security considerations",
    fix="Scope every key by the authenticated principal; a foreign thread looks absent.",
    needs=("approval", "executions", "foreign"),
)
async def foreign_principal(lab: Lab) -> None:
    thread = lab.thread()
    interrupts = await thread.pause()
    foreign = lab.config.foreign_headers or {}
    payload = thread.payload("approve")
    entries = [resolve(interrupt, payload) for interrupt in interrupts]
    asked = Thread(lab, thread.id, thread.marker)
    answer = await asked.resume(*entries, messages=[], headers=foreign)
    executed = await thread.executed()
    expect(not executed, f"somebody else approved the call: {executed}")
    leaked = thread.marker in answer.raw.decode(errors="replace").replace(thread.id, "")
    expect(not leaked, "the answer to somebody else shows what the thread holds")
    own = await thread.approve(interrupts)
    expect(len(await thread.executed()) == 1, f"its owner can't approve any more: {own.told()}")


@OWNERSHIP.check(
    "restart",
    "An interrupt can be answered after the server was killed and started again.",
    source=_STORE,
    fix="Write the interrupt and its continuation to a durable store before telling the client.",
    needs=("approval", "executions", "restart"),
    alone=True,
)
async def restart(lab: Lab) -> None:
    thread = lab.thread()
    interrupts = await thread.pause()
    await _restart(lab)
    answer = await thread.approve(interrupts)
    executed = await thread.executed()
    expect(len(executed) == 1, f"executed {len(executed)} times: {answer.told()}")


@OWNERSHIP.check(
    "restart-replay",
    "An answer that was carried out before a restart is not carried out again after it.",
    source="AG-UI 1.0, interrupt-resume: a replay of the same answer is safe",
    fix="Keep receipts of answers in the durable store.",
    needs=("approval", "executions", "restart"),
    alone=True,
)
async def restart_replay(lab: Lab) -> None:
    thread = lab.thread()
    interrupts = await thread.pause()
    messages = thread.history.messages
    await thread.approve(interrupts, messages=messages)
    if len(await thread.executed()) != 1:
        raise Blocked("an approved call was not executed once")
    await _restart(lab)
    await thread.approve(interrupts, messages=messages)
    executed = await thread.executed()
    expect(len(executed) <= 1, f"executed {len(executed)} times")


async def _restart(lab: Lab) -> None:
    if lab.restart is None:
        raise Blocked("the server can't be restarted")
    await lab.restart()


def _dangling(thread: Thread) -> list[Any]:
    messages = thread.history.messages
    answered = {m.get("toolCallId") for m in messages if m.get("role") == "tool"}
    calls = [call for m in messages for call in m.get("toolCalls") or ()]
    return [call.get("id") for call in calls if call.get("id") not in answered]
