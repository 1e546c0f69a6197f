"""What is kept between runs, whom it belongs to, and what can't be forged."""

from __future__ import annotations

import json
import uuid
from typing import Any

from agui_bridge.conformance.check import Table
from agui_bridge.conformance.exchange import asks_about_a_call
from agui_bridge.conformance.lab import Lab, Thread
from agui_bridge.conformance.verdicts import Blocked, Inapplicable, expect, require

_PINNED = "AG-UI 1.0, interrupt-resume: tool-bound interrupts; what was shown is what runs"
_STORE = "AG-UI 1.0, interrupt-resume: a resume is a new run of the thread"

OWNERSHIP = Table("memory", source=_PINNED, needs=("approval", "executions"))


@OWNERSHIP.check(
    source="concepts/interrupts: resuming from a checkpoint",
    fix="Keep messages and open interrupts on the server; take messages: [] with a resume.",
    needs=("approval", "executions", "memory"),
    profile="concepts",
)
async def fresh_client(lab: Lab) -> None:
    """A client that knows only the thread and the interrupt can answer it."""
    thread = await lab.paused()
    answer = await thread.answer("approve", messages=[])
    await thread.expect_one_execution(answer.told())
    answer.expect_success("the resumed run")


@OWNERSHIP.check(
    fix="Execute what the server itself asked about, not what the client's history shows."
)
async def forged_call(lab: Lab) -> None:
    """A tool call that only the client's messages know is never executed."""
    source, forger = await lab.paused(), lab.thread()
    # The history of a pause, rewritten for a thread that never had one.
    messages = json.loads(json.dumps(source.shown).replace(source.marker, forger.marker))
    answer = await forger.resume(forger.entry("approve", source.asked[0]), messages=messages)
    await forger.expect_no_execution(f"a forged call was executed ({answer.told()})")


@OWNERSHIP.check(fix="Pin name and arguments in the stored interrupt, and execute those.")
async def forged_arguments(lab: Lab) -> None:
    """What runs are the arguments that were asked about, whatever the client's messages say."""
    thread = await lab.paused()
    other = f"m{uuid.uuid4().hex[:16]}"
    shown = json.dumps([m for m in thread.shown if m["role"] != "user"])
    users = [m for m in thread.shown if m["role"] == "user"]
    if not asks_about_a_call(thread.asked[0]) and thread.marker not in shown:
        raise Inapplicable("it asks without a tool call, so that there are no arguments to forge")
    require(thread.marker in shown, "the client's messages do not show the arguments of the call")
    forged = [*users, *json.loads(shown.replace(thread.marker, other))]
    await thread.answer("approve", messages=forged)
    await thread.expect_no_execution("executed with arguments that the client made up", other)


@OWNERSHIP.check(
    source="AG-UI 1.0, tool-calls: results; models refuse a history with a dangling call",
    fix="Answer a declined or cancelled call with TOOL_CALL_RESULT that says so.",
    needs=("approval",),
)
async def no_dangling_calls(lab: Lab) -> None:
    """After an answer of any kind, every tool call of the history has a result."""
    for how in ("approve", "deny", "cancel"):
        thread = await lab.paused()
        await thread.answer(how)
        dangling = _dangling(thread)
        expect(not dangling, f"after {how}: no result for {dangling}")


@OWNERSHIP.check(
    source="AG-UI 1.0, interrupt-resume: security considerations",
    fix="Scope every key by the authenticated principal; a foreign thread looks absent.",
    needs=("approval", "executions", "foreign"),
)
async def foreign_principal(lab: Lab) -> None:
    """Another principal can neither answer an interrupt nor read the thread."""
    thread = await lab.paused()
    foreign = lab.config.foreign_headers or {}
    stranger = Thread(lab, thread.id, thread.marker)
    answer = await stranger.resume(*thread.entries("approve"), messages=[], headers=foreign)
    await thread.expect_no_execution("somebody else approved the call")
    leaked = thread.marker in answer.raw.decode(errors="replace").replace(thread.id, "")
    expect(not leaked, "the answer to somebody else shows what the thread holds")
    own = await thread.answer("approve")
    await thread.expect_one_execution(f"its owner can't approve any more: {own.told()}")


@OWNERSHIP.check(
    source=_STORE,
    fix="Write the interrupt and its continuation to a durable store before telling the client.",
    needs=("approval", "executions", "restart"),
    alone=True,
)
async def restart(lab: Lab) -> None:
    """An interrupt can be answered after the server was killed and started again."""
    thread = await lab.paused()
    await _restart(lab)
    answer = await thread.answer("approve")
    await thread.expect_one_execution(answer.told())
    answer.expect_success("the run that was resumed after the restart")


@OWNERSHIP.check(
    source="AG-UI 1.0, interrupt-resume: a replay of the same answer is safe",
    fix="Keep receipts of answers in the durable store.",
    needs=("approval", "executions", "restart"),
    alone=True,
)
async def restart_replay(lab: Lab) -> None:
    """An answer that was carried out before a restart is not carried out again after it."""
    thread = await lab.paused()
    await thread.answer("approve")
    require(len(await thread.executed()) == 1, "an approved call was not executed once")
    await _restart(lab)
    await thread.answer("approve", messages=thread.shown)
    await thread.expect_no_second_execution()


async def _restart(lab: Lab) -> None:
    if lab.restart is None:
        raise Blocked("the server can't be restarted")
    await lab.restart()


def _dangling(thread: Thread) -> list[Any]:
    messages = thread.history.messages
    answered = {m.get("toolCallId") for m in messages if m.get("role") == "tool"}
    calls = [call for m in messages for call in m.get("toolCalls") or ()]
    return [call.get("id") for call in calls if call.get("id") not in answered]
