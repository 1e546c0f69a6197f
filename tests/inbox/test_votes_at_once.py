"""Answers that meet: whoever says again what they said waits for what the others complete."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from agui_bridge import ApprovalRule, Bridge, FunctionRun, Principal
from agui_bridge.inbox.answering import AnswerOutcome
from agui_bridge.testing import talk

ANN, BOB, CY = (Principal("team", name) for name in ("ann", "bob", "cy"))
YES = {"approved": True}


async def _bob_again_while_cy_completes(turns: int) -> list[AnswerOutcome]:
    """Cy's vote begins so many turns of the loop after Bob's second one."""
    bridge = Bridge("memory:")
    bridge.approvals(lambda question: ApprovalRule(quorum=2))

    @bridge.agent("office")
    async def office(run: FunctionRun) -> AsyncIterator[str]:
        approval = await run.approve("pay", {})
        if approval:
            await run.tool(approval, lambda: asyncio.sleep(0.05))
        yield "Done."

    async with talk(bridge, "office", principal=ANN) as talking:
        await talking.say("Pay.")
        (question,) = (await bridge.pending(BOB)).rows

        async def later() -> AnswerOutcome:
            for _ in range(turns):
                await asyncio.sleep(0)
            return await bridge.answer(question.ref, YES, principal=CY)

        await bridge.answer(question.ref, YES, principal=BOB)
        again = bridge.answer(question.ref, YES, principal=BOB)
        return list(await asyncio.gather(again, later()))


async def test_nobody_is_told_that_it_is_being_carried_out_before_their_wait_is_over() -> None:
    told = [await _bob_again_while_cy_completes(turns) for turns in range(20)]

    assert {bob.status for bob, _ in told} <= {"voted", "resolved"}
    assert {cy.status for _, cy in told} == {"resolved"}
