"""Answers that nothing was done with: they can be given again."""

from __future__ import annotations

from typing import Any

import pytest

from agui_bridge import ProposedCall
from agui_bridge.testing import talk
from tests.adapters.agent_framework.mailer import Mailer
from tests.adapters.agent_framework.talking import serving
from tests.adapters.mails import YES

pytestmark = pytest.mark.anyio


def answers(asked: Any) -> list[Any]:
    """A colour for the question, a yes for the approval beside it."""
    return [YES if ask["reason"] == "tool_call" else "blue" for ask in asked.asks]


async def test_a_question_beside_an_approval_whose_tool_is_gone_is_open_still() -> None:
    mailer = Mailer()
    tools: Any = mailer.agent.default_options["tools"]
    async with talk(serving(mailer), "mailer") as one:
        asked = await one.say("askandsend bob")
        gone = tools.pop(0)
        assert (await one.answer(asked, *answers(asked))).ending not in ("success", "interrupt")
        tools.insert(0, gone)
        assert (await one.answer(asked, *answers(asked))).ending == "success"
    assert mailer.done == [{"to": "bob", "body": "original"}]
    assert mailer.results("ask_user") == ["blue"]


async def test_a_question_beside_an_approval_that_no_policy_judged_is_open_still() -> None:
    mailer, is_broken = Mailer(), True

    def policy(call: ProposedCall) -> str:
        if call.approved and is_broken:
            raise RuntimeError("no policy")
        return "allow"

    bridge = serving(mailer)
    bridge.policy(policy)
    async with talk(bridge, "mailer") as one:
        asked = await one.say("askandsend bob")
        assert (await one.answer(asked, *answers(asked))).ending not in ("success", "interrupt")
        is_broken = False
        assert (await one.answer(asked, *answers(asked))).ending == "success"
    assert mailer.done == [{"to": "bob", "body": "original"}]
    assert mailer.results("ask_user") == ["blue"]
