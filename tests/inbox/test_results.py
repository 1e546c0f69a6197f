"""Who answers one question is told the result of the run that their answer set off."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from agui_bridge import Bridge, Principal
from agui_bridge.adapters import Pause, Run, RunItem
from agui_bridge.testing import talk
from tests.support.agents import Scripted, approval

ANN, BOB = Principal("team", "ann"), Principal("team", "bob")
RITA = Principal("auditors", "rita", reviews=("team",))
YES = {"approved": True}


def bridge_with(asks: int) -> Bridge:
    """An agent whose pause gives a result, and whose end gives another one."""

    async def script(run: Run) -> AsyncIterator[RunItem]:
        run.result = "so far" if run.resume is None else "all"
        yield "Words. "
        if run.resume is None:
            yield Pause([approval(f"c{number}") for number in range(asks)])

    bridge = Bridge("memory:")
    bridge.add("agent", Scripted(script))
    return bridge


async def asked(bridge: Bridge) -> list[str]:
    """References to the questions that wait."""
    return [listed.ref for listed in (await bridge.pending(ANN)).rows]


async def test_an_answer_that_waits_for_the_others_has_none_yet() -> None:
    bridge = bridge_with(asks=2)
    async with talk(bridge, "agent", principal=ANN) as talking:
        await talking.say("Go.")
        first, second = await asked(bridge)
        kept = await bridge.answer(first, YES, principal=BOB)
        last = await bridge.answer(second, YES, principal=BOB)
        again = await bridge.answer(first, YES, principal=BOB)

    assert (kept.status, kept.result) == ("answered", None)
    assert [(told.status, told.result) for told in (last, again)] == [("resolved", "all")] * 2


@pytest.mark.parametrize(("principal", "told"), [(BOB, "all"), (RITA, None)])
async def test_who_only_reviews_the_questions_of_a_scope_is_told_none(
    principal: Principal, told: Any
) -> None:
    bridge = bridge_with(asks=1)
    async with talk(bridge, "agent", principal=ANN) as talking:
        await talking.say("Go.")
        [ref] = await asked(bridge)
        for _ in range(2):
            outcome = await bridge.answer(ref, YES, principal=principal)
            assert (outcome.status, outcome.result) == ("resolved", told)


async def test_once_the_thread_has_gone_on_the_same_answer_has_none() -> None:
    bridge = bridge_with(asks=1)
    async with talk(bridge, "agent", principal=ANN) as talking:
        await talking.say("Go.")
        [ref] = await asked(bridge)
        await bridge.answer(ref, YES, principal=BOB)
        await talking.say("More.")
        again = await bridge.answer(ref, YES, principal=BOB)
        refused = await bridge.answer(ref, {"approved": False}, principal=BOB)

    assert (again.status, again.result) == ("resolved", None)
    assert (refused.status, refused.result) == ("refused", None)
