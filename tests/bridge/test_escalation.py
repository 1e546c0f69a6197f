"""Escalation lets others answer, whoever narrowed the question, and where nobody is told of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from agui_bridge import ApprovalRule, Bridge, Escalation, FunctionRun, Principal, Settings
from agui_bridge.channels.channel import Channel, ScopedChannels
from agui_bridge.channels.dispatcher import Dispatcher
from agui_bridge.channels.webhooks import Webhook
from agui_bridge.engine.telemetry import NO_TELEMETRY
from agui_bridge.errors import StoreError
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.records import AuditEntry, InterruptStatus, ThreadKey
from agui_bridge.stores.memory import MemoryStore
from agui_bridge.testing import talk
from tests.channels.bridges import INBOX, SECRET
from tests.stores.samples import KEY, OTHER, ask, interrupted, put
from tests.support.clock import FakeClock
from tests.support.waiting import eventually

STEP = Escalation(0.05, ("carl",))
CARL = Principal(actor="carl")


@pytest.mark.parametrize(
    "rule",
    [
        ApprovalRule(approvers=("bob",), escalate=(STEP,)),
        ApprovalRule(each_of=(("bob",),), escalate=(STEP,)),
    ],
    ids=["approvers", "each_of"],
)
@pytest.mark.parametrize("channels", [{}, {"hook": Webhook("http://127.0.0.1:9/", SECRET)}])
async def test_whom_an_escalation_names_may_answer(
    rule: ApprovalRule, channels: dict[str, Channel]
) -> None:
    done: list[str] = []
    bridge = Bridge("memory:", settings=Settings(sweep_interval=0.02), channels=channels)
    bridge.approvals(lambda question: rule)

    @bridge.agent
    async def ops(run: FunctionRun) -> AsyncIterator[str]:
        approval = await run.approve("wipe", {"name": run.text}, approvers=["bob"])
        if approval:
            yield await run.tool(approval, wipe)

    async def wipe(name: str) -> str:
        done.append(name)
        return "wiped"

    async with talk(bridge, "ops") as talking:
        await talking.say("logs")
        (question,) = (await bridge.pending(CARL)).rows
        assert not question.may_answer

        async def may() -> bool:
            return (await bridge.pending(CARL)).rows[0].may_answer

        await eventually(may, 5.0)
        outcome = await bridge.answer(question.ref, {"approved": True}, principal=CARL)
    assert (outcome.status, done) == ("resolved", ["logs"])


class Damaged(MemoryStore):
    """A store in which one thread can't be read any more."""

    unreadable: ThreadKey | None = None

    async def load(self, key: ThreadKey, *args: Any, **options: Any) -> Loaded:
        if key == self.unreadable:
            raise StoreError("the thread can't be read")
        return await super().load(key, *args, **options)


async def test_a_question_that_cannot_be_read_keeps_no_other_from_being_escalated() -> None:
    clock = FakeClock()
    store = Damaged(clock.time)
    names = iter(range(1000))
    office = Dispatcher(
        store, ScopedChannels({}, None), INBOX, telemetry=NO_TELEMETRY, clock=clock, interval=5.0,
        mint=lambda: f"m{next(names)}",
    )  # fmt: skip
    asked = (AuditEntry(InterruptStatus.OPEN, clock.time(), "agent"),)
    for key, after in ((KEY, 10.0), (OTHER, 20.0)):
        rule = ApprovalRule(approvers=("bob",), escalate=(Escalation(after, ("carl",)),))
        await put(store, interrupted(key), interrupts=(ask("i", audit=asked, rule=rule),))
    await office.plan()
    store.unreadable = KEY
    clock.advance(30)
    await office.plan()

    question = (await store.load(OTHER, ["i"])).interrupts["i"]
    assert question.rule is not None and question.rule.approvers == ("bob", "carl")
