"""A call that is not the one any more that was asked about: edited, or its tool is gone.

In all frameworks that run in this process, by their own approvals and by the bridge's policy.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from agui_bridge import Bridge, ProposedCall, Verdict
from agui_bridge.testing import talk
from tests.adapters.cashiers import CASHIERS, Cashier, by_place

pytestmark = pytest.mark.timeout(120)

YES = {"approved": True}
BOTH = ("call", "tool")


def cashiers(can: Callable[[type[Cashier], bool], bool]) -> pytest.MarkDecorator:
    """A case for each framework, and for each way to ask, that can do something."""
    cases = [
        pytest.param(kind, gated, id=f"{name}-{how}")
        for name, kind in CASHIERS.items()
        for how, gated in (("gated", True), ("policy", False))
        if can(kind, gated)
    ]
    return pytest.mark.parametrize(("kind", "gated"), cases)


def bridge_of(cashier: Cashier) -> Bridge:
    bridge = Bridge("memory:")
    if not cashier.gated:

        def policy(call: ProposedCall) -> Verdict:
            free = call.approved or call.name != "pay"
            return Verdict("allow") if free else Verdict("ask", editable=True)

        bridge.policy(policy)
    bridge.add("cashier", cashier.adapter())
    return bridge


@cashiers(lambda kind, gated: gated in kind.edits)
async def test_an_edit_that_the_tool_does_not_take_is_refused_and_the_question_stays(
    kind: type[Cashier], gated: bool
) -> None:
    cashier = kind(by_place, gated)
    async with talk(bridge_of(cashier), "cashier") as one:
        asked = await one.say("pay bob")
        edit = {**YES, "editedArgs": {"to": "eve", "note": "in cash"}}
        refused = await one.answer(asked, edit)
        assert (refused.ending, cashier.done) == ("INVALID_RESUME_PAYLOAD", [])
        assert "note" in refused.fault
        assert (await one.answer(asked, YES)).ending == "success"
    assert cashier.done == ["pay bob"]


@cashiers(lambda kind, gated: gated in kind.edits)
async def test_the_model_reads_the_call_that_ran_now_and_later(
    kind: type[Cashier], gated: bool
) -> None:
    cashier = kind(by_place, gated)
    async with talk(bridge_of(cashier), "cashier") as one:
        asked = await one.say("pay bob")
        await one.answer(asked, {**YES, "editedArgs": {"to": "eve"}})
        now = cashier.requests[-1]
        await one.say("hello")
    assert cashier.done == ["pay eve"]
    for heard in (now, cashier.requests[-1]):
        (call,), (result,) = ([told.text for told in heard if told.by == by] for by in BOTH)
        assert call == "eve" or (kind.notes_edits and '{"to":"eve"}' in result.replace(" ", ""))


@cashiers(lambda kind, gated: True)
async def test_a_tool_that_is_gone_leaves_the_question_open_until_it_is_back(
    kind: type[Cashier], gated: bool, tmp_path: Path
) -> None:
    store = f"sqlite:///{tmp_path}/bridge.db"
    cashier = kind(by_place, gated)
    async with talk(bridge_of(cashier), "cashier", store=store) as one:
        asked = await one.say("pay bob")
    cashier.is_lacking = True
    async with talk(bridge_of(cashier), "cashier", store=store) as one:
        refused = await one.answer(asked, YES)
        assert refused.ending == "UPSTREAM_ERROR"
    cashier.is_lacking = False
    async with talk(bridge_of(cashier), "cashier", store=store) as one:
        assert (await one.answer(asked, YES)).ending == "success"
        (result,) = [m["content"] for m in await one.messages() if m["role"] == "tool"]
    assert (cashier.done, result) == (["pay bob"], "paid bob")
