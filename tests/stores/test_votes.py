"""Several people vote on one question at once, on two bridges: it is executed once, by enough."""

from __future__ import annotations

import asyncio

from agui_bridge import ApprovalRule, Bridge, FunctionRun, Principal
from agui_bridge.protocol.wire.run_events import interrupt_outcome
from agui_bridge.stores.base import InterruptStatus, Store
from tests.docs.pages import Conversation
from tests.stores.conftest import Opener

ROUNDS = 8
RULE = ApprovalRule("three", quorum=3, self_approval=False)
VOTERS = ("bob", "cy", "dan", "eve")


def bridge_on(store: Store, done: list[str]) -> Bridge:
    bridge = Bridge(store)
    bridge.approvals(lambda question: RULE)

    @bridge.agent
    async def ops(run: FunctionRun) -> None:
        if approval := await run.approve("delete", {"name": run.thread_id}):
            await run.tool(approval, lambda name: done.append(name))

    return bridge


async def vote(bridge: Bridge, thread: str, actor: str, asked: str) -> list[str]:
    """Vote, and once more as after a lost acknowledgement; gives the types of what was told."""
    talk = Conversation(bridge, "ops", thread)
    entry = {"interruptId": asked, "status": "resolved", "payload": {"approved": True}}
    told = []
    for _ in range(2):
        await talk._send(principal=Principal("team", actor), resume=[entry])
        told.append(talk.events[-1]["type"])
    return told


async def test_votes_that_come_at_once_execute_once(opener: Opener) -> None:
    done: list[str] = []
    first, second = bridge_on(await opener(), done), bridge_on(await opener(), done)
    engine = await first.open()
    await second.open()
    for thread in map(str, range(ROUNDS)):
        talk = Conversation(first, "ops", thread)
        await talk.say("go", principal=Principal("team", "ann"))
        (ask,) = talk.asks
        told = await asyncio.gather(
            *(
                vote(bridge, thread, actor, ask["id"])
                for actor, bridge in zip(VOTERS, (first, second) * 2, strict=True)
            )
        )

        assert done.count(thread) == 1
        rows = await engine.store.list_interrupts("team", limit=100)
        row = next(row.interrupt for row in rows if row.interrupt.id == ask["id"])
        assert row.status is InterruptStatus.RESOLVED
        assert len(row.votes) == RULE.quorum
        voters = {v.actor for v in row.votes}
        # Whoever came too late is told so; all whose votes counted are told that it is done.
        for actor, kinds in zip(VOTERS, told, strict=True):
            assert actor not in voters or kinds == ["RUN_FINISHED"] * 2, (actor, kinds)
        assert interrupt_outcome([row])["interrupts"][0]["metadata"]["agui_bridge"]["approval"][
            "votes"
        ] == len(voters)
